#include "coordinator/daemon/store/schema.h"

#include <sqlite3.h>
#include <stdio.h>

/* Step n takes a store from version n to n + 1. Steps that were released are never changed. */
static const char *const steps[] = {
	"CREATE TABLE runs("
	" id TEXT PRIMARY KEY NOT NULL,"
	" name TEXT NOT NULL,"
	" state INTEGER NOT NULL,"
	" verdict INTEGER NOT NULL,"
	" reason TEXT,"
	" started_ns INTEGER NOT NULL,"
	" duration_ns INTEGER,"
	" boot_id TEXT,"
	" phase INTEGER NOT NULL,"
	" repetition INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" phase_committed INTEGER NOT NULL,"
	" phases_total INTEGER NOT NULL,"
	" node_count INTEGER NOT NULL,"
	" job TEXT NOT NULL,"
	" nodes TEXT NOT NULL,"
	" warnings TEXT NOT NULL);"
	"CREATE INDEX runs_started ON runs(started_ns DESC, id DESC);"
	"CREATE TABLE results("
	" run TEXT NOT NULL,"
	" node TEXT NOT NULL,"
	" phase INTEGER NOT NULL,"
	" repetition INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" part INTEGER NOT NULL,"
	" parts INTEGER NOT NULL,"
	" data TEXT NOT NULL,"
	" UNIQUE(run, phase, repetition, attempt, node, part));"
	"CREATE TABLE attempts("
	" run TEXT NOT NULL,"
	" phase INTEGER NOT NULL,"
	" repetition INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" reason TEXT NOT NULL,"
	" UNIQUE(run, phase, repetition, attempt));"
	"CREATE TABLE phases("
	" run TEXT NOT NULL,"
	" phase INTEGER NOT NULL,"
	" repetition INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" state INTEGER NOT NULL,"
	" skew_uncertainty_ns INTEGER,"
	" spec TEXT NOT NULL,"
	" note TEXT NOT NULL,"
	" UNIQUE(run, repetition, phase));",
	/* documents that were made elsewhere: imports */
	"CREATE TABLE documents("
	" run TEXT PRIMARY KEY NOT NULL,"
	" data TEXT NOT NULL);",
	/* history: tags, notes, what runs are found by, and what is left to delete of removed runs */
	"ALTER TABLE runs ADD COLUMN path TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE runs ADD COLUMN note TEXT;"
	"ALTER TABLE runs ADD COLUMN added_ns INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE tags(run TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(run, tag)) WITHOUT ROWID;"
	"CREATE TABLE run_nodes(run TEXT NOT NULL, node TEXT NOT NULL, PRIMARY KEY(run, node)) WITHOUT ROWID;"
	"CREATE TABLE removed(run TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;"
	"UPDATE runs SET added_ns = started_ns;"
	"UPDATE runs SET path = coalesce(json_extract(job, '$.path'), '') WHERE json_valid(job);"
	"INSERT OR IGNORE INTO run_nodes SELECT runs.id, json_extract(m.value, '$.info.name')"
	" FROM runs, json_each(runs.nodes, '$.members') AS m"
	" WHERE json_valid(runs.nodes) AND json_extract(m.value, '$.info.name') IS NOT NULL;"
	"INSERT OR IGNORE INTO run_nodes SELECT documents.run, json_extract(m.value, '$.name')"
	" FROM documents, json_each(documents.data, '$.nodes') AS m"
	" WHERE json_valid(documents.data) AND json_extract(m.value, '$.name') IS NOT NULL;",
};

int
schema_version(void)
{
	return (int)ARRAY_LEN(steps);
}

static enum ls_rc
exec_sql(sqlite3 *db, const char *path, const char *what, const char *sql, struct ls_err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return LS_OK;
	return ls_err_set(err, LS_E_STORE, "store %s: %s: %s", path, what, sqlite3_errmsg(db));
}

static enum ls_rc
read_version(sqlite3 *db, const char *path, int *out, struct ls_err *err)
{
	sqlite3_stmt *stmt = NULL;
	enum ls_rc rc = LS_OK;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW)
		rc = ls_err_set(err, LS_E_STORE, "store %s: user_version: %s", path, sqlite3_errmsg(db));
	else
		*out = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return rc;
}

static enum ls_rc
apply_step(sqlite3 *db, const char *path, int step, struct ls_err *err)
{
	char pragma[64];
	enum ls_rc rc;

	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", step + 1);
	rc = exec_sql(db, path, "begin", "BEGIN IMMEDIATE", err);
	if (rc != LS_OK)
		return rc;
	rc = exec_sql(db, path, "migration", steps[step], err);
	if (rc == LS_OK)
		rc = exec_sql(db, path, "user_version", pragma, err);
	if (rc == LS_OK)
		rc = exec_sql(db, path, "commit", "COMMIT", err);
	if (rc != LS_OK)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

enum ls_rc
schema_migrate(sqlite3 *db, const char *path, struct ls_err *err)
{
	int version = 0;
	enum ls_rc rc = read_version(db, path, &version, err);

	if (rc != LS_OK)
		return rc;
	if (version > schema_version())
		return ls_err_set(err, LS_E_STORE,
		    "store %s: written by a newer lockstepd (version %d, this one knows %d)", path, version,
		    schema_version());
	for (int step = version; rc == LS_OK && step < schema_version(); step++)
		rc = apply_step(db, path, step, err);
	return rc;
}
