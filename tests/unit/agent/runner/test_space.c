#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "agent/runner/space.h"
#include "common/base/field.h"

#define NONE LS_UNKNOWN_U64
#define GIB  (1ULL << 30)

struct space_case {
	const char *name;
	struct space space;
	uint64_t need_bytes, need_files;
	unsigned percent;
	const char *says; /* NULL: fits */
};

static const struct space_case cases[] = {
	{ "plenty", { 100 * GIB, 50 * GIB, 1000, 900 }, GIB, 10, 10, NULL },
	{ "exactly to the reserve", { 1000, 200, NONE, NONE }, 100, 0, 10, NULL },
	{ "one byte too many", { 1000, 200, NONE, NONE }, 101, 0, 10, "no space" },
	{ "reserve rounds up", { 1001, 200, NONE, NONE }, 99, 0, 10, NULL },
	{ "reserve rounds up, one more", { 1001, 200, NONE, NONE }, 100, 0, 10, "no space" },
	{ "below the reserve already", { 1000, 50, NONE, NONE }, 1, 0, 10, "no space" },
	{ "below the reserve, but nothing needed", { 1000, 50, NONE, NONE }, 0, 0, 10, NULL },
	{ "no reserve", { 1000, 50, NONE, NONE }, 50, 0, 0, NULL },
	{ "a need beyond all", { 100 * GIB, 50 * GIB, 1000, 900 }, UINT64_MAX, 0, 10, "file_size" },
	{ "a volume of 8 EiB", { INT64_MAX, INT64_MAX, NONE, NONE }, INT64_MAX / 2, 0, 49, NULL },
	{ "percent names the option", { 1000, 50, NONE, NONE }, 51, 0, 0, "reserve_percent" },
	{ "inodes to the reserve", { GIB, GIB, 1000, 200 }, 0, 100, 10, NULL },
	{ "one inode too many", { GIB, GIB, 1000, 200 }, 0, 101, 10, "no inodes" },
	{ "file system without inodes", { GIB, GIB, NONE, NONE }, 0, UINT64_MAX, 10, NULL },
	{ "empty volume", { 0, 0, NONE, NONE }, 1, 0, 10, "no space" },
};

static void
test_a_run_must_fit_and_leave_the_reserve(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct space_case *c = &cases[i];
		struct ls_err err = { 0 };
		enum ls_rc rc = space_check("/mnt/v", &c->space, c->need_bytes, c->need_files, c->percent, &err);

		if (rc != (c->says != NULL ? LS_E_REFUSED : LS_OK))
			fail_msg("%s: rc %d (%s)", c->name, rc, err.text);
		if (c->says != NULL && (strstr(err.text, c->says) == NULL || strstr(err.text, "/mnt/v") == NULL))
			fail_msg("%s: \"%s\" does not say \"%s\"", c->name, err.text, c->says);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_run_must_fit_and_leave_the_reserve) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
