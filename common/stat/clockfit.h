/*
 * How far another machine's monotonic clock is ahead of ours, from four-stamp exchanges. The exchanges with the
 * smallest round trip tell most: half of it bounds the error. Drift is fitted over time. Pure, no clock is read.
 */
#ifndef LS_COMMON_STAT_CLOCKFIT_H
#define LS_COMMON_STAT_CLOCKFIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/err.h"

struct clock_sample {
	struct ls_mono at; /* ours, middle of the exchange */
	int64_t offset_ns; /* remote minus local */
	int64_t delay_ns;  /* round trip less the remote's hold time; the truth is within half of it */
	int64_t hold_ns;   /* the remote's time between receipt and reply: the clocks drift during it too */
};

/*
 * Offset and delay of a remote clock from one ping/pong.
 *
 * t0, t3: this machine, at send and at receipt. t1, t2: remote, at receipt and at reply.
 * out:    see above; untouched on error. Unless a clock was stepped meanwhile, the true offset lies within delay_ns / 2
 *         of offset_ns.
 * Errors: LS_E_RANGE when t3 < t0, t2 < t1, the delay is negative (stepped or forged clock) or a stamp is beyond +-2^61.
 * Source: RFC 5905, section 8 (its T1..T4). Pure, any thread.
 */
enum ls_rc clockfit_exchange(struct ls_mono t0, struct ls_rmono t1, struct ls_rmono t2, struct ls_mono t3,
    struct clock_sample *out) LS_MUST_CHECK;

#define CLOCKFIT_KEEP 64

/* A window of the latest exchanges with one remote. Embedded; all zero is empty. */
struct clockfit {
	struct clock_sample kept[CLOCKFIT_KEEP]; /* ring */
	size_t count, next;
};

/* Adds an exchange (copied); beyond CLOCKFIT_KEEP the oldest one goes. In the order of time. */
void clockfit_add(struct clockfit *fit, const struct clock_sample *sample);

struct clock_estimate {
	int64_t offset_ns;      /* at the instant asked for */
	int64_t uncertainty_ns; /* half of the best round trip at most, and what drift may have added since then */
	int64_t rtt_ns;         /* the best round trip of the samples that count */
	int64_t drift_ppb;      /* LS_UNKNOWN_I64 (INT64_MIN) while the samples span too little time to tell */
};

/*
 * The offset at instant `at` (ours). The intervals of all recent samples [offset +- delay/2], widened by drift_max over
 * their age, are intersected; where that is empty (a stepped clock), only the newest samples count, those which are
 * surely younger than the step. For clocks that drift apart by CLOCKFIT_DRIFT_MAX_PPB at most, and any delays, the true
 * offset is within uncertainty_ns of offset_ns. `at` may also lie before samples. Errors: LS_E_STATE without a sample.
 */
enum ls_rc clockfit_estimate(const struct clockfit *fit, struct ls_mono at, struct clock_estimate *out) LS_MUST_CHECK;

/* The remote's clock at our instant t, and ours at the remote's. What would overflow becomes INT64_MIN or INT64_MAX. */
struct ls_rmono clockfit_to_remote(const struct clock_estimate *e, struct ls_mono t);
struct ls_mono clockfit_to_local(const struct clock_estimate *e, struct ls_rmono t);

/* Worst drift between two monotonic clocks that NTP does not discipline away: 500 ppm, as the kernel allows. */
#define CLOCKFIT_DRIFT_MAX_PPB 500000

#endif
