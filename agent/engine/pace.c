#include "agent/engine/pace.h"

#include "common/base/clock.h"

#define SLICE_NS (100 * NS_PER_MS) /* somebody who says stop waits no longer */

/* n / rate seconds, in ns. */
static int64_t
instant(uint64_t n, uint64_t per_s)
{
	uint64_t whole = LS_MIN(n / per_s, (uint64_t)(INT64_MAX / 2 / NS_PER_S));

	/* What is left is less than a second: its product with 10^9 may be too large for an integer, the double's error is not. */
	return (int64_t)whole * NS_PER_S + (int64_t)((double)(n % per_s) / (double)per_s * (double)NS_PER_S);
}

int64_t
pace_due(struct pace *p, int64_t ended_ns, uint64_t bytes)
{
	int64_t due = p->think_ns > 0 && p->ops > 0 && ended_ns > 0 ? ended_ns + p->think_ns : 0;

	if (p->ops_per_s > 0)
		due = LS_MAX(due, instant(p->ops, p->ops_per_s));
	if (p->bytes_per_s > 0)
		due = LS_MAX(due, instant(p->bytes, p->bytes_per_s));
	p->ops++;
	p->bytes += bytes;
	return due;
}

bool
pace_sleep(struct tally *t, int64_t until_ns)
{
	int64_t now = ls_mono_now().ns;

	tally_call(t, SHM_CALL_PACE);
	while (now < until_ns && tally_more(t, now)) {
		int64_t slice = LS_MIN(until_ns, now + SLICE_NS);
		/* It is not stuck: those who watch for stalls see this move. */
		atomic_store_explicit(&t->shm->since_ns, now, memory_order_relaxed);
		ls_mono_sleep_until((struct ls_mono){ LS_MIN(slice, tally_limit(t)) });
		now = ls_mono_now().ns;
	}
	return tally_more(t, now);
}
