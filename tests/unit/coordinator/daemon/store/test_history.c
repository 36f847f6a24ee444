/* What is kept of past runs: older stores, tags and notes, who took part, removal, limits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "coordinator/daemon/store/labels.h"
#include "coordinator/daemon/store/removal.h"
#include "coordinator/daemon/store/schema.h"

struct fixture {
	char dir[64];
	struct store *store; /* opened by the test */
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

	snprintf(f->dir, sizeof(f->dir), "/tmp/lockstep-history-XXXXXX");
	*state = f;
	return mkdtemp(f->dir) == NULL ? -1 : 0;
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
open_store(struct fixture *f)
{
	struct ls_err err = { 0 };

	if (store_open(f->dir, STORE_WRITER, &f->store, &err) != LS_OK)
		fail_msg("%s", err.text);
}

static char *
text(const char *s)
{
	return (char *)(uintptr_t)s;
}

static void
put_run(struct store *store, const char *id, int64_t started_ns, enum run_state state)
{
	struct store_run run = {
		.id = text(id),
		.name = text("job"),
		.state = state,
		.started_ns = started_ns,
		.duration_ns = LS_UNKNOWN_I64,
		.job = text("{\"path\":\"/mnt/vol\"}"),
		.nodes = text("{\"members\":[{\"info\":{\"name\":\"alpha1\"}},{\"info\":{\"name\":\"beta\"}}]}"),
		.warnings = text("{}"),
	};

	assert_int_equal(store_save(store, &run, NULL, NULL, NULL), LS_OK);
}

static void
put_result(struct store *store, const char *run, const char *node, uint64_t phase)
{
	struct store_part part = { .run = run, .node = node, .phase = phase, .parts = 1, .data = "{}" };

	assert_int_equal(store_put_parts(store, &part, 1, NULL), LS_OK);
}

/* --- older stores ---------------------------------------------------------------------------------------------------- */

static char *
read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *data = ls_calloc(1, 1 << 20);

	assert_non_null(file);
	assert_in_range(fread(data, 1, (1 << 20) - 1, file), 1, (1 << 20) - 2);
	fclose(file);
	return data;
}

/* Makes lockstep.db as an older lockstepd left it (tests/golden/store). */
static void
make_old_store(const struct fixture *f, int version)
{
	char path[128];
	char *sql;
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "tests/golden/store/v%d.sql", version);
	sql = read_text(path);
	snprintf(path, sizeof(path), "%s/lockstep.db", f->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	free(sql);
}

static size_t
count_with_node(struct store *store, const char *node)
{
	struct store_wanted wanted = { .node = node };
	struct store_run *rows = NULL;
	size_t n = 0;

	assert_int_equal(store_list_runs(store, &wanted, &rows, &n, NULL), LS_OK);
	for (size_t i = 0; i < n; i++)
		store_run_fini(&rows[i]);
	free(rows);
	return n;
}

/* The run that all fixtures hold: its row, its phases and the whole of a result are there, and it is found by node and path. */
static void
check_own_run(struct store *store, const char *tags)
{
	static const char id[] = "20261130-182008-8348";
	struct store_run run = { 0 };
	struct store_phase *phases = NULL;
	size_t n = 0, len = 0;
	char *result = NULL;

	assert_int_equal(store_get_run(store, id, &run, NULL), LS_OK);
	assert_string_equal(run.name, "nightly");
	assert_int_equal(run.state, RUN_FINISHED);
	assert_string_equal(run.path, "/mnt/vol");
	assert_int_equal(run.added_ns, run.started_ns);
	if (tags == NULL)
		assert_null(run.tags);
	else
		assert_string_equal(run.tags, tags);
	assert_null(run.note);
	store_run_fini(&run);
	assert_int_equal(store_list_phases(store, id, &phases, &n, NULL), LS_OK);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++)
		store_phase_fini(&phases[i]);
	free(phases);
	assert_int_equal(store_get_result(store, id, 1, 0, 0, "node2", &result, &len, NULL), LS_OK);
	assert_non_null(strstr(result, "\"node\":\"node2\""));
	free(result);
	assert_int_equal(count_with_node(store, "node2"), 1);
	assert_int_equal(count_with_node(store, "node3"), 0);
}

