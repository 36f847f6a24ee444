/*
 * A run: from the queue to its end. This header is what sessions and handlers call; the innards stand in run_int.h.
 *
 * Agents' messages arrive here as "what node i says". Those about another attempt, or that nobody waits for, are counted and dropped.
 */
#ifndef LS_COORDINATOR_DAEMON_RUN_H
#define LS_COORDINATOR_DAEMON_RUN_H

#include <stdbool.h>

#include "common/base/err.h"
#include "coordinator/daemon/session.h"
#include "proto/codec/msg.h"

struct run;

const char *run_id(const struct run *run); /* borrowed */

/* --- operators ----------------------------------------------------------------------------------------------------- */

/*
 * Takes the job over (it is left empty), gives it an id and puts it into the queue. Errors:
 * LS_E_INVALID, LS_E_RANGE (job_validate), LS_E_LIMIT (queue full); the job is then still the caller's.
 */
enum ls_rc run_submit(struct daemon *d, struct job *job, int64_t wait_ns, bool check_only, struct run **out,
    struct ls_err *err) LS_MUST_CHECK;

/*
 * Calls fn once it is in the store (why NULL) or cannot be: until then it has no turn, and nobody is told that it was accepted, as a
 * coordinator that is restarted would know nothing of it. For a check, which is not kept, at once.
 */
typedef void (*run_kept_fn)(struct daemon *d, const struct run *run, uint64_t session, const struct ls_err *why);
void run_when_kept(struct run *run, run_kept_fn fn, uint64_t session);

/* Runs queued or active before this one. */
size_t run_ahead(const struct run *run);

/* The run in memory whose id is, or alone begins with, prefix; NULL: the active one. NULL when there is none. */
struct run *run_find(struct daemon *d, const char *prefix);

/* Its state as operators see it, where it stands, why it ended (NULL: not known). Borrowed. */
enum run_state run_state(const struct run *run);
const char *run_reason(const struct run *run);

/* Ends it because an operator wants so. */
void run_cancel(struct run *run, const char *reason);

/* Events of the run go to s until the run ends; quiet: only its end. At the end `done` follows. */
void run_watch(struct run *run, struct session *s, bool quiet);
void run_unwatch(struct session *s); /* harmless when s watches nothing */

/* Gives a turn to the first in the queue if none is active. */
void run_queue_next(struct daemon *d);

/* A node came or told its facts: a run may wait for it. */
void run_nodes_changed(struct daemon *d);

/* Takes up the runs that had not ended when lockstepd did. Errors: LS_E_STORE. */
enum ls_rc run_restore_all(struct daemon *d, struct ls_err *err) LS_MUST_CHECK;

/* Frees all, ended or not; what is in the store stays. */
void run_free_all(struct daemon *d);

/* --- what node i of the run says or does ----------------------------------------------------------------------------- */

/* What is stale (another epoch) or not due in the run's state is counted and dropped; bodies are borrowed unless said. */
void run_on_away(struct run *run, size_t i, const char *why);
void run_on_back(struct run *run, size_t i, bool in_run);
void run_on_prepared(struct run *run, size_t i, struct msg_prepared *m);
void run_on_refused(struct run *run, size_t i, const struct msg_refused *m);
void run_on_verified(struct run *run, size_t i, const struct msg_volume_verified *m);
void run_on_armed(struct run *run, size_t i, const struct msg_armed *m);
void run_on_measured(struct run *run, size_t i);             /* a burst of pings is done */
void run_on_beat(struct run *run, size_t i, int64_t age_ns); /* o2cb's heartbeat there is so old */
void run_on_clock(struct run *run, size_t i); /* one more exchange: a better estimate of the start, perhaps */
void run_on_failed(struct run *run, size_t i, const struct msg_failed *m);
void run_on_set(struct run *run, size_t i, const struct epoch *e);
void run_on_missed(struct run *run, size_t i, const struct msg_missed *m);
void run_on_voided(struct run *run, size_t i, const struct epoch *e);
void run_on_sample(struct run *run, size_t i, struct msg_sample *m); /* may take m->live */
void run_on_fsynced(struct run *run, size_t i, const struct msg_fsynced *m);
void run_on_aborted(struct run *run, size_t i);
void run_on_finished(struct run *run, size_t i, const struct msg_finished *m);

/* The last part of a result came in; all parts of one are in the store (its state and first error, or NULL). */
void run_on_received(struct run *run, size_t i, const struct epoch *e);
void run_on_stored(struct run *run, size_t i, const struct epoch *e, enum node_state state, const char *error);

/* A write into the store failed. */
void run_on_store_failed(struct run *run, const struct ls_err *err);

#endif
