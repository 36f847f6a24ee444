/*
 * Jittered exponential back-off for reconnects: first 100 ms, doubling to 10 s, each time a random 50 to 100 % of it.
 */
#ifndef LS_COMMON_NET_BACKOFF_H
#define LS_COMMON_NET_BACKOFF_H

#include <stdint.h>

struct backoff {
	unsigned tries;
	uint64_t rng; /* any seed; different ones in different processes */
};

/* The next delay in ns. */
int64_t backoff_next(struct backoff *b);

/* After success. */
void backoff_reset(struct backoff *b);

#endif
