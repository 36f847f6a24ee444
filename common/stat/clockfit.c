#include "common/stat/clockfit.h"

#include <stdbool.h>

#define STAMP_MAX         (INT64_C(1) << 61) /* 73 years: no clock runs that long, and no sum of stamps overflows below it */
#define READING_SLACK_NS  2                  /* stamps are whole nanoseconds */
#define DRIFT_MIN_SPAN_NS (10 * NS_PER_S)
#define DRIFT_MIN_SAMPLES 3

/* --- exchanges ------------------------------------------------------------------------------------------------------- */

static bool
plausible(int64_t stamp)
{
	return stamp > -STAMP_MAX && stamp < STAMP_MAX;
}

enum ls_rc
clockfit_exchange(
    struct ls_mono t0, struct ls_rmono t1, struct ls_rmono t2, struct ls_mono t3, struct clock_sample *out)
{
	if (!plausible(t0.ns) || !plausible(t1.ns) || !plausible(t2.ns) || !plausible(t3.ns))
		return LS_E_RANGE;
	if (t3.ns < t0.ns || t2.ns < t1.ns)
		return LS_E_RANGE;

	int64_t delay = (t3.ns - t0.ns) - (t2.ns - t1.ns);
	if (delay < 0)
		return LS_E_RANGE;

	out->at = (struct ls_mono){ t0.ns + (t3.ns - t0.ns) / 2 };
	out->offset_ns = ((t1.ns - t0.ns) + (t2.ns - t3.ns)) / 2;
	out->delay_ns = delay;
	out->hold_ns = t2.ns - t1.ns;
	return LS_OK;
}

void
clockfit_add(struct clockfit *fit, const struct clock_sample *sample)
{
	fit->kept[fit->next] = *sample;
	fit->next = (fit->next + 1) % CLOCKFIT_KEEP;
	if (fit->count < CLOCKFIT_KEEP)
		fit->count++;
}

/* The sample that came `age` samples ago: 0 is the newest. */
static const struct clock_sample *
sample_by_age(const struct clockfit *fit, size_t age)
{
	return &fit->kept[(fit->next + CLOCKFIT_KEEP - 1 - age) % CLOCKFIT_KEEP];
}

/* --- intervals that hold the truth ----------------------------------------------------------------------------------- */

struct interval {
	int64_t low, high;
};

/* What two clocks may drift apart in that time, rounded up. */
static int64_t
drift_over(int64_t ns)
{
	return ns / NS_PER_S * CLOCKFIT_DRIFT_MAX_PPB + ns % NS_PER_S * CLOCKFIT_DRIFT_MAX_PPB / NS_PER_S + 1;
}

static int64_t
age_at(const struct clock_sample *s, struct ls_mono at)
{
	int64_t age;

	if (__builtin_sub_overflow(at.ns, s->at.ns, &age) || age >= STAMP_MAX || age <= -STAMP_MAX)
		return STAMP_MAX;
	return age < 0 ? -age : age;
}

/*
 * Where the offset can be at an instant, as far as one sample tells. Besides half of the delay: during the exchange itself
 * the clocks drift as well, which moves the middle by at most drift * (delay / 2 + hold).
 */
static struct interval
interval_at(const struct clock_sample *s, struct ls_mono at)
{
	int64_t half =
	    s->delay_ns / 2 + READING_SLACK_NS + drift_over(s->delay_ns / 2 + s->hold_ns) + drift_over(age_at(s, at));

	return (struct interval){ s->offset_ns - half, s->offset_ns + half };
}

static struct interval
intersection(struct interval a, struct interval b)
{
	return (struct interval){ LS_MAX(a.low, b.low), LS_MIN(a.high, b.high) };
}

static bool
is_empty(struct interval i)
{
	return i.low > i.high;
}

/*
 * Intersects from the newest sample on. A sample that contradicts says that a clock was stepped after it. Then only what is
 * surely younger than the step counts: the samples up to the last one that contradicts it directly (intervals that have
 * no point in common include two that have none). *used: how many of the newest samples went in.
 */
static struct interval
intersect_all(const struct clockfit *fit, struct ls_mono at, size_t *used)
{
	struct interval all = { INT64_MIN, INT64_MAX };
	size_t n = 0;

	for (; n < fit->count; n++) {
		struct interval next = intersection(all, interval_at(sample_by_age(fit, n), at));

		if (is_empty(next))
			break;
		all = next;
	}
	*used = n;
	if (n == fit->count)
		return all;

	struct interval stepped = interval_at(sample_by_age(fit, n), at);
	while (*used > 1 && !is_empty(intersection(stepped, interval_at(sample_by_age(fit, *used - 1), at))))
		(*used)--;
	all = interval_at(sample_by_age(fit, 0), at);
	for (size_t i = 1; i < *used; i++)
		all = intersection(all, interval_at(sample_by_age(fit, i), at));
	return all;
}

/* --- drift ----------------------------------------------------------------------------------------------------------- */

static int64_t
best_delay(const struct clockfit *fit, size_t used)
{
	int64_t best = INT64_MAX;

	for (size_t i = 0; i < used; i++)
		best = LS_MIN(best, sample_by_age(fit, i)->delay_ns);
	return best;
}

/* Least squares of offset over time through the samples with little delay. The bounds above do not rest on it. */
static int64_t
fit_drift(const struct clockfit *fit, size_t used, int64_t delay_max)
{
	const struct clock_sample *origin = sample_by_age(fit, 0);
	double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < used; i++) {
		const struct clock_sample *s = sample_by_age(fit, i);

		if (s->delay_ns > delay_max)
			continue;

		double x =
		    (double)(s->at.ns - origin->at.ns) / (double)NS_PER_S; /* relative: large stamps lose digits */
		double y = (double)(s->offset_ns - origin->offset_ns);
		n += 1;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		first = LS_MIN(first, s->at.ns);
		last = LS_MAX(last, s->at.ns);
	}
	if (n < DRIFT_MIN_SAMPLES || last - first <= DRIFT_MIN_SPAN_NS)
		return INT64_MIN; /* LS_UNKNOWN_I64 */

	double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx); /* ns per s: parts per billion */
	return (int64_t)(slope + (slope < 0 ? -0.5 : 0.5));
}

enum ls_rc
clockfit_estimate(const struct clockfit *fit, struct ls_mono at, struct clock_estimate *out)
{
	size_t used;

	if (fit->count == 0)
		return LS_E_STATE;

	struct interval all = intersect_all(fit, at, &used);
	int64_t width = all.high - all.low;
	int64_t rtt = best_delay(fit, used);

	out->offset_ns = all.low + width / 2;
	out->uncertainty_ns = width - width / 2;
	out->rtt_ns = rtt;
	out->drift_ppb = fit_drift(fit, used, rtt + rtt / 2);
	return LS_OK;
}

/* --- translation ----------------------------------------------------------------------------------------------------- */

/* A forged instant must not overflow: it becomes the end of time, which no check of a range accepts. */

struct ls_rmono
clockfit_to_remote(const struct clock_estimate *e, struct ls_mono t)
{
	struct ls_rmono r;

	if (__builtin_add_overflow(t.ns, e->offset_ns, &r.ns))
		r.ns = t.ns < 0 ? INT64_MIN : INT64_MAX;
	return r;
}

struct ls_mono
clockfit_to_local(const struct clock_estimate *e, struct ls_rmono t)
{
	struct ls_mono l;

	if (__builtin_sub_overflow(t.ns, e->offset_ns, &l.ns))
		l.ns = t.ns < 0 ? INT64_MIN : INT64_MAX;
	return l;
}
