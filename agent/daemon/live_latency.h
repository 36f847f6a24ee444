/*
 * Latency of a phase that goes on, from the mapping: for jobs that end themselves when it gets too long (abort_if).
 */
#ifndef LS_AGENT_DAEMON_LIVE_LATENCY_H
#define LS_AGENT_DAEMON_LIVE_LATENCY_H

#include "agent/shm/counters.h"
#include "common/base/clock.h"

/*
 * Of the first `workers` of the mapping, since the phase's start, all operations together: the longest, those included that have not returned
 * yet, and the 99th percentile of those that have; ns, LS_UNKNOWN_I64 before the first. What a worker waits for by itself (barrier, rate), and
 * an external program, are no operations.
 */
void live_latency(struct shm_map *map, uint32_t workers, struct ls_mono now, int64_t *out_max_ns, int64_t *out_p99_ns);

#endif
