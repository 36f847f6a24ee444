#include "common/net/backoff.h"

#include "common/base/defs.h"

#define BACKOFF_FIRST_NS (100 * NS_PER_MS)
#define BACKOFF_MAX_NS   (10 * NS_PER_S)

/* xorshift64* (Vigna 2016): plenty for spreading reconnects, and the state is one word. */
static uint64_t
next_random(uint64_t *state)
{
	uint64_t x = *state != 0 ? *state : 0x9e3779b97f4a7c15u;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
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
