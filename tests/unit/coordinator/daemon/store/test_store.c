#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "coordinator/daemon/store/records.h"
#include "coordinator/daemon/store/schema.h"
#include "coordinator/daemon/store/store.h"

struct fixture {
	char dir[64];
	struct store *store;
};

static int
remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int
setup(void **state)
{
	struct fixture *f = ls_calloc(1, sizeof(*f));
	struct ls_err err = { 0 };

	snprintf(f->dir, sizeof(f->dir), "/tmp/lockstep-store-XXXXXX");
	if (mkdtemp(f->dir) == NULL)
		return -1;
	*state = f;
	if (store_open(f->dir, STORE_WRITER, &f->store, &err) != LS_OK) {
		print_error("%s\n", err.text);
		return -1;
	}
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	nftw(f->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static void
reopen(struct fixture *f)
{
	store_close(f->store);
	f->store = NULL;
	assert_int_equal(store_open(f->dir, STORE_WRITER, &f->store, NULL), LS_OK);
}

static char *
text(const char *s)
{
	return (char *)(uintptr_t)s;
}

static struct store_run
a_run(const char *id, int64_t started_ns, enum run_state state)
{
	return (struct store_run){ .id = text(id),
		.name = text("job"),
		.state = state,
		.started_ns = started_ns,
		.duration_ns = LS_UNKNOWN_I64,
		.phases_total = 3,
		.node_count = 2,
		.job = text("{\"a\":1}"),
		.nodes = text("{}"),
		.warnings = text("{}") };
}

static struct store_part
a_part(const char *node, uint64_t part, uint64_t parts, const char *data)
{
	return (struct store_part){ .run = "r1", .node = node, .phase = 1, .part = part, .parts = parts, .data = data };
}

static void
put_run(struct store *store)
{
	struct store_run run = a_run("r1", 5, RUN_RUNNING);

	assert_int_equal(store_save(store, &run, NULL, NULL, NULL), LS_OK);
}

static void
test_a_run_comes_back_as_it_was_put(void **state)
{
	struct fixture *f = *state;
	struct store_run in = a_run("r1", 5, RUN_RUNNING), out = { 0 };

	in.reason = text("because");
	in.phase = 1;
	in.repetition = 2;
	in.attempt = 3;
	in.phase_committed = true;
	in.boot_id = text("boot");
	assert_int_equal(store_save(f->store, &in, NULL, NULL, NULL), LS_OK);
	reopen(f);
	assert_int_equal(store_get_run(f->store, "r1", &out, NULL), LS_OK);
	assert_string_equal(out.id, "r1");
	assert_string_equal(out.name, "job");
	assert_string_equal(out.reason, "because");
	assert_string_equal(out.boot_id, "boot");
	assert_string_equal(out.job, "{\"a\":1}");
	assert_int_equal(out.state, RUN_RUNNING);
	assert_true(out.duration_ns == LS_UNKNOWN_I64);
	assert_int_equal(out.phase, 1);
	assert_int_equal(out.repetition, 2);
	assert_int_equal(out.attempt, 3);
	assert_true(out.phase_committed);
	assert_int_equal(out.phases_done, 0);
	store_run_fini(&out);
	assert_int_equal(store_get_run(f->store, "r2", &out, NULL), LS_E_NOTFOUND);
}

static void
test_texts_that_are_not_given_stay(void **state)
{
	struct fixture *f = *state;
	struct store_run r = a_run("r1", 5, RUN_RUNNING), out = { 0 };

	assert_int_equal(store_save(f->store, &r, NULL, NULL, NULL), LS_OK);
	r.job = r.nodes = r.warnings = NULL;
	r.state = RUN_FINISHED;
	assert_int_equal(store_save(f->store, &r, NULL, NULL, NULL), LS_OK);
	assert_int_equal(store_get_run(f->store, "r1", &out, NULL), LS_OK);
	assert_int_equal(out.state, RUN_FINISHED);
	assert_string_equal(out.job, "{\"a\":1}");
	store_run_fini(&out);
}

static void
test_lists_and_unique_beginnings(void **state)
{
	struct fixture *f = *state;
	struct store_run a = a_run("20260101-000000-aaaa", 1, RUN_FINISHED),
			 b = a_run("20260101-000001-bbbb", 2, RUN_QUEUED),
			 c = a_run("20260101-000001-bbbb0", 3, RUN_RUNNING);
	struct store_run *rows = NULL;
	size_t n = 0;
	char *id = NULL;

	assert_int_equal(store_find_run(f->store, NULL, &id, NULL), LS_E_NOTFOUND);
	assert_int_equal(store_save(f->store, &a, NULL, NULL, NULL), LS_OK);
	assert_int_equal(store_save(f->store, &b, NULL, NULL, NULL), LS_OK);
	assert_int_equal(store_save(f->store, &c, NULL, NULL, NULL), LS_OK);

	assert_int_equal(store_list_runs(f->store, &(struct store_wanted){ .limit = 2 }, &rows, &n, NULL), LS_OK);
	assert_int_equal(n, 2);
	assert_string_equal(rows[0].id, c.id);
	assert_null(rows[0].job);
	for (size_t i = 0; i < n; i++)
		store_run_fini(&rows[i]);
	free(rows);
	assert_int_equal(
	    store_list_runs(f->store, &(struct store_wanted){ .only_live = true, .with_texts = true }, &rows, &n, NULL),
	    LS_OK);
	assert_int_equal(n, 2);
	assert_string_equal(rows[0].id, b.id);
	assert_non_null(rows[0].job);
	for (size_t i = 0; i < n; i++)
		store_run_fini(&rows[i]);
	free(rows);

	assert_int_equal(store_find_run(f->store, "2026", &id, NULL), LS_E_INVALID);
	assert_int_equal(store_find_run(f->store, "", &id, NULL), LS_E_INVALID);
	assert_int_equal(store_find_run(f->store, "x", &id, NULL), LS_E_NOTFOUND);
	assert_int_equal(store_find_run(f->store, "20260101-000000", &id, NULL), LS_OK);
	assert_string_equal(id, a.id);
	free(id);
	assert_int_equal(store_find_run(f->store, b.id, &id, NULL), LS_OK); /* whole, though another begins so */
	assert_string_equal(id, b.id);
	free(id);
	assert_int_equal(store_find_run(f->store, NULL, &id, NULL), LS_OK);
	assert_string_equal(id, c.id);
	free(id);
}

/* A result of so many values too many, as a hostile agent may send it. */
static char *
many_values(size_t count)
{
	static const char head[] = "{\"node\":\"n1\",\"x\":[";
	char *all = ls_malloc(sizeof(head) + 2 * count + 8);
	char *at = stpcpy(all, head);

	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, i > 0 ? ",1" : "1");
	strcpy(at, "]}");
	return all;
}

static void
test_results_are_read_within_limits(void **state)
{
	struct fixture *f = *state;
	char *huge = many_values(300001);
	struct store_part parts[] = { a_part("good", 0, 1, "{\"node\":\"good\",\"state\":\"done\",\"later\":1}"),
		a_part("bad", 0, 1, "{\"node\":"), a_part("huge", 0, 1, huge), a_part("half", 0, 2, "{\"node\":") };
	static const struct {
		const char *node;
		enum ls_rc rc;
	} wanted[] = { { "good", LS_OK }, { "bad", LS_E_INVALID }, { "huge", LS_E_LIMIT }, { "half", LS_E_NOTFOUND },
		{ "none", LS_E_NOTFOUND } };

	put_run(f->store);
	assert_int_equal(store_put_parts(f->store, parts, ARRAY_LEN(parts), NULL), LS_OK);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		struct node_result result;
		struct ls_err err = { 0 };
		enum ls_rc rc = record_read_result(f->store, "r1", 1, 0, 0, wanted[i].node, &result, &err);

		if (rc != wanted[i].rc)
			fail_msg("%s: got %s (%s), wanted %s", wanted[i].node, ls_rc_name(rc), err.text,
			    ls_rc_name(wanted[i].rc));
		if (rc == LS_OK)
			field_struct_fini(&node_result_desc, &result);
	}
	free(huge);
}

