/* The instant: sleep to just before it, yield until it, and one decision for the whole node. */
#include <sched.h>

#include "agent/engine/engine_int.h"

static void
sleep_until_spin(struct worker *w, int64_t start_ns)
{
	int64_t wake_ns = start_ns - w->engine->config.spin_ns;

	if (io_now_ns() >= wake_ns)
		return;
	ls_mono_sleep_until((struct ls_mono){ wake_ns });
	atomic_store_explicit(&w->shm->wake_late_ns, io_now_ns() - wake_ns, memory_order_relaxed);
}

/*
 * Yields, so that more workers than processors all get to the instant. The CPU time is read in the loop because reading it
 * after the instant would delay the first operation.
 */
static int64_t
spin_until(int64_t start_ns, struct rusage *cpu)
{
	int64_t now;

	getrusage(RUSAGE_THREAD, cpu);
	while ((now = io_now_ns()) < start_ns) {
		sched_yield();
		getrusage(RUSAGE_THREAD, cpu);
	}
	return now;
}

/* The first worker's view becomes the node's: all start or none does. */
static enum shm_decision
decide(struct engine *e, int64_t now_ns)
{
	struct shm_control *control = e->control;
	bool committed = atomic_load_explicit(&control->commit_epoch, memory_order_acquire) >= e->epoch;
	uint32_t decided = SHM_UNDECIDED;
	uint32_t mine = SHM_STARTED;

	if (!committed)
		mine = SHM_MISSED_COMMIT;
	else if (now_ns - e->start_ns > e->late_limit_ns)
		mine = SHM_MISSED_LATE;
	if (!atomic_compare_exchange_strong_explicit(
		&control->decision, &decided, mine, memory_order_acq_rel, memory_order_acquire))
		return (enum shm_decision)decided;
	atomic_store_explicit(&control->decided_ns, now_ns, memory_order_relaxed);
	return (enum shm_decision)mine;
}

enum shm_decision
start_wait(struct worker *w, struct rusage *cpu)
{
	struct engine *e = w->engine;

	sleep_until_spin(w, e->start_ns);
	return decide(e, spin_until(e->start_ns, cpu));
}
