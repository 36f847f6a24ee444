/*
 * Inside of run.c, run_act.c and run_phase.c: the parts of one node's run. Included nowhere else.
 */
#ifndef LS_AGENT_DAEMON_RUN_INT_H
#define LS_AGENT_DAEMON_RUN_INT_H

#include "agent/daemon/cleaner.h"
#include "agent/daemon/helper.h"
#include "agent/daemon/run.h"
#include "agent/daemon/run_fsm.h"
#include "agent/daemon/runner_link.h"
#include "agent/daemon/sampler.h"
#include "agent/daemon/stalls.h"
#include "agent/shm/counters.h"
#include "common/base/sink.h"

/* How far the present epoch has got. */
enum attempt_stage {
	ATTEMPT_NONE = 0, /* none, or it is over */
	ATTEMPT_BARRIER,  /* handed to the runner, not committed */
	ATTEMPT_RUNNING,  /* committed, no result yet */
};

struct run {
	struct run_env env;
	struct msg assign_msg;
	const struct msg_assign *assign; /* its body */
	enum node_run_state state;       /* written by run_raise alone */

	struct shm_map *map;
	struct sampler *sampler;
	struct stalls *stalls;
	struct runner *runner; /* NULL: none, or gone */
	struct cleaner *cleaner;
	struct assignment_write *writing; /* the assignment is on its way to the disk */
	char death[1300];                 /* how the runner ended, a sentence */

	struct loop_timer *deadline, *tick, *orphan;
	bool orphan_stopped;

	/* The root helper, where the job wants something of it. */
	struct helper *helper; /* NULL: nothing was asked */
	char *helper_status;   /* what it allows, once asked */
	char *mount_point;     /* of the volume, or NULL */
	bool uncaching;        /* the runner waits for it; in the epoch below */
	struct epoch uncache_epoch;
	bool remounting;  /* the volume may not be mounted just now */
	bool clean_later; /* files are to be removed once it is */

	/* The present epoch. */
	bool has_epoch;
	bool lay_out; /* the last arm asked for the files only */
	struct epoch epoch;
	enum attempt_stage attempt;
	uint32_t workers;
	bool timed;            /* the phase ends by its time */
	bool mixed;            /* it mixes reads and writes, which are told apart */
	bool tells_fsynced;    /* a recovery phase: what is fsynced is told as it goes */
	uint64_t fsynced_told; /* what the present connection has heard of it */
	uint64_t first_rank;
	uint64_t engine_epoch; /* shm_control.armed_epoch */
	struct ls_mono start;
	struct msg pending_arm; /* waits until the attempt before is void */

	/* What was used when the phase began. */
	char *device; /* major:minor of the volume, or NULL */
	bool device_known;
	struct device_io device_before;
	int64_t cpu_before_ns;
	uint64_t net_before;

	/* What an external program said in the present epoch. */
	struct sink tool_out, tool_err;

	/* Live samples. */
	unsigned ticks;
	int64_t tick_ns;
	struct ls_mono sampled;
	uint64_t sampled_bytes, sampled_ops;
	struct live_op sampled_apart[2]; /* reads and writes, where the phase mixes them */

	/* What has been asked. */
	bool abort_asked, finish_asked; /* by the coordinator */
	bool keep_files, quitting;
	char *stop_reason; /* the load was stopped here and not by the coordinator */

	char *last; /* the last state message, repeated after a reconnect */
	size_t last_len;
	uint64_t stale;
};

/* Raises an event with the message it came from (body of its type, or NULL). False: it has no place in this state. */
bool run_raise(struct run *run, enum node_run_event event, const void *body);

/* run_act.c: does what an edge says. */
void run_act(struct run *run, enum node_run_action action, const void *body);

/* run_helper.c: what the root helper must allow before the runner looks at the volume; then the runner is told, or the run refused. */
void run_ask_helper(struct run *run);

/* run.c: the runner's assignment. */
void run_send_assign(struct run *run);

/* Refuses the run, in state NR_STARTING. */
void run_refuse(struct run *run, const char *why);

/* May the volume be mounted anew? True where nobody wants it. Else the run is refused. */
bool run_check_mount(struct run *run, const struct msg_prepared *prepared);

/* The runner wants caches emptied (NULL: not any more, answer at once). */
void run_uncache(struct run *run, const struct msg_uncache *asked, bool wanted);

/* Sends a message to the coordinator and keeps it as the last state message. */
void run_tell(struct run *run, enum msg_type type, const void *body);

/* run_phase.c: from arm to result. Each is harmless when the attempt is not so far. */
void phase_begin_arming(struct run *run, const struct msg_arm *arm);
void phase_note_start(struct run *run, struct ls_mono start); /* go */
void phase_note_usage(struct run *run);                       /* just before the start */
void phase_begin_running(struct run *run);                    /* commit */
void phase_result(struct run *run, const struct msg_phase_done *done, const char *failure);
void phase_tool_output(struct run *run, const struct msg_tool_output *said);
void phase_tick(void *run); /* a loop_fn */
void phase_reconnected(struct run *run);

#endif
