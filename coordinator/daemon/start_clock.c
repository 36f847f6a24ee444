#include "coordinator/daemon/start_clock.h"

#include "common/base/defs.h"

void
start_clock_told(struct start_clock *c, const struct clock_estimate *e)
{
	*c = (struct start_clock){ .known = true, .used = *e, .better = *e };
}

static bool
contradict(const struct clock_estimate *a, const struct clock_estimate *b)
{
	return a->offset_ns - a->uncertainty_ns > b->offset_ns + b->uncertainty_ns ||
	    b->offset_ns - b->uncertainty_ns > a->offset_ns + a->uncertainty_ns;
}

/* From the lowest that one of them allows to the highest. */
static void
widen(struct clock_estimate *a, const struct clock_estimate *b)
{
	int64_t low = LS_MIN(a->offset_ns - a->uncertainty_ns, b->offset_ns - b->uncertainty_ns);
	int64_t high = LS_MAX(a->offset_ns + a->uncertainty_ns, b->offset_ns + b->uncertainty_ns);

	a->offset_ns = low / 2 + high / 2; /* halves: forged stamps can lie 2^63 apart */
	a->uncertainty_ns = high / 2 - low / 2 + 2;
}

void
start_clock_learn(struct start_clock *c, const struct clock_estimate *later)
{
	if (!c->known)
		return;
	if (!c->stepped && contradict(&c->better, later)) {
		c->stepped = true;
		widen(&c->better, &c->used); /* it may have become narrower by an exchange that the step lies in */
	}
	if (c->stepped)
		widen(&c->better, later);
	else if (later->uncertainty_ns < c->better.uncertainty_ns)
		c->better = *later;
}

int64_t
start_clock_correction_ns(const struct start_clock *c)
{
	return c->known ? c->used.offset_ns - c->better.offset_ns : 0;
}

void
skew_doubt_add(struct skew_doubt *d, const struct start_clock *c)
{
	int64_t doubt = c->better.uncertainty_ns;

	d->any = true;
	d->unknown = d->unknown || !c->known;
	if (doubt > d->first) {
		d->second = d->first;
		d->first = doubt;
	} else if (doubt > d->second) {
		d->second = doubt;
	}
}

int64_t
skew_doubt_ns(const struct skew_doubt *d)
{
	int64_t sum;

	if (!d->any || d->unknown)
		return INT64_MIN; /* LS_UNKNOWN_I64 */
	return __builtin_add_overflow(d->first, d->second, &sum) ? INT64_MAX : sum;
}
