#include "coordinator/daemon/store/removal.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "coordinator/daemon/store/store_int.h"
#include "proto/model/label.h"

static enum ls_rc
delete_of(struct store *s, enum store_sql which, const char *run, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, which, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	return store_step(s, q, "remove", err);
}

/* The row itself, if the run has ended. */
static enum ls_rc
delete_row(struct store *s, const char *run, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_DELETE_RUN, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	sqlite3_bind_int(q, 2, RUN_FINISHED);
	rc = store_step(s, q, "remove", err);
	if (rc == LS_OK && sqlite3_changes(s->db) == 0)
		rc = ls_err_set(err, LS_E_REFUSED, "run %s has not ended", run);
	return rc;
}

static enum ls_rc
remove_all(struct store *s, const char *run, struct ls_err *err)
{
	static const enum store_sql rest[] = { SQL_DELETE_PHASES, SQL_DELETE_ATTEMPTS, SQL_DELETE_DOCUMENT,
		SQL_DELETE_TAGS, SQL_CLEAR_NODES, SQL_NOTE_REMOVED };
	enum ls_rc rc = delete_row(s, run, err);

	for (size_t i = 0; i < ARRAY_LEN(rest) && rc == LS_OK; i++)
		rc = delete_of(s, rest[i], run, err);
	return rc;
}

enum ls_rc
store_remove_run(struct store *s, const char *run, struct ls_err *err)
{
	struct store_run row = { 0 };
	enum ls_rc rc = store_get_run(s, run, &row, err);

	store_run_fini(&row);
	if (rc != LS_OK)
		return rc;
	rc = store_begin(s, err);
	if (rc == LS_OK)
		rc = remove_all(s, run, err);
	return store_end(s, rc, err);
}

/* A removed run that may have results left; heap, NULL: none. */
static enum ls_rc
find_removed(struct store *s, char **run, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_FIND_REMOVED, &q, err);

	if (rc != LS_OK)
		return rc;
	int step = sqlite3_step(q);
	if (step == SQLITE_ROW)
		*run = store_column_text(q, 0);
	else if (step != SQLITE_DONE)
		rc = store_fail(s, "removed runs", err);
	sqlite3_reset(q);
	return rc;
}

static enum ls_rc
sweep_run(struct store *s, const char *run, uint64_t pieces, struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	enum ls_rc rc = store_stmt(s, SQL_DELETE_RESULTS, &q, err);

	if (rc != LS_OK)
		return rc;
	store_bind_text(q, 1, run);
	store_bind_u64(q, 2, pieces);
	rc = store_step(s, q, "sweep", err);
	if (rc == LS_OK && (uint64_t)sqlite3_changes(s->db) < pieces)
		rc = delete_of(s, SQL_FORGET_REMOVED, run, err);
	return rc;
}

enum ls_rc
store_sweep(struct store *s, uint64_t pieces, bool *more, struct ls_err *err)
{
	char *run = NULL;
	enum ls_rc rc = find_removed(s, &run, err);

	*more = rc == LS_OK && run != NULL;
	if (!*more)
		return rc;
	rc = store_begin(s, err);
	if (rc == LS_OK)
		rc = sweep_run(s, run, pieces, err);
	rc = store_end(s, rc, err);
	free(run);
	return rc;
}

void
store_expired_free(struct store_expired *expired, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(expired[i].run);
	free(expired);
}

enum ls_rc
store_find_expired(struct store *s, const struct store_limits *limits, struct store_expired **out, size_t *out_count,
    struct ls_err *err)
{
	sqlite3_stmt *q = NULL;
	struct store_expired *all = NULL;
	uint64_t seen = 0;
	size_t n = 0;
	int step;
	enum ls_rc rc = store_stmt(s, SQL_EXPIRED, &q, err);

	if (rc != LS_OK)
		return rc;
	sqlite3_bind_int(q, 1, RUN_FINISHED);
	store_bind_text(q, 2, LABEL_KEEP);
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		bool old = limits->before_ns != 0 && sqlite3_column_int64(q, 1) < limits->before_ns;

		seen++;
		if (!old && (limits->runs == 0 || seen <= limits->runs))
			continue;
		all = ls_grow(all, n, sizeof(*all));
		all[n++] = (struct store_expired){ store_column_text(q, 0), old };
	}
	if (step != SQLITE_DONE)
		rc = store_fail(s, "old runs", err);
	sqlite3_reset(q);
	if (rc != LS_OK) {
		store_expired_free(all, n);
		return rc;
	}
	*out = all;
	*out_count = n;
	return LS_OK;
}
