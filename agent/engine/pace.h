/*
 * When a worker's operations begin, where the job says so: at a rate, or each a while after the one before. The worker sleeps in
 * between. With a rate an operation has an intended instant, and its latency counts from there: what a stall holds up is seen in
 * all operations that were due in it (coordinated omission). What is late begins at once, without a pause.
 */
#ifndef LS_AGENT_ENGINE_PACE_H
#define LS_AGENT_ENGINE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/tally.h"

struct pace {
	uint64_t ops_per_s, bytes_per_s; /* 0: no such limit; the later of both instants counts */
	int64_t think_ns;                /* from the end of an operation to the next one's beginning; not with a rate */
	uint64_t ops, bytes;             /* that were given an instant so far */
};

/* Do operations have an intended instant? */
static inline bool
pace_has_rate(const struct pace *p)
{
	return p->ops_per_s > 0 || p->bytes_per_s > 0;
}

/* Is there anything to wait for? */
static inline bool
pace_is_set(const struct pace *p)
{
	return pace_has_rate(p) || p->think_ns > 0;
}

/*
 * The instant of the next operation, which moves so many bytes, in ns from the phase's start: operation k is due when the k before
 * it are due at the rates asked for. ended_ns: when the one before it ended, from the start; 0 for the first ones.
 */
int64_t pace_due(struct pace *p, int64_t ended_ns, uint64_t bytes);

/* Sleeps until that instant. False when the phase's time is over before, or somebody said stop: within 100 ms. */
bool pace_sleep(struct tally *t, int64_t until_ns);

#endif
