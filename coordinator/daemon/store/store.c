#include "coordinator/daemon/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "coordinator/daemon/store/schema.h"
#include "coordinator/daemon/store/store_int.h"

#define RUN_COLUMNS                                                                                                    \
	"id, name, state, verdict, reason, started_ns, duration_ns, boot_id, phase, repetition, attempt, "             \
	"phase_committed,"                                                                                             \
	" phases_total, node_count, job, nodes, warnings"
#define JOB_PATH "coalesce(CASE WHEN json_valid(?15) THEN json_extract(?15, '$.path') END, '')"
#define RUN_SELECT                                                                                                     \
	"SELECT " RUN_COLUMNS ", (SELECT count(*) FROM phases WHERE phases.run = runs.id), path, note,"                \
	" (SELECT group_concat(tag) FROM (SELECT tag FROM tags WHERE tags.run = runs.id ORDER BY tag)), added_ns"      \
	" FROM runs "

#define WRITER_BUSY_MS 500
#define READER_BUSY_MS 5000

static const char *const sql_texts[SQL_COUNT] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_PUT_RUN] = "INSERT INTO runs(" RUN_COLUMNS ", added_ns, path)"
			" VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,"
			" ifnull(?15,''),ifnull(?16,''),ifnull(?17,''),?18," JOB_PATH ")"
			" ON CONFLICT(id) DO UPDATE SET name=?2, state=?3, verdict=?4, reason=?5, started_ns=?6,"
			" duration_ns=?7, boot_id=?8, phase=?9, repetition=?10, attempt=?11, phase_committed=?12,"
			" phases_total=?13, node_count=?14, job=ifnull(?15,job), nodes=ifnull(?16,nodes),"
			" warnings=ifnull(?17,warnings), path=CASE WHEN ?15 IS NULL THEN path ELSE " JOB_PATH " END",
	[SQL_PUT_ATTEMPT] =
	    "INSERT OR IGNORE INTO attempts(run, phase, repetition, attempt, reason) VALUES(?1,?2,?3,?4,?5)",
	[SQL_PUT_PHASE] =
	    "INSERT OR REPLACE INTO phases(run, phase, repetition, attempt, state, skew_uncertainty_ns, spec, note)"
	    " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
	[SQL_PUT_PART] = "INSERT INTO results(run, node, phase, repetition, attempt, part, parts, data)"
			 " SELECT ?1,?2,?3,?4,?5,?6,?7,?8 WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1)",
	[SQL_FIND_PART] = "SELECT parts = ?7 AND data = ?8 FROM results WHERE run = ?1 AND node = ?2 AND phase = ?3"
			  " AND repetition = ?4 AND attempt = ?5 AND part = ?6",
	[SQL_COUNT_PARTS] =
	    "SELECT count(*), min(parts), max(parts) FROM results WHERE run = ?1 AND node = ?2 AND phase = ?3"
	    " AND repetition = ?4 AND attempt = ?5",
	[SQL_GET_RESULT] = "SELECT part, parts, data FROM results WHERE run = ?1 AND node = ?2 AND phase = ?3"
			   " AND repetition = ?4 AND attempt = ?5 ORDER BY part",
	[SQL_GET_RUN] = RUN_SELECT "WHERE id = ?1",
	[SQL_FIND_RUN] = "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC LIMIT 2",
	[SQL_NEWEST_RUN] = "SELECT id FROM runs ORDER BY started_ns DESC, id DESC LIMIT 1",
	[SQL_LIST_RUNS] = RUN_SELECT
	"WHERE ?2 IS NULL OR EXISTS (SELECT 1 FROM run_nodes WHERE run_nodes.run = runs.id AND node GLOB ?2)"
	" ORDER BY started_ns DESC, id DESC LIMIT ?1",
	[SQL_LIST_LIVE] = RUN_SELECT "WHERE state < ?1 ORDER BY started_ns, id",
	[SQL_LIST_PHASES] = "SELECT phase, repetition, attempt, state, skew_uncertainty_ns, spec, note FROM phases"
			    " WHERE run = ?1 ORDER BY repetition, phase",
	[SQL_GET_PHASE] = "SELECT phase, repetition, attempt, state, skew_uncertainty_ns, spec, note FROM phases"
			  " WHERE run = ?1 AND phase = ?2 AND repetition = ?3",
	[SQL_LIST_ATTEMPTS] = "SELECT phase, repetition, attempt, reason FROM attempts WHERE run = ?1"
			      " ORDER BY repetition, phase, attempt",
	[SQL_PUT_DOCUMENT] = "INSERT INTO documents(run, data) VALUES(?1,?2)",
	[SQL_GET_DOCUMENT] = "SELECT data FROM documents WHERE run = ?1",
	[SQL_VIEW] = "BEGIN",
	[SQL_CLEAR_NODES] = "DELETE FROM run_nodes WHERE run = ?1",
	[SQL_PUT_NODES] = "INSERT OR IGNORE INTO run_nodes SELECT ?1, json_extract(value, '$.info.name')"
			  " FROM json_each(CASE WHEN json_valid(?2) THEN ?2 ELSE '{}' END, '$.members')"
			  " WHERE json_extract(value, '$.info.name') IS NOT NULL",
	[SQL_ADD_TAG] = "INSERT OR IGNORE INTO tags(run, tag) VALUES(?1, ?2)",
	[SQL_REMOVE_TAG] = "DELETE FROM tags WHERE run = ?1 AND tag = ?2",
	[SQL_SET_NOTE] = "UPDATE runs SET note = nullif(?2, '') WHERE id = ?1",
	[SQL_GET_LABELS] = "SELECT tag FROM tags WHERE run = ?1 ORDER BY tag",
	[SQL_NOTE_REMOVED] = "INSERT OR IGNORE INTO removed(run) VALUES(?1)",
	[SQL_DELETE_RUN] = "DELETE FROM runs WHERE id = ?1 AND state >= ?2",
	[SQL_DELETE_PHASES] = "DELETE FROM phases WHERE run = ?1",
	[SQL_DELETE_ATTEMPTS] = "DELETE FROM attempts WHERE run = ?1",
	[SQL_DELETE_DOCUMENT] = "DELETE FROM documents WHERE run = ?1",
	[SQL_DELETE_TAGS] = "DELETE FROM tags WHERE run = ?1",
	[SQL_FIND_REMOVED] = "SELECT run FROM removed LIMIT 1",
	[SQL_DELETE_RESULTS] = "DELETE FROM results WHERE rowid IN (SELECT rowid FROM results WHERE run = ?1 LIMIT ?2)",
	[SQL_FORGET_REMOVED] = "DELETE FROM removed WHERE run = ?1",
	[SQL_EXPIRED] = "SELECT id, added_ns FROM runs WHERE state >= ?1"
			" AND NOT EXISTS (SELECT 1 FROM tags WHERE tags.run = runs.id AND tag = ?2)"
			" ORDER BY added_ns DESC, id DESC",
};

