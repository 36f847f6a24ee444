/* Writes that wait for better times. The store is real; what it cannot be written for is a lock that another connection holds. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ftw.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "coordinator/daemon/insist.h"

#define PATIENCE_NS (20 * NS_PER_S)

struct fixture {
	char dir[64];
	struct store *store;
	struct insist *insist;
	sqlite3 *other; /* who locks */
};

static int
remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void
sql(sqlite3 *db, const char *text)
{
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

static int
setup(void **state)
{
	struct fixture *f = ls_calloc(1, sizeof(*f));
	struct ls_err err = { 0 };
	char path[128];

	snprintf(f->dir, sizeof(f->dir), "/tmp/lockstep-insist-XXXXXX");
	if (mkdtemp(f->dir) == NULL || store_open(f->dir, STORE_WRITER, &f->store, &err) != LS_OK) {
		print_error("%s\n", err.text);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/lockstep.db", f->dir);
	if (sqlite3_open_v2(path, &f->other, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return -1;
	f->insist = insist_new();
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	sqlite3_close(f->other);
	insist_free(f->insist);
	store_close(f->store);
	nftw(f->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* --- a write in a thread of its own, as the daemon has it ----------------------------------------------------------------- */

struct write {
	struct fixture *f;
	insist_fn fn;
	enum ls_rc rc;
	struct ls_err err;
	atomic_uint attempts;
	atomic_bool over;
	pthread_t thread;
};

static enum ls_rc
put_run(struct store *store, void *arg, struct ls_err *err)
{
	struct write *w = arg;
	char id[] = "r1", name[] = "job", empty[] = "{}";
	struct store_run run = { .id = id,
		.name = name,
		.state = RUN_RUNNING,
		.duration_ns = LS_UNKNOWN_I64,
		.phases_total = 1,
		.job = empty,
		.nodes = empty,
		.warnings = empty };

	atomic_fetch_add(&w->attempts, 1);
	return store_save(store, &run, NULL, NULL, err);
}

/* The lock is met once; then there is something that no patience mends. */
static enum ls_rc
locked_then_broken(struct store *store, void *arg, struct ls_err *err)
{
	struct write *w = arg;

	if (atomic_load(&w->attempts) == 0)
		return put_run(store, arg, err);
	atomic_fetch_add(&w->attempts, 1);
	return ls_err_set(err, LS_E_EXISTS, "other bytes are there");
}

static void *
write_main(void *arg)
{
	struct write *w = arg;

	w->rc = insist_do(w->f->insist, w->f->store, w->fn, w, &w->err);
	atomic_store(&w->over, true);
	return NULL;
}

static void
start(struct write *w, struct fixture *f, insist_fn fn)
{
	w->f = f;
	w->fn = fn;
	assert_int_equal(pthread_create(&w->thread, NULL, write_main, w), 0);
}

static void
pause_ms(long ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Until the write is known to wait; what is told goes to text. */
static void
await_waiting(struct fixture *f, char *text, size_t len)
{
	for (int64_t end = ls_mono_now().ns + PATIENCE_NS; !insist_waits(f->insist, text, len); pause_ms(2))
		if (ls_mono_now().ns > end)
			fail_msg("it does not wait");
}

static bool
run_is_there(struct fixture *f)
{
	struct store_run run = { 0 };
	bool there = store_get_run(f->store, "r1", &run, NULL) == LS_OK;

	store_run_fini(&run);
	return there;
}

/* --- tests ---------------------------------------------------------------------------------------------------------------- */

static void
test_what_works_is_done_once(void **state)
{
	struct fixture *f = *state;
	struct write w = { .f = f };
	char text[256] = "untouched";

	assert_int_equal(insist_do(f->insist, f->store, put_run, &w, NULL), LS_OK);
	assert_int_equal(w.attempts, 1);
	assert_false(insist_waits(f->insist, text, sizeof(text)));
	assert_string_equal(text, "untouched");
	assert_true(run_is_there(f));
}

static void
test_a_locked_database_is_waited_for_and_then_written(void **state)
{
	struct fixture *f = *state;
	struct write w = { 0 };
	char text[256];

	sql(f->other, "BEGIN IMMEDIATE");
	start(&w, f, put_run);
	await_waiting(f, text, sizeof(text));
	assert_non_null(strstr(text, "locked"));
	assert_false(w.over);
	unsigned before = w.attempts;
	for (int64_t end = ls_mono_now().ns + PATIENCE_NS; w.attempts == before;
	     pause_ms(2)) /* it tries again by itself */
		assert_true(ls_mono_now().ns < end);
	sql(f->other, "COMMIT");
	pthread_join(w.thread, NULL);
	assert_int_equal(w.rc, LS_OK);
	assert_true(w.attempts > before);
	assert_false(insist_waits(f->insist, text, sizeof(text)));
	assert_true(run_is_there(f));
}

static enum ls_rc
refuse(struct store *store, void *arg, struct ls_err *err)
{
	struct write *w = arg;

	(void)store;
	atomic_fetch_add(&w->attempts, 1);
	return ls_err_set(err, LS_E_STORE, "a row that cannot be");
}

static void
test_what_another_attempt_cannot_change_is_an_error_at_once(void **state)
{
	struct fixture *f = *state;
	struct write w = { .f = f };
	struct ls_err err = { 0 };
	char text[8];

	assert_int_equal(insist_do(f->insist, f->store, refuse, &w, &err), LS_E_STORE);
	assert_string_equal(err.text, "a row that cannot be");
	assert_int_equal(w.attempts, 1);
	assert_false(insist_waits(f->insist, text, sizeof(text)));
	assert_int_equal(insist_do(f->insist, f->store, refuse, &w, NULL), LS_E_STORE); /* err may be NULL */
}

static void
test_what_fails_for_good_after_a_wait_waits_no_longer(void **state)
{
	struct fixture *f = *state;
	struct write w = { 0 };
	char text[256];

	sql(f->other, "BEGIN IMMEDIATE");
	start(&w, f, locked_then_broken);
	await_waiting(f, text, sizeof(text));
	pthread_join(w.thread, NULL);
	sql(f->other, "COMMIT");
	assert_int_equal(w.rc, LS_E_EXISTS);
	assert_string_equal(w.err.text, "other bytes are there");
	assert_false(insist_waits(f->insist, text, sizeof(text)));
}

static void
test_giving_up_ends_the_wait_with_its_reason(void **state)
{
	struct fixture *f = *state;
	struct write w = { 0 };
	char text[256];

	sql(f->other, "BEGIN IMMEDIATE");
	start(&w, f, put_run);
	await_waiting(f, text, sizeof(text));
	insist_give_up(f->insist);
	pthread_join(w.thread, NULL);
	assert_int_equal(w.rc, LS_E_STORE);
	assert_non_null(strstr(w.err.text, "locked"));
	assert_false(insist_waits(f->insist, text, sizeof(text)));

	struct write last = { .f = f }; /* from now on each is tried once */
	assert_int_equal(insist_do(f->insist, f->store, put_run, &last, NULL), LS_E_STORE);
	assert_int_equal(last.attempts, 1);
	sql(f->other, "COMMIT");
	assert_int_equal(insist_do(f->insist, f->store, put_run, &last, NULL), LS_OK);
	assert_true(run_is_there(f));
}

static void
test_a_reason_that_is_too_long_is_cut(void **state)
{
	struct fixture *f = *state;
	struct write w = { 0 };
	char text[256], few[8];

	sql(f->other, "BEGIN IMMEDIATE");
	start(&w, f, put_run);
	await_waiting(f, text, sizeof(text));
	assert_true(insist_waits(f->insist, few, sizeof(few)));
	assert_int_equal(strlen(few), sizeof(few) - 1);
	assert_memory_equal(few, text, sizeof(few) - 1);
	sql(f->other, "COMMIT");
	pthread_join(w.thread, NULL);
	assert_int_equal(w.rc, LS_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_works_is_done_once),
		TEST(test_a_locked_database_is_waited_for_and_then_written),
		TEST(test_what_another_attempt_cannot_change_is_an_error_at_once),
		TEST(test_what_fails_for_good_after_a_wait_waits_no_longer),
		TEST(test_giving_up_ends_the_wait_with_its_reason),
		TEST(test_a_reason_that_is_too_long_is_cut),
	};

	insist_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