static void
test_records_that_are_not_there_are_defaults(void **state)
{
	struct job job;

	(void)state;
	assert_int_equal(record_decode(&job_desc, NULL, "job", &job, NULL), LS_OK);
	assert_int_equal(job.repeat, 1);
	field_struct_fini(&job_desc, &job);
	assert_int_equal(record_decode(&job_desc, "[]", "job", &job, NULL), LS_E_INVALID);
}

static void
test_parts_are_stored_once_and_conflicts_are_refused(void **state)
{
	struct fixture *f = *state;
	struct store_part parts[] = { a_part("n1", 1, 2, "def"), a_part("n2", 0, 1, "whole") };
	struct store_part again[] = { a_part("n1", 1, 2, "def"), a_part("n1", 1, 2, "xyz"), a_part("n1", 0, 3, "abc"),
		a_part("n1", 0, 2, "abc") };
	char *got = NULL;
	size_t len = 0;

	assert_int_equal(store_put_parts(f->store, parts, 2, NULL), LS_OK);
	assert_int_equal(parts[0].rc, LS_E_NOTFOUND); /* no such run */
	assert_false(parts[1].complete);
	put_run(f->store);
	assert_int_equal(store_put_parts(f->store, parts, 2, NULL), LS_OK);
	assert_int_equal(parts[0].rc, LS_OK);
	assert_false(parts[0].complete);
	assert_true(parts[1].complete);
	assert_int_equal(store_get_result(f->store, "r1", 1, 0, 0, "n1", &got, &len, NULL), LS_E_NOTFOUND);
	reopen(f);
	assert_int_equal(store_put_parts(f->store, again, 4, NULL), LS_OK);
	assert_int_equal(again[0].rc, LS_OK);
	assert_int_equal(again[1].rc, LS_E_EXISTS);
	assert_int_equal(again[2].rc, LS_E_EXISTS);
	assert_int_equal(again[3].rc, LS_OK);
	assert_true(again[3].complete);
	assert_int_equal(store_get_result(f->store, "r1", 1, 0, 0, "n1", &got, &len, NULL), LS_OK);
	assert_string_equal(got, "abcdef");
	assert_int_equal(len, 6);
	free(got);
	assert_int_equal(store_get_result(f->store, "r1", 1, 0, 1, "n1", &got, &len, NULL), LS_E_NOTFOUND);
}

