/*
 * A node's clock at the instant of a phase: what the instant was translated with when go was sent, and what is known of it in
 * hindsight. From these come the correction of the node's times and the uncertainty of the start skew. Pure.
 */
#ifndef LS_COORDINATOR_DAEMON_START_CLOCK_H
#define LS_COORDINATOR_DAEMON_START_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/stat/clockfit.h"

/* Embedded; all zero: nothing is known. */
struct start_clock {
	bool known;
	bool stepped;                 /* exchanges from before and after contradict each other */
	struct clock_estimate used;   /* what go was sent with */
	struct clock_estimate better; /* of the same instant, the best so far */
};

/* Go is sent with this estimate; or a restarted coordinator reads that it was. */
void start_clock_told(struct start_clock *c, const struct clock_estimate *e);

/*
 * A later estimate of the same instant. The narrower one counts. Where both cannot be true the clock was stepped in between (a
 * machine that was suspended: its monotonic clock stood still), before the instant or after it, which nobody can tell: from then on
 * all that was ever said counts, so that the truth lies within. A step that is smaller than what was uncertain at the time does not show.
 */
void start_clock_learn(struct start_clock *c, const struct clock_estimate *later);

/* What is to be added to the node's times relative to the instant. 0 while nothing is known. */
int64_t start_clock_correction_ns(const struct start_clock *c);

/* The start skew of several nodes is wrong by the two largest uncertainties added at most. All zero is none yet. */
struct skew_doubt {
	int64_t first, second;
	bool any, unknown;
};

void skew_doubt_add(struct skew_doubt *d, const struct start_clock *c); /* of one more node */

/* LS_UNKNOWN_I64 (INT64_MIN) without a clock, or with one of which nothing is known. */
int64_t skew_doubt_ns(const struct skew_doubt *d);

#endif
