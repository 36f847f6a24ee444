/*
 * What the coordinator keeps: runs, the results of their nodes, void attempts, phases. SQLite in WAL mode with synchronous=FULL:
 * when a function that writes has returned LS_OK, it is on the disk. The one door to sqlite3.
 *
 * A struct store is used by one thread at a time. A second one on the same directory, opened as a reader, may be used by another
 * thread. Nothing here knows of the loop.
 */
#ifndef LS_COORDINATOR_DAEMON_STORE_STORE_H
#define LS_COORDINATOR_DAEMON_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "proto/model/results.h"

struct store;

enum store_mode {
	STORE_WRITER = 0, /* makes the directory (mode 0700) and the tables; one process at a time */
	STORE_READER,     /* cannot write; the tables must be there */
};

/*
 * Opens dir/lockstep.db. A writer holds a lock on dir/lock as long as it is open. Errors: LS_E_REFUSED when another process
 * holds it (its pid is named), LS_E_SYS, LS_E_STORE.
 */
enum ls_rc store_open(const char *dir, enum store_mode mode, struct store **out, struct ls_err *err) LS_MUST_CHECK;
void store_close(struct store *store); /* NULL-safe */

/*
 * A run. Strings are owned (heap); job, nodes and warnings are JSON texts of job, run_members and run_notes, and NULL when written
 * leaves what is there.
 */
struct store_run {
	char *id, *name;
	enum run_state state;
	enum run_state verdict; /* while state is RUN_FINISHING: what it will end as */
	char *reason;           /* or NULL */
	int64_t started_ns;     /* wall clock */
	int64_t duration_ns;    /* LS_UNKNOWN_I64 while it has not ended */
	char *boot_id;          /* of the coordinator's machine when the row was last written; or NULL */
	uint64_t phase, repetition, attempt;
	bool phase_committed;               /* the phase's start was on */
	uint64_t phases_total, phases_done; /* done is counted from the phases kept; ignored when written */
	uint64_t node_count;
	char *job, *nodes, *warnings;

	/* when the run came into this store; 0 when written: started_ns. What is there stays. */
	int64_t added_ns;

	/* Read only: the job's path ("" if not known), its tags ("a,b" in their order, or NULL), its note (or NULL). See labels.h. */
	char *path, *tags, *note;
};

struct store_attempt {
	char *run;
	uint64_t phase, repetition, attempt;
	char *reason;
};

/* A phase that came to an end. spec: JSON of the phase; note: JSON of a phase_note. */
struct store_phase {
	char *run;
	uint64_t phase, repetition, attempt;
	enum phase_state state;
	int64_t skew_uncertainty_ns; /* LS_UNKNOWN_I64 if not known */
	char *spec, *note;
};

/*
 * After LS_E_STORE from this store: may another attempt do better? So it is when the disk is full, read-only or gives errors, or when
 * another process locks the database.
 */
bool store_may_recover(const struct store *store);

/* Free what a row owns, not the row itself. */
void store_run_fini(struct store_run *run);
void store_attempt_fini(struct store_attempt *attempt);
void store_phase_fini(struct store_phase *phase);

/*
 * Writes up to one of each, in one transaction; NULL: none. Rows with the same key are replaced, except that an attempt once
 * written stays. Errors: LS_E_STORE, and then nothing was written.
 */
enum ls_rc store_save(struct store *store, const struct store_run *run, const struct store_attempt *attempt,
    const struct store_phase *phase, struct ls_err *err) LS_MUST_CHECK;

/* A piece of a node's result, cut anywhere. Borrowed strings. */
struct store_part {
	const char *run, *node;
	uint64_t phase, repetition, attempt;
	uint64_t part, parts;
	const char *data;
	/* out: LS_OK: it is in the store. LS_E_EXISTS: other bytes, or another count, are there. LS_E_NOTFOUND: no such run */
	enum ls_rc rc;
	bool complete; /* out: all parts of that result are there */
};