static void
test_phases_and_attempts(void **state)
{
	struct fixture *f = *state;
	struct store_run r = a_run("r1", 5, RUN_RUNNING), back = { 0 };
	struct store_attempt a = { .run = text("r1"), .phase = 1, .attempt = 0, .reason = text("late") }, *as = NULL;
	struct store_phase one = { 0 };
	struct store_phase p = { .run = text("r1"),
		.phase = 1,
		.repetition = 1,
		.attempt = 1,
		.state = PHASE_STATE_DONE,
		.skew_uncertainty_ns = LS_UNKNOWN_I64,
		.spec = text("{}"),
		.note = text("{}") },
			   *ps = NULL;
	size_t n = 0;

	assert_int_equal(store_save(f->store, &r, &a, &p, NULL), LS_OK);
	a.reason = text("another word");
	p.repetition = 0;
	p.phase = 2;
	p.skew_uncertainty_ns = 77;
	assert_int_equal(store_save(f->store, NULL, &a, &p, NULL), LS_OK);
	assert_int_equal(store_list_attempts(f->store, "r1", &as, &n, NULL), LS_OK);
	assert_int_equal(n, 1);
	assert_string_equal(as[0].reason, "late");
	store_attempt_fini(&as[0]);
	free(as);
	assert_int_equal(store_list_phases(f->store, "r1", &ps, &n, NULL), LS_OK);
	assert_int_equal(n, 2);
	assert_int_equal(ps[0].phase, 2); /* repetition 0 ran first */
	assert_int_equal(ps[0].skew_uncertainty_ns, 77);
	assert_true(ps[1].skew_uncertainty_ns == LS_UNKNOWN_I64);
	for (size_t i = 0; i < n; i++)
		store_phase_fini(&ps[i]);
	free(ps);
	assert_int_equal(store_get_phase(f->store, "r1", 2, 0, &one, NULL), LS_OK);
	assert_int_equal(one.skew_uncertainty_ns, 77);
	store_phase_fini(&one);
	assert_int_equal(store_get_phase(f->store, "r1", 2, 5, &one, NULL), LS_E_NOTFOUND);
	assert_int_equal(store_get_run(f->store, "r1", &back, NULL), LS_OK);
	assert_int_equal(back.phases_done, 2);
	store_run_fini(&back);
}

