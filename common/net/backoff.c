#include "common/net/backoff.h"

#include "common/base/defs.h"

#define BACKOFF_FIRST_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS   (10 * NS_PER_S)

/* splitmix64 (Steele, Lea, Flood 2014): one word of state, and neighbouring seeds give unrelated numbers. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

int64_t
backoff_next(struct backoff *b)
{
	int64_t full = BACKOFF_FIRST_NS;

	for (unsigned i = 0; i < b->tries && full < BACKOFF_MAX_NS; i++)
		full *= 2;
	full = LS_MIN(full, BACKOFF_MAX_NS);
	if (b->tries < 64)
		b->tries++;

	uint64_t half = (uint64_t)full / 2;
	return (int64_t)(half + next_random(&b->rng) % (half + 1));
}

void
backoff_reset(struct backoff *b)
{
	b->tries = 0;
}
