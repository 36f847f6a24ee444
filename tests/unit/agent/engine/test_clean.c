/* Staying below a directory, and taking away what engines made there. */
#include "tests/unit/agent/engine/rig.h"

#include <sys/mount.h>

#include "agent/engine/path.h"

struct open_case {
	const char *name, *rel;
	int errnum; /* 0: opens */
};

static const struct open_case opens[] = {
	{ "a file", "n0/data", 0 },
	{ "missing", "n0/none", ENOENT },
	{ "a link as the last component", "n0/link", ELOOP },
	{ "a link to a directory on the way", "out/passwd", ELOOP },
	{ "dots", "n0/../../etc/passwd", EXDEV },
	{ "absolute", "/etc/passwd", EXDEV },
};

static void
test_paths_do_not_lead_out(void **state)
{
	char dir[] = "/tmp/lockstep-path-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(path_mkdir(fd, "n0"), 0);
	assert_int_equal(path_mkdir(fd, "n0"), 0); /* there already */
	assert_int_equal(symlinkat("data", fd, "n0/link"), 0);
	assert_int_equal(symlinkat("/etc", fd, "out"), 0);
	int file = path_open(fd, "n0/data", O_CREAT | O_EXCL | O_WRONLY, 0600);
	assert_true(file >= 0);
	close(file);
	for (size_t i = 0; i < ARRAY_LEN(opens); i++) {
		const struct open_case *c = &opens[i];
		errno = 0;
		int got = path_open(fd, c->rel, O_RDONLY, 0);
		if ((got < 0 ? errno : 0) != c->errnum)
			fail_msg("%s: got %s, wanted %s", c->name, strerrorname_np(errno), strerrorname_np(c->errnum));
		if (got >= 0)
			close(got);
	}
	assert_int_equal(unlinkat(fd, "n0/link", 0) | unlinkat(fd, "n0/data", 0) | unlinkat(fd, "out", 0), 0);
	assert_int_equal(unlinkat(fd, "n0", AT_REMOVEDIR), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

static void
free_left(char **left, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(left[i]);
	free(left);
}

static void
put(int fd, const char *rel)
{
	int file = openat(fd, rel, O_CREAT | O_WRONLY, 0600);

	assert_true(file >= 0);
	close(file);
}

/* Links are removed, not followed; what an engine never makes is named and stays. */
static void
test_clean_removes_what_engines_make(void **state)
{
	char dir[] = "/tmp/lockstep-clean-XXXXXX";
	char **left = NULL;
	size_t n = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(fd, "n0", 0700) | mkdirat(fd, "n0/d.0", 0700) | mkdirat(fd, "n0/d.1", 0700), 0);
	assert_int_equal(mkdirat(fd, "n1", 0700) | mkdirat(fd, "shared", 0700) | mkdirat(fd, "shared/d", 0700), 0);
	assert_int_equal(mkdirat(fd, "outside", 0700), 0);
	put(fd, "outside/kept");
	put(fd, "n1/data");
	put(fd, "n0/data.0");
	put(fd, "shared/data");
	put(fd, "shared/d/00000000.1.0");
	assert_int_equal(symlinkat("../outside", fd, "n0/link"), 0);
	for (unsigned i = 0; i < 2000; i++) {
		char name[64];
		snprintf(name, sizeof(name), "n0/d.%u/%08x", i % 2, i);
		put(fd, name);
	}
	engine_clean_node_dir(fd, 0, &left, &n);
	assert_int_equal(n, 0);
	assert_int_equal(faccessat(fd, "n0", F_OK, 0), -1);
	assert_int_equal(faccessat(fd, "n1/data", F_OK, 0), 0);
	assert_int_equal(faccessat(fd, "outside/kept", F_OK, 0), 0);
	engine_clean_shared_dir(fd, &left, &n);
	assert_int_equal(n, 0);
	assert_int_equal(faccessat(fd, "shared", F_OK, 0), -1);
	engine_clean_shared_dir(fd, &left, &n); /* gone is clean */
	assert_int_equal(n, 0);

	assert_int_equal(mkdirat(fd, "n1/d.0", 0700) | mkdirat(fd, "n1/d.0/00000", 0700), 0);
	assert_int_equal(mkdirat(fd, "n1/d.0/00000/tree", 0700), 0);
	assert_int_equal(mkdirat(fd, "n1/d.0/00000/tree/deeper", 0700), 0);
	put(fd, "n1/d.0/00000/tree/deeper/f");
	engine_clean_node_dir(fd, 1, &left, &n);
	assert_true(n >= 1);
	assert_non_null(strstr(left[0], "n1/d.0/00000/tree/deeper: "));
	assert_int_equal(faccessat(fd, "n1/data", F_OK, 0), -1);
	free_left(left, n);

	assert_int_equal(unlinkat(fd, "n1/d.0/00000/tree/deeper/f", 0), 0);
	assert_int_equal(unlinkat(fd, "n1/d.0/00000/tree/deeper", AT_REMOVEDIR) |
		unlinkat(fd, "n1/d.0/00000/tree", AT_REMOVEDIR) | unlinkat(fd, "n1/d.0/00000", AT_REMOVEDIR),
	    0);
	assert_int_equal(unlinkat(fd, "n1/d.0", AT_REMOVEDIR) | unlinkat(fd, "n1", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(fd, "outside/kept", 0) | unlinkat(fd, "outside", AT_REMOVEDIR), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_do_not_lead_out),
		cmocka_unit_test(test_clean_removes_what_engines_make),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
