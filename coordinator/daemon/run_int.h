/*
 * A run's innards, shared by run*.c, check.c and watch.c.
 */
#ifndef LS_COORDINATOR_DAEMON_RUN_INT_H
#define LS_COORDINATOR_DAEMON_RUN_INT_H

#include "coordinator/daemon/barrier.h"
#include "coordinator/daemon/run.h"
#include "coordinator/daemon/run_fsm.h"
#include "coordinator/daemon/start_clock.h"
#include "coordinator/daemon/steady.h"
#include "coordinator/daemon/store/records.h"

#define RUN_ID_BYTES   32
#define RUN_QUEUED_MAX 16 /* events raised while one is being handled */
#define RUN_NO_VERDICT RUN_QUEUED

/* A node of a run. Its number is its place in run->members and never changes. */
struct member {
	struct run *run;
	size_t index;
	struct node *node;
	struct run_member record; /* what the store keeps: info, token, lost */
	struct loop_timer *loss;  /* grace time of a connection that dropped */
	char away_why[160];
	struct ls_mono heard; /* when its connection dropped: the last that was heard of it; 0: it has not */
	uint64_t workers;     /* in the present phase */

	bool prepared;  /* record.info.facts.volume is filled */
	char *refused;  /* why it refused, owned, or NULL */
	char *blind_to; /* names of the nodes whose tokens it does not see, owned, or NULL */
	bool verified;  /* it has answered verify-volume */
	enum lock_outcome fcntl_lock, flock;

	struct start_clock clock; /* at the instant of the present phase */
	struct live_node live;    /* last sample of this phase */
	bool live_known;
	uint64_t last_done;  /* bytes + ops at the last sample that moved */
	int64_t beat_age_ns; /* of o2cb's heartbeat there, as it said last; 0: never */
	bool stall_told;     /* operators know that workers stand still */

	bool failed;       /* in the present phase */
	char *failed_text; /* owned, or NULL */
};

struct run {
	struct daemon *daemon;
	char id[RUN_ID_BYTES];
	struct job job;
	char *job_text; /* JSON, made once */
	bool job_saved, nodes_changed, warnings_changed;
	bool check_only;
	int64_t wait_ns;
	int64_t started_ns;     /* wall clock */
	struct ls_mono started; /* 0 after a restart */
	int64_t duration_ns;

	enum run_stage stage;
	enum run_state verdict; /* RUN_NO_VERDICT until it is known how the run ends */
	char *reason;
	bool interrupted; /* taken up after a restart of lockstepd */
	enum run_event resume_event;

	int events[RUN_QUEUED_MAX];
	size_t event_count;
	bool handling;
	uint64_t stale; /* messages and timers dropped */

	struct member *members;
	size_t member_count;
	struct tally answers; /* to what the present stage asked */

	uint64_t phase, repetition, attempt;
	uint64_t phases_done;
	bool redo;
	bool committed; /* the present phase began: it has results to collect */
	struct barrier barrier;
	struct tally received, stored;
	struct steady_watch steady; /* of a phase that ends once it is steady */
	struct steady *steady_told; /* what its nodes were told to end for, owned, or NULL */
	char void_reason[320];
	bool void_by_time;

	struct ls_mono stage_since, progress_at; /* progress: counters moved, or a result came */
	struct ls_mono rest_until;               /* the phase's pause; no clock is measured before */
	struct ls_mono fsynced_saved;            /* run_recovery.c: when what nodes said was written last */
	bool arm_stored;                         /* the present attempt is in the store: arm has been sent, or may be */
	struct loop_timer *rest, *deadline, *live;
	char **warnings;
	size_t warning_count;
	struct session **watchers;
	size_t watcher_count;
	bool watched_end; /* the end was told */
	bool store_told;  /* that writes to the store wait */
	bool wait_told;   /* in this stage: who lets the others wait */

	struct store_phase over; /* a phase that is over, for the next write; run NULL: none */
	bool kept;               /* it is in the store, or need not be */
	run_kept_fn on_kept;     /* NULL: nobody waits for that */
	uint64_t submitter;      /* the session to which that is told */
	size_t pending;          /* writes and reads under way that point here */
	size_t lines_pending;    /* of these, lines about phases that are over */
	char *held_line;         /* what is told after them, owned, or NULL */
	char *waits_for;         /* what was told last of nodes that it waits for, owned, or NULL */
	struct run *next;
};

/* --- run.c ----------------------------------------------------------------------------------------------------------- */

/* Handles event (and what follows from it) by the table. */
void run_raise(struct run *run, enum run_event event);

/* How the run will end; the first word counts. */
void run_decide(struct run *run, enum run_state verdict, const char *fmt, ...) LS_PRINTF(3, 4);

/* Ends the run when that sample of member i is beyond what the job's abort_if has. */
void run_abort_check(struct run *run, size_t i, const struct live_node *live);

/* One more thing that limits the trust in the run. */
void run_warn(struct run *run, const char *fmt, ...) LS_PRINTF(2, 3);

struct run *run_new(struct daemon *d, const char *id);
void run_set_members(struct run *run, size_t count); /* makes members and tallies */
void run_drop_members(struct run *run);
void run_add(struct daemon *d, struct run *run); /* at the end of the queue */