static void
test_a_document_is_kept_once_and_hides_no_run(void **state)
{
	struct fixture *f = *state;
	struct store_run import = a_run("import-1", 5, RUN_FINISHED), own = a_run("r1", 6, RUN_FINISHED), row = { 0 };
	struct ls_err err = { 0 };
	bool known = true;
	char *got = NULL;

	assert_int_equal(store_get_document(f->store, "import-1", &got, &err), LS_E_NOTFOUND);
	assert_int_equal(store_put_document(f->store, &import, "{\"x\":1}", NULL, &known, &err), LS_OK);
	assert_false(known);
	assert_int_equal(store_put_document(f->store, &import, "{\"x\":2}", NULL, &known, &err), LS_OK);
	assert_true(known);
	reopen(f);
	assert_int_equal(store_get_document(f->store, "import-1", &got, &err), LS_OK);
	assert_string_equal(got, "{\"x\":1}");
	free(got);
	assert_int_equal(store_get_run(f->store, "import-1", &row, &err), LS_OK);
	assert_string_equal(row.name, "job");
	store_run_fini(&row);

	assert_int_equal(store_save(f->store, &own, NULL, NULL, &err), LS_OK);
	assert_int_equal(store_put_document(f->store, &own, "{}", NULL, &known, &err), LS_E_EXISTS);
	assert_int_equal(store_get_document(f->store, "r1", &got, &err), LS_E_NOTFOUND);
}

static void
test_a_second_writer_is_refused_and_named(void **state)
{
	struct fixture *f = *state;
	struct store *second = NULL;
	struct ls_err err = { 0 };
	char pid[32];

	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	assert_int_equal(store_open(f->dir, STORE_WRITER, &second, &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, pid));
	assert_int_equal(store_open(f->dir, STORE_READER, &second, &err), LS_OK);
	store_close(second);
}

static void
test_a_reader_sees_what_was_written_and_cannot_write(void **state)
{
	struct fixture *f = *state;
	struct store *reader = NULL;
	struct store_run r = a_run("r1", 5, RUN_RUNNING), out = { 0 };
	struct ls_err err = { 0 };

	assert_int_equal(store_open(f->dir, STORE_READER, &reader, NULL), LS_OK);
	assert_int_equal(store_save(f->store, &r, NULL, NULL, NULL), LS_OK);
	assert_int_equal(store_get_run(reader, "r1", &out, NULL), LS_OK);
	store_run_fini(&out);
	assert_int_equal(store_save(reader, &r, NULL, NULL, &err), LS_E_STORE);
	store_close(reader);
}

static int
user_version(const char *dir, int set)
{
	char path[128], pragma[64];
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	int version = -1;

	snprintf(path, sizeof(path), "%s/lockstep.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (set >= 0) {
		snprintf(pragma, sizeof(pragma), "PRAGMA user_version=%d", set);
		assert_int_equal(sqlite3_exec(db, pragma, NULL, NULL, NULL), SQLITE_OK);
	}
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &q, NULL), SQLITE_OK);
	if (sqlite3_step(q) == SQLITE_ROW)
		version = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return version;
}

