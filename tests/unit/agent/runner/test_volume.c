#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/runner/volume.h"

static const struct {
	const char *a, *b;
	bool equal;
} paths[] = {
	{ "/", "/", true },
	{ "/a", "/a", true },
	{ "/a/", "/a", true },
	{ "//a///b/", "/a/b", true },
	{ "/a/./b/.", "/a/b", true },
	{ "/./", "/", true },
	{ "/a", "/b", false },
	{ "/a", "/ab", false },
	{ "/a/b", "/a", false },
	{ "/a", "/a/b", false },
	{ "/a/../b", "/b", false },
	{ "/.a", "/a", false },
	{ "/...", "/", false },
	{ "a", "/a", false },
	{ "", "/", false },
};

static void
test_paths_are_compared_by_their_components(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (volume_path_equal(paths[i].a, paths[i].b) != paths[i].equal)
			fail_msg("\"%s\" and \"%s\"", paths[i].a, paths[i].b);
		if (volume_path_equal(paths[i].b, paths[i].a) != paths[i].equal)
			fail_msg("\"%s\" and \"%s\"", paths[i].b, paths[i].a);
	}
}

static void
test_nfs_takes_nfs4_and_nothing_else_is_guessed(void **state)
{
	(void)state;
	assert_true(volume_type_matches("ext4", "ext4"));
	assert_true(volume_type_matches("nfs", "nfs4"));
	assert_false(volume_type_matches("nfs4", "nfs"));
	assert_false(volume_type_matches("ext", "ext4"));
	assert_false(volume_type_matches("ocfs2", "ext4"));
}

static void
test_a_link_in_the_path_is_refused_with_the_real_path(void **state)
{
	char dir[] = "/tmp/lockstep-volume-XXXXXX";
	char real[64], link[64], below[80];
	struct ls_err err = { 0 };
	int fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(real, sizeof(real), "%s/real", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	snprintf(below, sizeof(below), "%s/link/sub", dir);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink("real", link), 0);

	assert_int_equal(volume_open(real, &fd, &err), LS_OK);
	close(fd);
	assert_int_equal(volume_open(link, &fd, &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, real));
	assert_int_equal(volume_open(below, &fd, &err), LS_E_SYS);
	assert_non_null(strstr(err.text, "does not exist"));

	snprintf(below, sizeof(below), "%s/real/sub", dir);
	assert_int_equal(mkdir(below, 0700), 0);
	snprintf(below, sizeof(below), "%s/link/sub", dir);
	assert_int_equal(volume_open(below, &fd, &err), LS_E_REFUSED);
	assert_int_equal(volume_open("relative", &fd, &err), LS_E_INVALID);
	assert_int_equal(volume_open(NULL, &fd, &err), LS_E_INVALID);
	assert_int_equal(volume_open("/proc/self/exe", &fd, &err), LS_E_SYS);
	assert_int_equal(volume_open("/proc/self/cwd", &fd, &err), LS_E_SYS);

	snprintf(below, sizeof(below), "%s/real/sub", dir);
	rmdir(below);
	rmdir(real);
	unlink(link);
	rmdir(dir);
}

static void
test_facts_of_a_mounted_volume(void **state)
{
	struct volume_facts facts;
	struct space space;
	struct ls_err err = { 0 };
	int fd = -1;

	(void)state;
	field_struct_init(&volume_facts_desc, &facts);
	assert_int_equal(volume_open("/proc", &fd, &err), LS_OK);
	assert_int_equal(volume_read(fd, "/proc", &facts, &space, &err), LS_OK);
	assert_string_equal(facts.fs_type, "proc");
	assert_string_equal(facts.mount_point, "/proc");
	assert_null(facts.device);
	assert_true(space.total_inodes == LS_UNKNOWN_U64);
	close(fd);
	field_struct_fini(&volume_facts_desc, &facts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_are_compared_by_their_components),
		cmocka_unit_test(test_nfs_takes_nfs4_and_nothing_else_is_guessed),
		cmocka_unit_test(test_a_link_in_the_path_is_refused_with_the_real_path),
		cmocka_unit_test(test_facts_of_a_mounted_volume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
