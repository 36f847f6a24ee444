#include "common/stat/hist.h"

#include <math.h>

static uint64_t
load(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void
store(_Atomic uint64_t *p, uint64_t value)
{
	atomic_store_explicit(p, value, memory_order_relaxed);
}

void
hist_reset(struct hist *h)
{
	store(&h->count, 0);
	store(&h->sum, 0);
	store(&h->min, UINT64_MAX);
	store(&h->max, 0);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		store(&h->buckets[i], 0);
}

/* Low bits that a bucket does not tell apart. */
static uint32_t
bucket_shift(uint32_t index)
{
	uint32_t octave = index >> HIST_SUB_BITS;

	return octave < 2 ? 0 : octave - 1;
}

uint64_t
hist_bucket_start(uint32_t index)
{
	uint32_t shift = bucket_shift(index);

	return ((uint64_t)index - ((uint64_t)shift << HIST_SUB_BITS)) << shift;
}

uint64_t
hist_bucket_width(uint32_t index)
{
	return 1ULL << bucket_shift(index);
}

void
hist_merge(struct hist *h, const struct hist *other)
{
	if (load(&other->count) == 0)
		return; /* perhaps never emptied either, with a minimum of 0 */
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t n = load(&other->buckets[i]);

		if (n > 0)
			hist_bump(&h->buckets[i], n);
	}
	hist_bump(&h->count, load(&other->count));
	hist_bump(&h->sum, load(&other->sum));
	store(&h->min, LS_MIN(load(&h->min), load(&other->min)));
	store(&h->max, LS_MAX(load(&h->max), load(&other->max)));
}

void
hist_add_bucket(struct hist *h, uint32_t index, uint64_t n)
{
	hist_bump(&h->buckets[LS_MIN(index, (uint32_t)HIST_BUCKETS - 1)], n);
	hist_bump(&h->count, n);
}

/* The number of the value that p asks for, 1 to count. */
static uint64_t
rank_of(double p, uint64_t count)
{
	double exact = p * (double)count;
	double rank = ceil(exact - exact * 1e-12); /* 0.07 * 100 is a little above 7 in binary */

	if (!(rank > 1))
		return 1;
	return rank >= (double)count ? count : (uint64_t)rank;
}

static uint64_t
bucket_of_rank(const struct hist *h, uint64_t rank)
{
	uint64_t seen = 0;
	uint64_t middle = 0;

	for (uint32_t i = 0; i < HIST_BUCKETS && seen < rank; i++) {
		uint64_t n = load(&h->buckets[i]);

		if (n == 0)
			continue;
		seen += n;
		middle = hist_bucket_start(i) + hist_bucket_width(i) / 2;
	}
	return middle;
}

uint64_t
hist_percentile(const struct hist *h, double p)
{
	uint64_t count = load(&h->count);
	uint64_t min = load(&h->min);
	uint64_t max = load(&h->max);

	if (count == 0)
		return 0;

	uint64_t middle = bucket_of_rank(h, rank_of(p, count));
	if (min > max) /* filled from buckets alone: the extremes are not known */
		return middle;
	return LS_MAX(min, LS_MIN(max, middle));
}

double
hist_mean(const struct hist *h)
{
	uint64_t count = load(&h->count);

	return count == 0 ? (double)NAN : (double)load(&h->sum) / (double)count;
}