/* The run has ended and nothing points to it any more: tells watchers and frees it. */
void run_release(struct run *run);

/* The present phase. */
const struct phase *run_phase(const struct run *run);
uint64_t run_phases_total(const struct run *run);

bool run_epoch_is(const struct run *run, const struct epoch *e);
struct epoch run_epoch(const struct run *run); /* borrows the id: never ended */

void run_send(struct run *run, size_t i, enum msg_type type, const void *body);

/* The same message to all that are not lost, encoded once. */
void run_send_all(struct run *run, enum msg_type type, const void *body);

/* Names of those who have not answered, "n1, n3" or "n1, n2 and 14 more"; returns buf. */
const char *run_missing(const struct run *run, const struct tally *t, char *buf, size_t len);

/* wanted[i] = not lost; heap. */
bool *run_present(const struct run *run);

/* One sentence from an io_error: "node n2: /path: pwrite at 4096: No space left on device"; returns buf. */
const char *run_error_text(const struct member *m, const struct io_error *e, char *buf, size_t len);

void run_set_deadline(struct run *run, int64_t ns);

/* A member that is given up. */
void run_lose(struct run *run, size_t i);

/* --- run_save.c -------------------------------------------------------------------------------------------------------- */

/* Writes the run's row, and the attempt (reason not NULL) or the phase that is over. Returns at once. */
void run_save(struct run *run);
void run_save_attempt(struct run *run, const char *reason);

/* The same, and arm follows once it is stored: a node cannot go back to a phase before that which a restarted coordinator knows. */
void run_save_then_arm(struct run *run);
void run_on_arm_stored(struct run *run);
void run_on_kept(struct run *run, const struct ls_err *why); /* queue.c: its first row is stored, or cannot be */

/* A line for people that must not overtake those about phases that are over. */
void run_tell_in_order(struct run *run, const char *text);
void run_save_phase(struct run *run, enum phase_state state); /* goes with the write that follows in this turn */

/* --- run_steady.c: each is harmless in a phase without steady_window -------------------------------------------------- */

void run_steady_begin(struct run *run); /* the start is on */
void run_steady_sample(struct run *run, size_t i, const struct msg_sample *m);
void run_steady_look(struct run *run);           /* once a second: judges, and ends the phase on all nodes */
void run_steady_back(struct run *run, size_t i); /* a node is connected again: it may not know of the end */
void run_steady_forget(struct run *run);

/* What the phase that is over comes to, the caller's; NULL: it was not to become steady. */
struct steady *run_steady_take(struct run *run, enum phase_state state);

/* --- run_check.c ------------------------------------------------------------------------------------------------------- */

/*
 * Looks at what the nodes have told. A check tells each finding to who asked; a run takes warnings over, and is decided as refused
 * with the first finding that failed. Returns the worst level.
 */
enum check_level run_check(struct run *run);

/* The same when the time of a check's stage is over: that a node has not answered is then a finding. */
void run_check_silent(struct run *run, int64_t waited_ns);

/* --- actions: run_prepare.c, run_phase.c, run_end.c ---------------------------------------------------------------------- */

void run_act_wait(struct run *run);
void run_act_assign(struct run *run);
void run_act_verify(struct run *run);
void run_act_lay(struct run *run);
void run_act_arm(struct run *run);
void run_act_go(struct run *run);
void run_act_commit(struct run *run);
void run_act_await(struct run *run);
void run_act_void(struct run *run);
void run_act_retry(struct run *run);
void run_act_collect(struct run *run);
void run_act_next(struct run *run);
void run_act_stop(struct run *run);
void run_act_clean(struct run *run);
void run_act_end(struct run *run);
void run_recount(struct run *run);

void run_send_assign(struct run *run, size_t i);
void run_send_verify(struct run *run, size_t i);
void run_send_arm(struct run *run, size_t i); /* nothing happens before the attempt is in the store */
void run_send_void(struct run *run, size_t i);
void run_send_abort(struct run *run, size_t i);
void run_send_finish(struct run *run, size_t i);
void run_begin_burst(struct run *run, size_t i);

/* The pause before the present phase is over. */
void run_on_rested(struct run *run);

/* How many workers each node has in the present phase. */
void run_set_workers(struct run *run);

/* Of armed nodes as many as may be measured at a time. */
void run_begin_bursts(struct run *run);

/* What it means that the deadline of the present stage passed. */
void run_on_deadline_prepare(struct run *run);
void run_on_deadline_phase(struct run *run);
void run_on_deadline_end(struct run *run);

/* All results stored in state COLLECTING? */
void run_check_results(struct run *run);

/* Why nodes are not there yet, and whether that is final. */
enum gather_result {
	GATHER_READY = 0,
	GATHER_WAIT,    /* a node is missing that may still come */
	GATHER_REFUSED, /* never, whoever comes */
};
enum gather_result run_gather(struct run *run, struct ls_err *err);

/* --- run_restore.c --------------------------------------------------------------------------------------------------------- */

/* RESUMING: are all back that can come back? */
void run_resume_check(struct run *run);

#endif
