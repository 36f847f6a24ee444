/*
 * What aggregate.c and quality.c share: the times of all workers of a phase in one place. Not for others.
 */
#ifndef LS_PROTO_MODEL_AGGREGATE_INT_H
#define LS_PROTO_MODEL_AGGREGATE_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/model/results.h"

/* Gathered over the nodes that count. Times in ns from the phase's planned start, on the coordinator's clock. */
struct span {
	uint64_t nodes;   /* nodes that count */
	uint64_t out;     /* nodes failed or lost */
	uint64_t workers; /* workers with at least one counted operation */
	uint64_t silent;  /* workers without */
	int64_t s0, s1;   /* first and last start; valid when workers > 0 */
	int64_t e0, e1;   /* first and last end */
	int64_t first0;   /* earliest and latest first operation, warm-up included */
	int64_t first1;
	int64_t step_ns;      /* coarsest counter interval; 0 when no node has a series */
	const char *unsteady; /* a node whose series is missing or does not add up; NULL: all are good */
};

/* a - b without overflow. */
int64_t span_between(int64_t a, int64_t b);

/* Did the whole phase last less than AGGREGATE_MIN_STEPS counter steps? Then only each node's own values mean something. */
bool span_is_too_short(const struct span *span);

/* Is the node part of the aggregate? Not when idle, failed or lost. */
bool node_counts(const struct node_result *node);

/* Of two rates the one in the unit that the phase is told in first. */
double phase_rate_in_unit(const struct phase_result *phase, double bytes_per_s, double ops_per_s);

/* What the node of that name did in it; NULL: it does not count there. */
const struct node_result *phase_node_at_work(const struct phase_result *phase, const char *name);

/* Of a phase that mixes reads and writes: sums of both while it is aggregated; then they are forgotten. Nothing for other phases. */
void phase_add_up(struct phase_result *phase);
void phase_keep_apart(struct phase_result *phase);

/* A phase in which a node read blocks that are not what was written is no longer done; the first are named as warnings. */
void phase_judge_verification(struct phase_result *phase);

/* Appends the phase's quality gates that fail to its warnings. */
void phase_add_quality_warnings(struct phase_result *phase, const struct job *job, const struct span *span);

/*
 * Fills aggregate.to_end and, where the phase ends with its work, aggregate.stonewalled. For phases with data; span.workers > 0.
 */
void phase_fill_worker_rates(struct phase_result *phase, const struct span *span);

#endif