bool
store_may_recover(const struct store *s)
{
	return s->may_recover;
}

enum ls_rc
store_fail(struct store *s, const char *what, struct ls_err *err)
{
	/* CANTOPEN: the journal's file cannot be made on a disk that is full or read-only. */
	static const int passing[] = { SQLITE_FULL, SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_BUSY,
		SQLITE_LOCKED };
	int code = sqlite3_errcode(s->db) & 0xff;

	s->may_recover = false;
	for (size_t i = 0; i < ARRAY_LEN(passing); i++)
		s->may_recover = s->may_recover || passing[i] == code;
	return ls_err_set(err, LS_E_STORE, "store %s: %s: %s", s->path, what, sqlite3_errmsg(s->db));
}

enum ls_rc
store_stmt(struct store *s, enum store_sql which, sqlite3_stmt **out, struct ls_err *err)
{
	if (s->stmts[which] == NULL &&
	    sqlite3_prepare_v3(s->db, sql_texts[which], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[which], NULL) !=
		SQLITE_OK)
		return store_fail(s, "prepare", err);
	sqlite3_reset(s->stmts[which]);
	sqlite3_clear_bindings(s->stmts[which]);
	*out = s->stmts[which];
	return LS_OK;
}

enum ls_rc
store_step(struct store *s, sqlite3_stmt *stmt, const char *what, struct ls_err *err)
{
	enum ls_rc rc = sqlite3_step(stmt) == SQLITE_DONE ? LS_OK : store_fail(s, what, err);

	sqlite3_reset(stmt);
	return rc;
}

enum ls_rc
store_begin(struct store *s, struct ls_err *err)
{
	sqlite3_stmt *stmt = NULL;
	enum ls_rc rc = store_stmt(s, SQL_BEGIN, &stmt, err);

	return rc == LS_OK ? store_step(s, stmt, "begin", err) : rc;
}

