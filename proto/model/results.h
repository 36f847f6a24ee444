/*
 * The results model, generated from results.def, and the names of its states.
 */
#ifndef LS_PROTO_MODEL_RESULTS_H
#define LS_PROTO_MODEL_RESULTS_H

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/stat/hist.h"
#include "proto/model/job.h"
#include "proto/model/phase.h"

enum run_state {
	RUN_QUEUED = 0,
	RUN_PREPARING,
	RUN_ARMING,
	RUN_SETTING,
	RUN_RUNNING,
	RUN_COLLECTING,
	RUN_FINISHING, /* cleaning up on the nodes; the end state is already decided */
	RUN_FINISHED,
	RUN_FAILED,
	RUN_ABORTED,
	RUN_REFUSED, /* before anything was started */
	RUN_STATE_COUNT
};

enum phase_state {
	PHASE_STATE_DONE = 0,
	PHASE_STATE_FAILED,
	PHASE_STATE_INTERRUPTED,
	PHASE_STATE_ABORTED,
	PHASE_STATE_MISMATCH, /* done, but verification found blocks that are not what was written, or a promise was violated */
	PHASE_STATE_COUNT
};

enum mismatch_cause {
	MISMATCH_DAMAGED = 0,
	MISMATCH_MISPLACED,
	MISMATCH_STALE,
	MISMATCH_FOREIGN,
	MISMATCH_BLANK,
};

/* What came of holding a volume to a promise. */
enum promise_outcome {
	OUTCOME_HELD = 0,
	OUTCOME_VIOLATED,
	OUTCOME_NOT_PROMISED, /* and not held */
	OUTCOME_UNTESTED,
	OUTCOME_PREPARED, /* a step in which nothing was looked at */
};

enum node_state { NODE_DONE = 0, NODE_FAILED, NODE_LOST, NODE_IDLE, NODE_STATE_COUNT };

extern const char *const run_state_names[RUN_STATE_COUNT + 1];
extern const char *const phase_state_names[PHASE_STATE_COUNT + 1];
extern const char *const node_state_names[NODE_STATE_COUNT + 1];
extern const char *const mismatch_cause_names[];
extern const char *const promise_outcome_names[];

#include "common/base/field_decl.h"
#include "proto/model/results.def"
#include "common/base/field_undef.h"

#define RESULTS_SERIES_MAX   8192
#define RESULTS_WARNINGS_MAX 1000

/* Is that the last state of a run? */
bool run_state_is_end(enum run_state state);

/* Empties what makes a document long and no figure needs: series, histograms' buckets, workers. */
void results_drop_bulk(struct results *results);

/* The op_result of an operation within by_op: a pointer to the member, so that it can be set. op is in range. */
struct op_result **by_op_slot(struct by_op *by_op, enum op_kind op);
const struct op_result *by_op_get(const struct by_op *by_op, enum op_kind op);

/* Fills buckets, count, sum, min, max and all derived values from a histogram. out is initialised before. */
void latency_from_hist(const struct hist *hist, struct latency *out);

/* Adds the buckets, count, sum, min and max to a histogram. Errors: LS_E_INVALID on a foreign scheme or a bad index. */
enum ls_rc latency_add_to_hist(const struct latency *latency, struct hist *hist, struct ls_err *err) LS_MUST_CHECK;

/*
 * Appends a formatted sentence to a list of warnings. Same text twice is kept once; the last of RESULTS_WARNINGS_MAX, which is what
 * a document may have, says that there were more.
 */
void warnings_add(char ***list, size_t *count, const char *fmt, ...) LS_PRINTF(3, 4);

/* Sentences of nodes tell others by their number in the run: {2}. Puts the names there; a number that no node has stays. */
void results_name_nodes(struct results *results);

#endif
