/*
 * The I/O engine: worker threads that do a phase's operations when told the instant. Knows nothing of JSON, messages or the
 * network: a phase description in, counters and histograms out (agent/shm/counters.h).
 *
 * Use, by one thread at a time; engine_stop also while another is in engine_arm or engine_flush:
 *	engine_new -> (engine_arm -> engine_go -> [event] -> engine_left -> engine_flush)* -> engine_free -> engine_clean_*
 * engine_stop may come at any time. An attempt that is void needs no call of its own: engine_stop if it was started, wait until
 * all have left, and the next engine_arm (with redo) puts the files back.
 */
#ifndef LS_AGENT_ENGINE_ENGINE_H
#define LS_AGENT_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/shm/counters.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "proto/model/phase.h"
#include "proto/model/results.h"

struct engine;

/* What an external program has moved since it was let go, as far as that can be seen from outside. */
struct engine_tool_counts {
	uint64_t bytes, ops;
	int64_t cpu_user_ns, cpu_system_ns;
};

enum engine_tool_state { ENGINE_TOOL_RUNS = 0, ENGINE_TOOL_DONE, ENGINE_TOOL_FAILED };

/*
 * External programs for the phases that they do; whoever owns the engine knows how. All calls come from one thread, the phase's only
 * worker.
 */
struct engine_tools {
	/*
	 * Brings the program to the barrier before that phase. Blocks; stopped(stopped_arg) says when to give up. It may be there
	 * already. Errors: any; nothing of it runs any more then.
	 */
	enum ls_rc (*arm)(void *arg, const struct phase *spec, bool (*stopped)(void *stopped_arg), void *stopped_arg,
	    struct ls_err *err);
	/* Lets it go. */
	enum ls_rc (*release)(void *arg, struct ls_err *err);
	/*
	 * Waits until that instant at most. counts is filled in any case; end_ns with ENGINE_TOOL_DONE: when the phase ended, as
	 * far as that can be seen; err with ENGINE_TOOL_FAILED.
	 */
	enum engine_tool_state (*poll)(
	    void *arg, int64_t until_ns, struct engine_tool_counts *counts, int64_t *end_ns, struct ls_err *err);
	/* Ends it and all that it has started. Harmless when nothing runs. */
	void (*stop)(void *arg);
};

struct engine_config {
	int run_dir_fd;      /* the run's own directory, borrowed for the engine's life: every path is relative to it */
	const char *run_dir; /* its path, for messages only */
	uint64_t node_index, node_count;
	uint64_t seed;                    /* of data and random orders; the same on all nodes of a run */
	int64_t spin_ns;                  /* before the instant, workers stop sleeping and yield in a loop */
	struct shm_map *map;              /* borrowed */
	uint64_t dio_align;               /* alignment that direct I/O needs on this volume, 0 if it has none */
	const struct engine_tools *tools; /* NULL: none; borrowed */
	void *tools_arg;
};

struct engine_arm {
	const struct phase *spec;
	const uint64_t *node_workers; /* [node_count]: workers on each node, 0: idle there */
	bool redo;                    /* files go back to what they were before the phase */
	uint64_t
	    tag; /* of this attempt at this phase, the same on all nodes and never again in the run: cluster phases name files by it */
	const uint64_t *fsynced; /* [node_count], recovery: records of each node that must be there; NULL: none */
	bool lay_out;            /* only makes this node's files for the node that will work on them (phase_user) */
};

/* First failures of a phase, for the report. */
#define ENGINE_ERRORS_MAX 16

/* The engine of one run, without threads yet. Texts of config are copied, its map is borrowed. Errors: LS_E_SYS. */
enum ls_rc engine_new(const struct engine_config *config, struct engine **out, struct ls_err *err) LS_MUST_CHECK;
void engine_free(struct engine *e);

/* Can that back end be used on this machine? LS_OK, or LS_E_REFUSED with the reason (io_uring switched off ...). */
enum ls_rc engine_supports(enum phase_engine engine, struct ls_err *err) LS_MUST_CHECK;

/*
 * Everything slow: threads exist, files are laid out as the phase needs them and open, buffers filled, rings registered,
 * workers parked. Blocks. Returns LS_OK with all workers parked (none for an idle node), or the first failure, in which case
 * no worker waits; *out_error (initialised by the caller) then names worker, call, path, errno. out_epoch: number for go.
 * The epoch is published in shm_control.armed_epoch at the beginning, so that a stop_epoch ends a long laying out, too.
 * With lay_out no worker is parked, and the arm itself follows once all nodes have laid out. May follow an arm without a go between. Errors: LS_E_STATE while workers of the last go have not left.
 */
enum ls_rc engine_arm(struct engine *e, const struct engine_arm *arm, uint64_t *out_epoch, struct io_error *out_error,
    struct ls_err *err) LS_MUST_CHECK;

/* Closes what arm has opened; the files stay as they are, and the next arm finds them. Blocks. Not between go and left. */
void engine_disarm(struct engine *e);

/* Tells the parked workers the instant. They start there if shm_control.commit_epoch has reached the epoch. */
void engine_go(struct engine *e, struct ls_mono start, int64_t late_limit_ns);

/* An eventfd, readable when all workers have left the phase (ended, failed, missed or stopped). Borrowed. */
int engine_event_fd(const struct engine *e);

/*
 * Have all left? Consumes the event. decision: what the node decided at the instant. A node without workers has left at once,
 * with SHM_STARTED.
 */
bool engine_left(struct engine *e, enum shm_decision *decision);

/*
 * The untimed flush of what this node wrote in the phase; its time. Errors are added to the phase's errors. Closes the phase's
 * files as well. Blocks.
 */
int64_t engine_flush(struct engine *e);

/* Failures of the phase: count of all, and the first ENGINE_ERRORS_MAX of them, borrowed until the next arm. */
uint64_t engine_errors(const struct engine *e, const struct io_error **out, size_t *out_count);

/* The first blocks of the phase that were not what had been written, borrowed until the next arm; returns how many. */
size_t engine_mismatches(const struct engine *e, const struct mismatch **out);

/* What this node did and saw in a phase of the group PHASE_CLUSTER, borrowed until the next arm; NULL: it is none, or idle here. */
const struct cluster_node *engine_cluster(const struct engine *e);

/*
 * Asks the workers of the armed epoch to leave after their present operation, or to end laying out. They still count as left only
 * when they have. Any thread, also while another is in engine_arm.
 */
void engine_stop(struct engine *e);

/* Were the workers of that epoch asked to leave? Any thread. */
bool engine_stopped(const struct engine *e, uint64_t epoch);

/*
 * Cleaning up; needs no engine (clean-only runs), and none may have files open. Removes n<node_index>/ or shared/ in the
 * run's directory and everything in it that an engine makes. left: paths that stayed, relative to the run's directory, and why
 * ("n0/data.0: Permission denied"), appended to a list that the caller owns. A directory that is not there is clean.
 */
void engine_clean_node_dir(int run_dir_fd, uint64_t node_index, char ***left, size_t *left_count);
void engine_clean_shared_dir(int run_dir_fd, char ***left, size_t *left_count);

#endif