enum ls_rc
store_end(struct store *s, enum ls_rc rc, struct ls_err *err)
{
	sqlite3_stmt *stmt = NULL;

	if (rc == LS_OK)
		rc = store_stmt(s, SQL_COMMIT, &stmt, err);
	if (rc == LS_OK)
		rc = store_step(s, stmt, "commit", err);
	if (rc != LS_OK && sqlite3_get_autocommit(s->db) == 0)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

enum ls_rc
store_view_begin(struct store *s, struct ls_err *err)
{
	sqlite3_stmt *stmt = NULL;
	enum ls_rc rc = store_stmt(s, SQL_VIEW, &stmt, err);

	return rc == LS_OK ? store_step(s, stmt, "begin", err) : rc;
}

void
store_view_end(struct store *s)
{
	if (sqlite3_get_autocommit(s->db) == 0)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

void
store_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	if (text == NULL)
		sqlite3_bind_null(stmt, at);
	else
		sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

void
store_bind_u64(sqlite3_stmt *stmt, int at, uint64_t value)
{
	sqlite3_bind_int64(stmt, at, (sqlite3_int64)value);
}

void
store_bind_i64_or_null(sqlite3_stmt *stmt, int at, int64_t value)
{
	if (value == LS_UNKNOWN_I64)
		sqlite3_bind_null(stmt, at);
	else
		sqlite3_bind_int64(stmt, at, value);
}

char *
store_column_text(sqlite3_stmt *stmt, int at)
{
	return ls_strdup((const char *)sqlite3_column_text(stmt, at));
}

uint64_t
store_column_u64(sqlite3_stmt *stmt, int at)
{
	return (uint64_t)sqlite3_column_int64(stmt, at);
}

int64_t
store_column_i64_or_null(sqlite3_stmt *stmt, int at)
{
	return sqlite3_column_type(stmt, at) == SQLITE_NULL ? LS_UNKNOWN_I64 : sqlite3_column_int64(stmt, at);
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

static enum ls_rc
lock_refused(int fd, const char *dir, struct ls_err *err)
{
	char pid[32] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	return ls_err_set(
	    err, LS_E_REFUSED, "store %s: in use by another lockstepd (pid %s)", dir, pid[0] ? pid : "unknown");
}

/* WAL does not keep a second daemon out: an flock of our own does. */
static enum ls_rc
take_lock(const char *dir, int *out_fd, struct ls_err *err)
{
	char *path = ls_asprintf("%s/lock", dir);
	char pid[32];
	enum ls_rc rc = LS_OK;
	int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0) {
		rc = ls_err_sys(err, errno, "store %s: lock", dir);
		goto out;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		rc = errno == EWOULDBLOCK ? lock_refused(fd, dir, err) : ls_err_sys(err, errno, "store %s: flock", dir);
		goto out;
	}
	if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n) {
		rc = ls_err_sys(err, errno, "store %s: lock", dir);
		goto out;
	}
	*out_fd = fd;
	fd = -1;
out:
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

static enum ls_rc
open_db(struct store *s, enum store_mode mode, struct ls_err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == STORE_WRITER ? SQLITE_OPEN_CREATE : 0);
	const char *pragmas = mode == STORE_WRITER
	    ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF"
	    : "PRAGMA query_only=1";

	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
		return ls_err_set(err, LS_E_STORE, "store %s: open: %s", s->path,
		    s->db != NULL ? sqlite3_errmsg(s->db) : "out of memory");
	/* A writer is tried again by who writes (insist.h), and says so; a reader just waits. */
	sqlite3_busy_timeout(s->db, mode == STORE_WRITER ? WRITER_BUSY_MS : READER_BUSY_MS);
	if (sqlite3_exec(s->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(s, "set up", err);
	return mode == STORE_WRITER ? schema_migrate(s->db, s->path, err) : LS_OK;
}

enum ls_rc
store_open(const char *dir, enum store_mode mode, struct store **out, struct ls_err *err)
{
	struct store *s = ls_calloc(1, sizeof(*s));
	enum ls_rc rc = LS_OK;

	s->lock_fd = -1;
	s->path = ls_asprintf("%s/lockstep.db", dir);
	if (mode == STORE_WRITER) {
		if (mkdir(dir, 0700) != 0 && errno != EEXIST)
			rc = ls_err_sys(err, errno, "store %s: mkdir", dir);
		if (rc == LS_OK)
			rc = take_lock(dir, &s->lock_fd, err);
	}
	if (rc == LS_OK)
		rc = open_db(s, mode, err);
	if (rc != LS_OK) {
		store_close(s);
		return rc;
	}
	*out = s;
	return LS_OK;
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(s->stmts[i]);
	sqlite3_close(s->db);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s->path);
	free(s);
}

const char *
store_library(void)
{
	return sqlite3_libversion();
}
