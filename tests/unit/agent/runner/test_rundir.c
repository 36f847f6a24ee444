#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/runner/marker.h"
#include "agent/runner/rundir.h"
#include "common/base/mem.h"

struct place {
	char dir[64];
	int fd;
};

static int
set_up(void **state)
{
	struct place *p = ls_calloc(1, sizeof(*p));

	snprintf(p->dir, sizeof(p->dir), "/tmp/lockstep-rundir-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return 0;
}

/* rmdir succeeds only if the test has left nothing. */
static int
tear_down(void **state)
{
	struct place *p = *state;
	int rc = rmdir(p->dir);

	close(p->fd);
	free(p);
	return rc;
}

static bool
there(const struct place *p, const char *name)
{
	struct stat st;

	return fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
touch(const struct place *p, const char *name, const char *text)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int
reopen(const struct place *p)
{
	return open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static enum ls_rc
make(const struct place *p, const char *node, uint64_t index, struct rundir **out, struct ls_err *err)
{
	struct rundir_id id = { .path = p->dir, .run = "r1", .node = node, .node_index = index };

	return rundir_make(reopen(p), &id, "token of it", out, err);
}

static enum ls_rc
find(const struct place *p, const char *node, uint64_t index, struct rundir **out, struct ls_err *err)
{
	struct rundir_id id = { .path = p->dir, .run = "r1", .node = node, .node_index = index };

	return rundir_find(reopen(p), &id, out, err);
}

/* Cleans and frees; how much was left. */
static size_t
clean(struct rundir *rd, bool keep_files)
{
	char **left = NULL;
	size_t left_count = 0;

	rundir_clean(rd, keep_files, &left, &left_count);

	size_t n = left_count;

	rundir_left_free(&left, &left_count);
	rundir_free(rd);
	return n;
}

static void
test_the_last_node_out_removes_the_whole(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL, *b = NULL;
	struct ls_err err = { 0 };

	assert_int_equal(make(p, "a", 0, &a, &err), LS_OK);
	assert_int_equal(make(p, "b", 1, &b, &err), LS_OK);
	assert_true(there(p, ".lockstep-r1/marker.a") && there(p, ".lockstep-r1/token.b"));
	assert_true(there(p, ".lockstep-r1/n0") && there(p, ".lockstep-r1/n1") && there(p, ".lockstep-r1/shared"));
	touch(p, ".lockstep-r1/n0/data.0", "x");
	touch(p, ".lockstep-r1/shared/data", "x");

	assert_int_equal(clean(a, false), 0);
	assert_false(there(p, ".lockstep-r1/marker.a") || there(p, ".lockstep-r1/token.a"));
	assert_false(there(p, ".lockstep-r1/n0"));
	assert_true(there(p, ".lockstep-r1/shared/data"));
	assert_int_equal(clean(b, false), 0);
	assert_false(there(p, ".lockstep-r1"));
}

#define ROUNDS 2000

struct other {
	const struct place *p;
	struct ls_err err; /* why it could not come */
	char left[256];    /* what it could not take along */
};

static void *
come_and_go(void *arg)
{
	struct other *other = arg;

	for (int i = 0; i < ROUNDS && other->err.rc == LS_OK; i++) {
		struct rundir *a = NULL;
		char **left = NULL;
		size_t left_count = 0;

		if (make(other->p, "a", 0, &a, &other->err) != LS_OK)
			break;
		rundir_clean(a, false, &left, &left_count);
		if (left_count > 0)
			snprintf(other->left, sizeof(other->left), "%s", left[0]);
		rundir_left_free(&left, &left_count);
		rundir_free(a);
	}
	return NULL;
}

/* One node leaves, as its runner was told to end, while the other one comes: that finds or makes the directory, whatever is taken away. */
static void
test_a_node_comes_while_another_one_leaves(void **state)
{
	struct place *p = *state;
	struct other other = { .p = p };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, come_and_go, &other), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct rundir *b = NULL;
		struct ls_err err = { 0 };

		if (make(p, "b", 1, &b, &err) != LS_OK)
			fail_msg("round %d: %s", i, err.text);
		assert_true(there(p, ".lockstep-r1/marker.b") && there(p, ".lockstep-r1/token.b"));
		assert_int_equal(clean(b, false), 0);
	}
	pthread_join(thread, NULL);
	assert_string_equal(other.err.text, "");
	assert_string_equal(other.left, "");
	assert_false(there(p, ".lockstep-r1"));
}

/* The last one had removed its own part and was killed at what all shared: whoever of the run looks again finishes it. */
static void
test_a_last_one_that_was_killed(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL, *b = NULL;
	struct ls_err err = { 0 };

	assert_int_equal(make(p, "a", 0, &a, &err), LS_OK);
	assert_int_equal(make(p, "b", 1, &b, &err), LS_OK);
	touch(p, ".lockstep-r1/shared/data", "x");
	assert_int_equal(clean(a, false), 0);
	assert_int_equal(find(p, "a", 0, &a, &err), LS_E_NOTFOUND);
	assert_true(there(p, ".lockstep-r1/shared/data")); /* b is still there */
	rundir_free(b);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/marker.b", 0), 0);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/token.b", 0), 0);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/n1", AT_REMOVEDIR), 0);
	assert_int_equal(find(p, "b", 1, &b, &err), LS_E_NOTFOUND);
	assert_false(there(p, ".lockstep-r1"));
}