static void
test_versions(void **state)
{
	struct fixture *f = *state;
	struct ls_err err = { 0 };

	assert_int_equal(user_version(f->dir, -1), schema_version());
	store_close(f->store);
	f->store = NULL;
	user_version(f->dir, schema_version() + 1);
	assert_int_equal(store_open(f->dir, STORE_WRITER, &f->store, &err), LS_E_STORE);
	assert_non_null(strstr(err.text, "newer"));
}

static void
test_a_directory_that_cannot_be_is_named(void **state)
{
	struct store *s = NULL;
	struct ls_err err = { 0 };

	(void)state;
	assert_int_equal(store_open("/proc/no-such/store", STORE_WRITER, &s, &err), LS_E_SYS);
	assert_non_null(strstr(err.text, "/proc/no-such/store"));
	assert_int_equal(store_open("/proc", STORE_READER, &s, &err), LS_E_STORE);
}

/* Writes until the disk is full: every failure is a clean one, and what was acknowledged is still there. */
static void
test_a_full_disk_loses_nothing_that_was_acknowledged(void **state)
{
	struct fixture *f = *state;
	struct store *store = NULL;
	char dir[128], *data = ls_malloc(40001), *got = NULL;
	struct ls_err err = { 0 };
	size_t stored = 0, len = 0;
	enum ls_rc rc = LS_OK;

	snprintf(dir, sizeof(dir), "%s/small", f->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	if (mount("none", dir, "tmpfs", 0, "size=512k") != 0) {
		free(data);
		skip();
	}
	memset(data, 'x', 40000);
	data[40000] = '\0';
	assert_int_equal(store_open(dir, STORE_WRITER, &store, NULL), LS_OK);
	put_run(store);
	while (rc == LS_OK && stored < 100) {
		struct store_part p = a_part("n1", 0, 1, data);

		p.attempt = stored;
		rc = store_put_parts(store, &p, 1, &err);
		assert_int_equal(p.rc, rc);
		stored += rc == LS_OK;
	}
	assert_int_equal(rc, LS_E_STORE);
	assert_in_range(stored, 1, 99);
	for (size_t i = 0; i < stored; i++) {
		assert_int_equal(store_get_result(store, "r1", 1, 0, i, "n1", &got, &len, NULL), LS_OK);
		assert_int_equal(len, 40000);
		free(got);
	}
	assert_int_equal(store_get_result(store, "r1", 1, 0, stored, "n1", &got, &len, NULL), LS_E_NOTFOUND);

	/* With room again it goes on as if nothing had been. */
	assert_int_equal(mount("none", dir, "tmpfs", MS_REMOUNT, "size=4m"), 0);
	struct store_part p = a_part("n1", 0, 1, data);

	p.attempt = stored;
	assert_int_equal(store_put_parts(store, &p, 1, &err), LS_OK);
	assert_true(p.complete);
	store_close(store);
	umount(dir);
	free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_run_comes_back_as_it_was_put),
		TEST(test_texts_that_are_not_given_stay),
		TEST(test_lists_and_unique_beginnings),
		TEST(test_parts_are_stored_once_and_conflicts_are_refused),
		TEST(test_results_are_read_within_limits),
		cmocka_unit_test(test_records_that_are_not_there_are_defaults),
		TEST(test_phases_and_attempts),
		TEST(test_a_document_is_kept_once_and_hides_no_run),
		TEST(test_a_second_writer_is_refused_and_named),
		TEST(test_a_reader_sees_what_was_written_and_cannot_write),
		TEST(test_versions),
		TEST(test_a_directory_that_cannot_be_is_named),
		TEST(test_a_full_disk_loses_nothing_that_was_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
