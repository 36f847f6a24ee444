/*
 * From what each node did to what all did together: rates, overlap, fairness, merged latency, start skew, warnings.
 * Pure functions of the results model. Formulas: ARCHITECTURE.md, "Aggregates"; S0, S1, E0, E1 are first and last start
 * and first and last end over all workers.
 */
#ifndef LS_PROTO_MODEL_AGGREGATE_H
#define LS_PROTO_MODEL_AGGREGATE_H

#include "common/base/err.h"
#include "proto/model/results.h"

/* Phases that do as bonnie++ does have no rate where they took less than this. */
#define AGGREGATE_BONNIE_MIN_NS (NS_PER_S / 2)

/* Fewer counter steps than this in the all-active span and its rate is null. */
#define AGGREGATE_MIN_STEPS 10

/*
 * Derives the rates and latencies of one node from its counts: bytes_per_s, ops_per_s, percentiles, latency_ns.
 * n/a (NAN) when it did nothing or its time is zero.
 */
void node_result_derive(struct node_result *node);

/*
 * Fills phase->aggregate, start_skew_ns (start_skew_uncertainty_ns is the caller's, who knows the clocks: set it before, so
 * that its share of the phase can be judged), duration_ns and appends warnings, from phase->nodes, phase->spec and the job.
 * Derives each node's own rates and latencies too. May be called again: the aggregate is made anew. Nodes that are idle do not
 * count; lost and failed nodes'
 * numbers are shown but make the aggregates null with a warning, except under on_node_loss continue, where the rest is
 * aggregated and the warning says so. Errors: LS_E_INVALID when a node's histogram is malformed.
 */
enum ls_rc phase_result_aggregate(struct phase_result *phase, const struct job *job, struct ls_err *err) LS_MUST_CHECK;

/*
 * Did the phase do reads and writes side by side, which are never added up? Then totals, rates and series of its nodes, of their workers and
 * of all together are null or empty, and by_op (of workers: read and write) has them apart. What external programs and imports tell is theirs.
 */
bool phase_result_mixes(const struct phase_result *phase);

/*
 * Bytes and operations done by a node until t_ns after the planned start, interpolated linearly in its series; the whole
 * when t_ns is at or past its end.
 */
void node_result_done_at(const struct node_result *node, int64_t t_ns, double *out_bytes, double *out_ops);

/* The same from one of a node's series, which may be that of one operation: what it tells, 0 where it is empty. */
void node_series_done_at(
    const struct node_result *node, const struct series *series, int64_t t_ns, double *out_bytes, double *out_ops);

/* What a node, or a worker, did in all; where that is not told because it mixes reads and writes, both: only for shares, and for forms of tools that add. */
void node_result_work(const struct node_result *node, uint64_t *out_bytes, uint64_t *out_ops);
void worker_result_work(const struct worker_result *worker, uint64_t *out_bytes, uint64_t *out_ops);

/*
 * What limits the trust in the whole run, appended to results->run.warnings: nodes with different lockstep, kernel, file
 * system or mount options; all nodes on one machine; a file set smaller than twice the memory without direct I/O; a volume
 * whose cluster heartbeat nobody watched. Call it once all phases and node facts are in; twice does no harm.
 */
void results_add_quality_warnings(struct results *results);

/*
 * Sets aggregate.scaling of each phase that a node of several did alone in the same repetition, too: same parameters, no other node at
 * work. Figures of phases that are not whole are not used; the efficiencies are null where a node lacks its phase alone. Phases that mix
 * reads and writes have none and are told why. Call it once all phases are aggregated; a second call makes it anew. Formulas:
 * ARCHITECTURE.md, "Aggregates".
 */
void results_add_scaling(struct results *results);

/*
 * Sets aggregate.contention of each phase on something that all nodes share, for which the same repetition has the same phase where each
 * node has its own: same parameters but for layout, directories and file size, the same nodes at work. A second call makes it anew.
 */
void results_add_contention(struct results *results);

#endif