static void
test_tokens_are_compared_by_content(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;

	assert_int_equal(make(p, "a", 0, &a, NULL), LS_OK);
	assert_true(rundir_token_seen(a, "a", "token of it"));
	assert_false(rundir_token_seen(a, "a", "token of"));
	assert_false(rundir_token_seen(a, "a", "another one"));
	assert_false(rundir_token_seen(a, "b", "token of it"));
	assert_false(rundir_token_seen(a, "../../x", ""));
	touch(p, ".lockstep-r1/token.b", "later");
	assert_true(rundir_token_seen(a, "b", "later"));
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/token.b", 0), 0);
	assert_int_equal(clean(a, false), 0);
}

static void
test_kept_files_stay_without_the_token(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;

	assert_int_equal(make(p, "a", 0, &a, NULL), LS_OK);
	touch(p, ".lockstep-r1/n0/data.0", "x");
	assert_int_equal(clean(a, true), 0);
	assert_true(there(p, ".lockstep-r1/n0/data.0") && there(p, ".lockstep-r1/marker.a"));
	assert_false(there(p, ".lockstep-r1/token.a"));
	assert_int_equal(find(p, "a", 0, &a, NULL), LS_OK);
	assert_int_equal(clean(a, false), 0);
}

static void
test_what_others_put_there_stays(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;

	assert_int_equal(make(p, "a", 0, &a, NULL), LS_OK);
	touch(p, ".lockstep-r1/precious", "x");
	touch(p, "beside", "x");
	assert_int_equal(clean(a, false), 1);
	assert_true(there(p, ".lockstep-r1/precious") && there(p, "beside"));
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/precious", 0), 0);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(p->fd, "beside", 0), 0);
}

static void
test_links_are_not_followed(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;
	struct ls_err err = { 0 };

	assert_int_equal(mkdirat(p->fd, "target", 0700), 0);
	touch(p, "target/precious", "x");
	assert_int_equal(symlinkat("target", p->fd, ".lockstep-r1"), 0);
	assert_int_equal(make(p, "a", 0, &a, &err), LS_E_REFUSED);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1", 0), 0);

	assert_int_equal(make(p, "a", 0, &a, &err), LS_OK);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/n0", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("../target", p->fd, ".lockstep-r1/n0"), 0);
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/token.a", 0), 0);
	assert_int_equal(symlinkat("../target/precious", p->fd, ".lockstep-r1/token.a"), 0);
	assert_false(rundir_token_seen(a, "a", "x"));
	assert_true(clean(a, false) > 0);
	assert_true(there(p, "target/precious"));

	assert_int_equal(unlinkat(p->fd, ".lockstep-r1/n0", 0), 0);
	assert_int_equal(find(p, "a", 0, &a, &err), LS_OK);
	assert_int_equal(clean(a, false), 0);
	assert_int_equal(unlinkat(p->fd, "target/precious", 0), 0);
	assert_int_equal(unlinkat(p->fd, "target", AT_REMOVEDIR), 0);
}

