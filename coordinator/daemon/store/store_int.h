/*
 * Innards of the store: the connection and its prepared statements.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_STORE_INT_H
#define LS_COORDINATOR_DAEMON_STORE_STORE_INT_H

#include <sqlite3.h>

#include "coordinator/daemon/store/labels.h"
#include "coordinator/daemon/store/store.h"

enum store_sql {
	SQL_BEGIN = 0,
	SQL_COMMIT,
	SQL_PUT_RUN,
	SQL_PUT_ATTEMPT,
	SQL_PUT_PHASE,
	SQL_PUT_PART,
	SQL_FIND_PART,
	SQL_COUNT_PARTS,
	SQL_GET_RESULT,
	SQL_GET_RUN,
	SQL_FIND_RUN,
	SQL_NEWEST_RUN,
	SQL_LIST_RUNS,
	SQL_LIST_LIVE,
	SQL_LIST_PHASES,
	SQL_GET_PHASE,
	SQL_LIST_ATTEMPTS,
	SQL_PUT_DOCUMENT,
	SQL_GET_DOCUMENT,
	SQL_VIEW,
	SQL_CLEAR_NODES,
	SQL_PUT_NODES,
	SQL_ADD_TAG,
	SQL_REMOVE_TAG,
	SQL_SET_NOTE,
	SQL_GET_LABELS,
	SQL_NOTE_REMOVED,
	SQL_DELETE_RUN,
	SQL_DELETE_PHASES,
	SQL_DELETE_ATTEMPTS,
	SQL_DELETE_DOCUMENT,
	SQL_DELETE_TAGS,
	SQL_FIND_REMOVED,
	SQL_DELETE_RESULTS,
	SQL_FORGET_REMOVED,
	SQL_EXPIRED,
	SQL_COUNT
};

struct store {
	sqlite3 *db;
	char *path;
	int lock_fd;
	bool may_recover;               /* the last failure: another attempt may do better */
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at first use */
};

/* The statement, reset and without bindings. Errors: LS_E_STORE. */
enum ls_rc store_stmt(struct store *s, enum store_sql which, sqlite3_stmt **out, struct ls_err *err) LS_MUST_CHECK;

/* Steps a statement that returns no row, and resets it. what: for errors. */
enum ls_rc store_step(struct store *s, sqlite3_stmt *stmt, const char *what, struct ls_err *err) LS_MUST_CHECK;

/* "store PATH: what: <sqlite's sentence>" with LS_E_STORE. */
enum ls_rc store_fail(struct store *s, const char *what, struct ls_err *err);

/* Writes a run's row, within a transaction. */
enum ls_rc store_put_run(struct store *s, const struct store_run *run, struct ls_err *err) LS_MUST_CHECK;

/* Changes tags and note, within a transaction. Errors: LS_E_LIMIT, LS_E_STORE. */
enum ls_rc store_apply_labels(
    struct store *s, const char *run, const struct label_change *change, struct ls_err *err) LS_MUST_CHECK;

enum ls_rc store_begin(struct store *s, struct ls_err *err) LS_MUST_CHECK;

/* Commits if rc is LS_OK, else rolls back. Returns rc, or the commit's own failure. */
enum ls_rc store_end(struct store *s, enum ls_rc rc, struct ls_err *err) LS_MUST_CHECK;

/* Bindings by number from 1. Text is borrowed until the statement is reset; NULL binds NULL. */
void store_bind_text(sqlite3_stmt *stmt, int at, const char *text);
void store_bind_u64(sqlite3_stmt *stmt, int at, uint64_t value);
void store_bind_i64_or_null(sqlite3_stmt *stmt, int at, int64_t value); /* LS_UNKNOWN_I64: NULL */

/* Columns by number from 0. The text is a heap copy, NULL for NULL. */
char *store_column_text(sqlite3_stmt *stmt, int at);
uint64_t store_column_u64(sqlite3_stmt *stmt, int at);
int64_t store_column_i64_or_null(sqlite3_stmt *stmt, int at);

#endif
