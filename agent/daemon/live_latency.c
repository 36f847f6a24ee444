#include "agent/daemon/live_latency.h"

#include <stdlib.h>

#include "common/base/field.h"
#include "common/base/mem.h"

static bool
is_operation(uint32_t call)
{
	return call != SHM_CALL_NONE && call != SHM_CALL_WAIT && call != SHM_CALL_PACE && call != SHM_CALL_TOOL;
}

/* How long the call has gone on that the worker is in; 0: it is in none. */
static int64_t
in_flight_ns(const struct shm_worker *w, struct ls_mono now)
{
	if (atomic_load_explicit(&w->state, memory_order_acquire) != SHM_RUNNING ||
	    !is_operation(atomic_load_explicit(&w->call, memory_order_relaxed)))
		return 0;
	int64_t since = atomic_load_explicit(&w->since_ns, memory_order_relaxed);

	return since > 0 && since < now.ns ? now.ns - since : 0;
}

void
live_latency(struct shm_map *map, uint32_t workers, struct ls_mono now, int64_t *out_max_ns, int64_t *out_p99_ns)
{
	struct hist *all = ls_malloc(sizeof(*all));
	int64_t longest = 0;

	hist_reset(all);
	for (uint32_t i = 0; i < workers; i++) {
		const struct shm_worker *w = shm_map_worker(map, i);

		longest = LS_MAX(longest, in_flight_ns(w, now));
		for (size_t op = 0; op < OP_COUNT; op++)
			if (atomic_load_explicit(&w->op_ops[op], memory_order_relaxed) > 0)
				hist_merge(all, &w->latency[op]);
	}
	uint64_t done = atomic_load_explicit(&all->count, memory_order_relaxed);
	if (done > 0)
		longest = LS_MAX(longest, (int64_t)atomic_load_explicit(&all->max, memory_order_relaxed));
	*out_max_ns = longest > 0 ? longest : LS_UNKNOWN_I64;
	*out_p99_ns = done > 0 ? (int64_t)hist_percentile(all, 0.99) : LS_UNKNOWN_I64;
	free(all);
}
