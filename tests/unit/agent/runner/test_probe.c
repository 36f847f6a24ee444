#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/runner/probe.h"
#include "common/base/field.h"

static const struct {
	const char *name;
	struct probe_direct probe;
	uint64_t job_align;
	const char *says[3]; /* none: passes */
} cases[] = {
	{ "nothing is direct", { LS_UNKNOWN_U64, "statx", "" }, 0, { NULL } },
	{ "aligned", { 512, "statx", "" }, 4096, { NULL } },
	{ "just aligned", { 4096, "statx", "" }, 4096, { NULL } },
	{ "not enough", { 4096, "statx", "" }, 512, { "4096-byte", "statx", "multiples of 512 only" } },
	{ "by trial", { 4096, "a trial write", "" }, 1024, { "4096-byte", "a trial write", "1024" } },
	{ "impossible", { LS_UNKNOWN_U64, "a trial write", "open with O_DIRECT: Invalid argument" }, 4096,
	    { "not possible", "Invalid argument", "direct must be false" } },
};

static void
test_sizes_must_have_the_alignment(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ls_err err = { 0 };
		enum ls_rc rc = probe_direct_check(&cases[i].probe, "/mnt/v", cases[i].job_align, &err);

		if (rc != (cases[i].says[0] != NULL ? LS_E_REFUSED : LS_OK))
			fail_msg("%s: rc %d", cases[i].name, rc);
		for (size_t k = 0; k < ARRAY_LEN(cases[i].says) && cases[i].says[k] != NULL; k++)
			if (strstr(err.text, cases[i].says[k]) == NULL)
				fail_msg("%s: \"%s\"", cases[i].name, err.text);
	}
}

static void
test_probing_leaves_no_file(void **state)
{
	char dir[] = "/tmp/lockstep-probe-XXXXXX";
	struct probe_direct probe;
	struct ls_err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));

	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(probe_direct(fd, "probe.x", &probe, &err), LS_OK);
	assert_non_null(probe.source);
	if (probe.align != LS_UNKNOWN_U64)
		assert_true(probe.align > 0 && (probe.align & (probe.align - 1)) == 0);
	else
		assert_true(probe.why[0] != '\0');

	/* A link of that name is not followed. */
	assert_int_equal(symlinkat("/tmp/lockstep-elsewhere", fd, "probe.x"), 0);
	assert_int_equal(probe_direct(fd, "probe.x", &probe, &err), LS_E_SYS);
	assert_int_equal(unlinkat(fd, "probe.x", 0), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_must_have_the_alignment),
		cmocka_unit_test(test_probing_leaves_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