static void
test_leftovers_of_an_earlier_runner_are_taken_over(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;
	struct ls_err err = { 0 };

	assert_int_equal(make(p, "a", 0, &a, &err), LS_OK);
	touch(p, ".lockstep-r1/n0/data.0", "x");
	rundir_free(a); /* killed */
	assert_int_equal(make(p, "a", 0, &a, &err), LS_OK);
	assert_false(there(p, ".lockstep-r1/n0/data.0"));
	rundir_free(a);
	assert_int_equal(find(p, "a", 0, &a, &err), LS_OK);
	assert_int_equal(clean(a, false), 0);
	assert_int_equal(find(p, "a", 0, &a, &err), LS_E_NOTFOUND);
}

static void
test_a_foreign_marker_is_left_alone(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;
	struct ls_err err = { 0 };

	assert_int_equal(mkdirat(p->fd, ".lockstep-r1", 0700), 0);
	touch(p, ".lockstep-r1/marker.a", "{\"run\":\"other\",\"node\":\"a\",\"node_index\":0}");
	assert_int_equal(find(p, "a", 0, &a, &err), LS_E_REFUSED);
	assert_int_equal(make(p, "a", 0, &a, &err), LS_E_SYS);
	assert_true(there(p, ".lockstep-r1/marker.a"));
	touch(p, ".lockstep-r1/marker.a", "{\"run\":\"r1\",");
	assert_int_equal(find(p, "a", 0, &a, &err), LS_E_REFUSED);
	touch(p, ".lockstep-r1/marker.a", ""); /* cut short by a crash */
	assert_int_equal(find(p, "a", 0, &a, &err), LS_OK);
	assert_int_equal(clean(a, false), 0);
}

static void
test_another_owner_is_refused(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL;
	struct ls_err err = { 0 };

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(p->fd, ".lockstep-r1", 0700), 0);
	assert_int_equal(fchownat(p->fd, ".lockstep-r1", 12345, 12345, 0), 0);
	assert_int_equal(make(p, "a", 0, &a, &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, "another user"));
	assert_int_equal(unlinkat(p->fd, ".lockstep-r1", AT_REMOVEDIR), 0);
}

static void
test_a_failed_start_leaves_nothing(void **state)
{
	const struct place *p = *state;
	struct rundir *a = NULL, *b = NULL;
	struct ls_err err = { 0 };

	assert_int_equal(make(p, "a", 0, &a, &err), LS_OK);
	/* The same number twice: the second must neither succeed nor take the first one's directory with it. */
	assert_int_equal(make(p, "b", 0, &b, &err), LS_E_SYS);
	assert_true(there(p, ".lockstep-r1/n0"));
	assert_false(there(p, ".lockstep-r1/marker.b") || there(p, ".lockstep-r1/token.b"));
	assert_int_equal(clean(a, false), 0);
}

static void
test_names_that_are_no_file_names(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/", "a\nb", "\x7f",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	static const char *const good[] = { "a", "node-1.example.org", "...", "r_1", "n\xc3\xb6" };
	const struct place *p = *state;
	struct rundir *a = NULL;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (rundir_name_ok(bad[i]))
			fail_msg("\"%s\" passes", bad[i]);
		assert_int_equal(make(p, bad[i], 0, &a, NULL), LS_E_INVALID);
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!rundir_name_ok(good[i]))
			fail_msg("\"%s\" does not pass", good[i]);
}

static void
test_a_marker_names_its_run_and_node(void **state)
{
	char *text = marker_text("r\"1", "a", 7);

	(void)state;
	assert_true(marker_names(text, strlen(text), "r\"1", "a"));
	assert_false(marker_names(text, strlen(text), "r1", "a"));
	assert_false(marker_names(text, strlen(text), "r\"1", "b"));
	for (size_t n = 0; n < strlen(text); n++)
		assert_false(marker_names(text, n, "r\"1", "a"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_last_node_out_removes_the_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_node_comes_while_another_one_leaves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_last_one_that_was_killed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tokens_are_compared_by_content, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kept_files_stay_without_the_token, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_others_put_there_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_leftovers_of_an_earlier_runner_are_taken_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_foreign_marker_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_owner_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_failed_start_leaves_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_that_are_no_file_names, set_up, tear_down),
		cmocka_unit_test(test_a_marker_names_its_run_and_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
