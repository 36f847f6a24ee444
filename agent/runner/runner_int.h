/*
 * Innards of the runner, shared by runner.c (loop, events), dispatch.c (messages in) and acts.c (what an event leads to).
 */
#ifndef LS_AGENT_RUNNER_RUNNER_INT_H
#define LS_AGENT_RUNNER_RUNNER_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/engine.h"
#include "agent/runner/ext.h"
#include "agent/runner/lifecycle.h"
#include "agent/runner/link.h"
#include "agent/runner/locktest.h"
#include "agent/runner/rundir.h"
#include "agent/runner/spacewatch.h"
#include "agent/runner/task.h"
#include "agent/runner/verify.h"
#include "agent/shm/counters.h"
#include "proto/codec/msg.h"

/* Answers and ends that wait until the workers stand still, in the order in which they are given. */
enum runner_pending {
	PENDING_VOID = 1 << 0,
	PENDING_ABORT = 1 << 1,
	PENDING_FINISH = 1 << 2,
	PENDING_QUIT = 1 << 3, /* no answer: the agent is gone, or we are told to end */
};

/* How far the emptying of caches has come. */
enum runner_emptying {
	EMPTYING_FLUSH = 0, /* the task's thread flushes the volume, and lets go of it before it is unmounted */
	EMPTYING_ASKED,     /* the agent was asked to have the root helper do it */
	EMPTYING_REOPEN,    /* the task's thread opens the run's directory again */
};

/* A call of the engine on the task's thread, its arguments and results. */
struct runner_call {
	struct engine *engine;
	struct rundir *rundir;
	struct spacewatch *space; /* or NULL */
	enum phase_caches caches;
	uint64_t owner; /* whose files the phase works on */
	struct engine_arm arm;
	enum ls_rc rc;
	struct ls_err err;
	struct io_error error; /* initialised while a call is under way or just ended */
	uint64_t engine_epoch;
	int64_t flush_ns;
};

struct runner {
	struct link *link;
	struct shm_map *map;
	struct task *task;
	int signal_fd;
	bool link_closed;

	enum runner_state state;
	unsigned pending; /* enum runner_pending */
	bool keep_files;
	bool ended;         /* leave the loop */
	int status;         /* exit status */
	int64_t quit_by_ns; /* with PENDING_QUIT: when to give up waiting for the workers */

	struct msg assign; /* struct msg_assign; type is MSG_ASSIGN once it came */
	struct volume_facts volume;
	struct host_facts *host;      /* with the volume's facts */
	int lock_fds[LOCKTEST_KINDS]; /* first node, in a check: they keep the locks that others try; or -1 */
	enum lock_outcome locks[LOCKTEST_KINDS];
	struct rundir *rundir;
	struct engine *engine;
	struct ext *ext; /* external programs; used by the engine */
	struct io_error refusal;
	struct verify *verify;

	struct msg arm; /* struct msg_arm of the present or last epoch: the engine borrows the phase */
	uint64_t *node_workers;
	uint64_t *fsynced; /* of the present arm, NULL: it has none */
	bool idle;         /* no worker of ours in this epoch */
	int64_t start_ns;  /* the instant, once told */
	int64_t late_limit_ns;
	enum shm_decision decision;
	struct epoch void_epoch; /* the one that a pending void named */
	struct runner_call call;
	bool remounted; /* since the present arm came */
	enum runner_emptying emptying;
	struct spacewatch *space; /* NULL: nobody wants to know */
	char **left;              /* what cleaning up left */
	size_t left_count;
};

/*
 * Takes the edge for the event: new state, then its action. Without an edge nothing happens and false comes back: from the
 * agent that breaks the protocol.
 */
bool runner_event(struct runner *r, enum runner_event event);

/* What the edge's action does (acts.c). */
void runner_act(struct runner *r, enum runner_action action);

/* Sends; when that fails the agent is as good as gone. */
void runner_send(struct runner *r, enum msg_type type, const void *body);

/* Notes what to answer or do once the workers stand still, and asks them to. */
void runner_stop(struct runner *r, enum runner_pending pending);

/* caches.c: the actions, and what follows when the task or the agent has done its part. */
void runner_empty(struct runner *r);
void runner_unempty(struct runner *r);
void runner_emptying_returned(struct runner *r);
void runner_uncached(struct runner *r, const char *error);

/* Has the arm that is done to be followed by emptying caches? */
bool runner_wants_empty(const struct runner *r);

/* Handles one message (dispatch.c). */
void runner_dispatch(struct runner *r, struct msg *msg);

/* Tells the agent that it broke the protocol, and ends: load stopped, files removed, status 1. */
void runner_protocol_error(struct runner *r, const char *text);

/* Opens, checks and prepares what the assignment names (assign.c). Then the runner has volume, rundir and engine. */
enum ls_rc runner_prepare(struct runner *r, struct ls_err *err) LS_MUST_CHECK;

/* Lets go of the locks that others try. */
void runner_drop_locks(struct runner *r);

/* Finds what an earlier runner of the run left, for removal; notes in r->left what cannot be looked at (assign.c). */
void runner_find_old(struct runner *r);

/* Removes this node's part of the run from the volume, if there is one (assign.c). */
void runner_clean(struct runner *r);

/* The run's id, "" before an assignment. Borrowed. */
const char *runner_run_id(const struct runner *r);

#endif