static void
test_every_schema_version_opens_and_is_brought_up(void **state)
{
	for (int version = 1; version <= schema_version(); version++) {
		struct fixture f;

		(void)state;
		snprintf(f.dir, sizeof(f.dir), "/tmp/lockstep-history-XXXXXX");
		assert_non_null(mkdtemp(f.dir));
		make_old_store(&f, version);
		for (int again = 0; again < 2; again++) { /* the second time there is nothing to do */
			open_store(&f);
			check_own_run(f.store, version >= 3 ? "golden" : NULL);
			assert_int_equal(count_with_node(f.store, NULL), version == 1 ? 1 : 2);
			store_close(f.store);
		}
		nftw(f.dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	}
}

static void
test_an_old_import_is_found_by_its_node(void **state)
{
	struct fixture *f = *state;
	struct store_run run = { 0 };
	char *doc = NULL, *node, *end;

	make_old_store(f, 2);
	open_store(f);
	assert_int_equal(store_get_run(f->store, "import-69680d0456b618a8238e1333", &run, NULL), LS_OK);
	assert_string_equal(run.path, "");
	store_run_fini(&run);
	assert_int_equal(store_get_document(f->store, "import-69680d0456b618a8238e1333", &doc, NULL), LS_OK);
	node = strstr(doc, "\"nodes\":[{\"name\":\"");
	assert_non_null(node);
	node += strlen("\"nodes\":[{\"name\":\"");
	end = strchr(node, '"');
	assert_non_null(end);
	*end = '\0';
	assert_int_equal(count_with_node(f->store, node), 1);
	free(doc);
}

/* --- labels ----------------------------------------------------------------------------------------------------------- */

static void
test_tags_and_note_come_and_go(void **state)
{
	struct fixture *f = *state;
	char *add[] = { text("zeta"), text("before-upgrade"), text("zeta") }, *gone[] = { text("zeta"), text("none") };
	struct label_change change = { .add = add, .add_count = 3, .note = "new switch" };
	struct store_run run = { 0 };

	open_store(f);
	put_run(f->store, "r1", 5, RUN_RUNNING);
	assert_int_equal(store_label(f->store, "r1", &change, NULL), LS_OK);
	put_run(f->store, "r1", 5, RUN_FINISHED); /* a later write of the row leaves them */
	assert_int_equal(store_get_run(f->store, "r1", &run, NULL), LS_OK);
	assert_string_equal(run.tags, "before-upgrade,zeta");
	assert_string_equal(run.note, "new switch");
	store_run_fini(&run);

	change = (struct label_change){ .remove = gone, .remove_count = 2, .note = "" };
	assert_int_equal(store_label(f->store, "r1", &change, NULL), LS_OK);
	assert_int_equal(store_get_run(f->store, "r1", &run, NULL), LS_OK);
	assert_string_equal(run.tags, "before-upgrade");
	assert_null(run.note);
	store_run_fini(&run);
	assert_int_equal(store_label(f->store, "r2", &change, NULL), LS_E_NOTFOUND);
}

static void
test_labels_that_cannot_be_change_nothing(void **state)
{
	static const char too_long[] = "1234567890123456789012345678901234567890"
				       "1234567890123456789012345";
	static const char *const bad[] = { "", "two words", "-option", "a,b", "\xc3\xa4", too_long };
	struct fixture *f = *state;
	struct store_run run = { 0 };
	char *many[65];

	open_store(f);
	put_run(f->store, "r1", 5, RUN_FINISHED);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *tags[] = { text("good"), text(bad[i]) };
		struct label_change change = { .add = tags, .add_count = 2 };

		assert_int_equal(store_label(f->store, "r1", &change, NULL), LS_E_INVALID);
	}
	assert_int_equal(
	    store_label(f->store, "r1", &(struct label_change){ .note = "two\nlines" }, NULL), LS_E_INVALID);
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = ls_asprintf("t%zu", i);
	assert_int_equal(
	    store_label(f->store, "r1", &(struct label_change){ .add = many, .add_count = 64 }, NULL), LS_OK);
	assert_int_equal(
	    store_label(f->store, "r1", &(struct label_change){ .add = &many[64], .add_count = 1 }, NULL), LS_E_LIMIT);
	assert_int_equal(store_get_run(f->store, "r1", &run, NULL), LS_OK);
	assert_null(strstr(run.tags, "good"));
	assert_null(strstr(run.tags, "t64"));
	store_run_fini(&run);
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		free(many[i]);
}

static void
test_runs_are_found_by_node(void **state)
{
	struct fixture *f = *state;

	open_store(f);
	put_run(f->store, "r1", 5, RUN_FINISHED);
	assert_int_equal(count_with_node(f->store, "beta"), 1);
	assert_int_equal(count_with_node(f->store, "alpha*"), 1);
	assert_int_equal(count_with_node(f->store, "alpha"), 0);
	assert_int_equal(count_with_node(f->store, NULL), 1);
}

/* --- removal ----------------------------------------------------------------------------------------------------------- */