/*
 * Puts count parts, one transaction for all. A part that conflicts gets its own rc and does not hinder the others; one that is
 * there already with the same bytes is fine. Errors: LS_E_STORE: none of them was written.
 */
enum ls_rc store_put_parts(
    struct store *store, struct store_part *parts, size_t count, struct ls_err *err) LS_MUST_CHECK;

/*
 * The text of a node's result, all parts joined; heap, the caller frees it. Errors: LS_E_NOTFOUND when parts are missing,
 * LS_E_STORE.
 */
enum ls_rc store_get_result(struct store *store, const char *run, uint64_t phase, uint64_t repetition, uint64_t attempt,
    const char *node, char **out, size_t *out_len, struct ls_err *err) LS_MUST_CHECK;

/*
 * A run that came whole: its row, its results document and its labels (checked already; NULL: none), in one transaction. *known: a
 * document of that id is there already, and nothing was written. Errors: LS_E_STORE, LS_E_EXISTS when the id is that of a run that was
 * measured here.
 */
struct label_change;
enum ls_rc store_put_document(struct store *store, const struct store_run *run, const char *text,
    const struct label_change *labels, bool *known, struct ls_err *err) LS_MUST_CHECK;

/* Its document; heap, the caller frees it. Errors: LS_E_NOTFOUND: the run has none, its results stand in parts; LS_E_STORE. */
enum ls_rc store_get_document(struct store *store, const char *run, char **out, struct ls_err *err) LS_MUST_CHECK;

/* Row of a run; ended with store_run_fini. Errors: LS_E_NOTFOUND, LS_E_STORE. */
enum ls_rc store_get_run(struct store *store, const char *id, struct store_run *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * The run whose id is, or alone begins with, prefix; NULL: the newest. id: heap. Errors: LS_E_NOTFOUND, LS_E_INVALID when several
 * begin so, LS_E_STORE.
 */
enum ls_rc store_find_run(struct store *store, const char *prefix, char **id, struct ls_err *err) LS_MUST_CHECK;

/* Which runs of a list. */
struct store_wanted {
	uint64_t limit;   /* 0: all */
	bool only_live;   /* those that have not ended; the others do not apply then */
	bool with_texts;  /* false: job, nodes and warnings stay NULL */
	const char *node; /* only runs with a node of that name, * and ? for any; NULL: all */
};

/* Runs, the newest first (only_live: the oldest first). *out: heap, each ended with store_run_fini. */
enum ls_rc store_list_runs(struct store *store, const struct store_wanted *wanted, struct store_run **out,
    size_t *out_count, struct ls_err *err) LS_MUST_CHECK;

/*
 * What is read between the two is of one moment, whatever the writer does meanwhile: a run that is removed is seen whole or not at
 * all. Short: the writer's log grows as long. Errors: LS_E_STORE.
 */
enum ls_rc store_view_begin(struct store *store, struct ls_err *err) LS_MUST_CHECK;
void store_view_end(struct store *store);

/* All phases of a run in the order they ran, and its void attempts. *out: heap, each ended with its fini. */
enum ls_rc store_list_phases(struct store *store, const char *run, struct store_phase **out, size_t *out_count,
    struct ls_err *err) LS_MUST_CHECK;
enum ls_rc store_list_attempts(struct store *store, const char *run, struct store_attempt **out, size_t *out_count,
    struct ls_err *err) LS_MUST_CHECK;

/* One phase alone: a run may have thousands. Ended with store_phase_fini. Errors: LS_E_NOTFOUND, LS_E_STORE. */
enum ls_rc store_get_phase(struct store *store, const char *run, uint64_t phase, uint64_t repetition,
    struct store_phase *out, struct ls_err *err) LS_MUST_CHECK;

/* Version of SQLite that is in use, as it says itself: "3.40.1". Static text. */
const char *store_library(void);

#endif