static void
test_a_removed_run_is_gone_at_once_and_its_results_by_and_by(void **state)
{
	struct fixture *f = *state;
	struct store_run run = { 0 };
	struct store_phase *phases = NULL;
	char *data = NULL;
	size_t n = 0, len = 0, rounds = 0;
	bool more = true;

	open_store(f);
	put_run(f->store, "r1", 5, RUN_FINISHED);
	put_run(f->store, "r2", 6, RUN_FINISHED);
	for (uint64_t phase = 0; phase < 10; phase++)
		put_result(f->store, "r1", "n1", phase);
	put_result(f->store, "r2", "n1", 0);
	assert_int_equal(store_remove_run(f->store, "r1", NULL), LS_OK);
	assert_int_equal(store_get_run(f->store, "r1", &run, NULL), LS_E_NOTFOUND);
	assert_int_equal(count_with_node(f->store, "beta"), 1);
	assert_int_equal(store_list_phases(f->store, "r1", &phases, &n, NULL), LS_OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_get_result(f->store, "r1", 9, 0, 0, "n1", &data, &len, NULL), LS_OK);
	free(data);

	/* What a stop of lockstepd interrupts goes on at its next start. */
	assert_int_equal(store_sweep(f->store, 4, &more, NULL), LS_OK);
	assert_true(more);
	store_close(f->store);
	open_store(f);
	while (more && rounds++ < 10)
		assert_int_equal(store_sweep(f->store, 4, &more, NULL), LS_OK);
	assert_int_equal(rounds, 3); /* four, two, nothing left */
	for (uint64_t phase = 0; phase < 10; phase++)
		assert_int_equal(store_get_result(f->store, "r1", phase, 0, 0, "n1", &data, &len, NULL), LS_E_NOTFOUND);
	assert_int_equal(store_get_result(f->store, "r2", 0, 0, 0, "n1", &data, &len, NULL), LS_OK);
	free(data);
	assert_int_equal(store_remove_run(f->store, "r1", NULL), LS_E_NOTFOUND);
}

static void
test_a_run_that_has_not_ended_is_not_removed(void **state)
{
	struct fixture *f = *state;
	struct store_run run = { 0 };

	open_store(f);
	put_run(f->store, "r1", 5, RUN_COLLECTING);
	assert_int_equal(store_remove_run(f->store, "r1", NULL), LS_E_REFUSED);
	assert_int_equal(store_get_run(f->store, "r1", &run, NULL), LS_OK);
	store_run_fini(&run);
	assert_int_equal(count_with_node(f->store, "beta"), 1);
}

static void
test_a_reader_sees_a_run_whole_while_it_is_removed(void **state)
{
	struct fixture *f = *state;
	struct store *reader = NULL;
	char *data = NULL;
	size_t len = 0;
	struct store_run run = { 0 };
	bool more;

	open_store(f);
	put_run(f->store, "r1", 5, RUN_FINISHED);
	put_result(f->store, "r1", "n1", 0);
	assert_int_equal(store_open(f->dir, STORE_READER, &reader, NULL), LS_OK);
	assert_int_equal(store_view_begin(reader, NULL), LS_OK);
	assert_int_equal(store_get_run(reader, "r1", &run, NULL), LS_OK);
	store_run_fini(&run);
	assert_int_equal(store_remove_run(f->store, "r1", NULL), LS_OK);
	assert_int_equal(store_sweep(f->store, 100, &more, NULL), LS_OK);
	assert_int_equal(store_get_result(reader, "r1", 0, 0, 0, "n1", &data, &len, NULL), LS_OK);
	free(data);
	store_view_end(reader);
	assert_int_equal(store_get_run(reader, "r1", &run, NULL), LS_E_NOTFOUND);
	store_close(reader);
}

static void
expect_expired(struct store *store, uint64_t runs, int64_t before_ns, const char *wanted)
{
	struct store_limits limits = { runs, before_ns };
	struct store_expired *expired = NULL;
	char names[64] = "";
	size_t n = 0;

	assert_int_equal(store_find_expired(store, &limits, &expired, &n, NULL), LS_OK);
	for (size_t i = 0; i < n; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s ", expired[i].run,
		    expired[i].by_age ? "(age)" : "");
	store_expired_free(expired, n);
	assert_string_equal(names, wanted);
}

static void
test_limits(void **state)
{
	struct fixture *f = *state;
	char *keep[] = { text("keep") };
	char id[16];

	open_store(f);
	for (int i = 1; i <= 5; i++) {
		snprintf(id, sizeof(id), "r%d", i);
		put_run(f->store, id, i * 100, RUN_FINISHED);
	}
	put_run(f->store, "live", 1, RUN_RUNNING);
	expect_expired(f->store, 0, 0, "");
	expect_expired(f->store, 5, 0, "");
	expect_expired(f->store, 2, 0, "r3 r2 r1 ");
	expect_expired(f->store, 0, 300, "r2(age) r1(age) ");
	expect_expired(f->store, 1, 200, "r4 r3 r2 r1(age) ");
	assert_int_equal(
	    store_label(f->store, "r2", &(struct label_change){ .add = keep, .add_count = 1 }, NULL), LS_OK);
	expect_expired(f->store, 2, 300, "r3 r1(age) ");
	expect_expired(f->store, 4, 0, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_schema_version_opens_and_is_brought_up),
		TEST(test_an_old_import_is_found_by_its_node),
		TEST(test_tags_and_note_come_and_go),
		TEST(test_labels_that_cannot_be_change_nothing),
		TEST(test_runs_are_found_by_node),
		TEST(test_a_removed_run_is_gone_at_once_and_its_results_by_and_by),
		TEST(test_a_run_that_has_not_ended_is_not_removed),
		TEST(test_a_reader_sees_a_run_whole_while_it_is_removed),
		TEST(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
