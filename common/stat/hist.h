/*
 * Latency histogram, log-linear: values below 128 ns have a bucket each, above that each power of two is cut into 64
 * equal buckets, so that a bucket's middle is within 1/128 (0.8 %) of every value in it. It is fio's scheme
 * (FIO_IO_U_PLAT_BITS 6), so that fio's own buckets add to ours without loss. Values from 2^HIST_TOP_BIT on share the
 * last bucket; min, max, count and sum are exact all the same.
 *
 * A histogram is plain data: no pointers, may live in shared memory. Adding is done by one thread; a reader in another
 * process sees counters that only grow.
 */
#ifndef LS_COMMON_STAT_HIST_H
#define LS_COMMON_STAT_HIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/defs.h"

#define HIST_SUB_BITS 6
#define HIST_TOP_BIT  42 /* 2^42 ns = 73 minutes */
#define HIST_BUCKETS  ((HIST_TOP_BIT - HIST_SUB_BITS + 1) << HIST_SUB_BITS)
#define HIST_SCHEME   "log-linear-6"

struct hist {
	_Atomic uint64_t count;
	_Atomic uint64_t sum; /* ns */
	_Atomic uint64_t min; /* UINT64_MAX while count is 0 */
	_Atomic uint64_t max;
	_Atomic uint64_t buckets[HIST_BUCKETS];
};

/* Empties it. */
void hist_reset(struct hist *h);

/* Bucket of a value. Pure. */
static inline uint32_t
hist_index(uint64_t ns)
{
	if (ns < (2U << HIST_SUB_BITS))
		return (uint32_t)ns;
	if (ns >= 1ULL << HIST_TOP_BIT)
		return HIST_BUCKETS - 1;

	uint32_t shift = 63U - (uint32_t)__builtin_clzll(ns) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (uint32_t)(ns >> shift);
}

/* Adds without an atomic read-modify-write: the single writer's own counters need no bus lock. */
static inline void
hist_bump(_Atomic uint64_t *p, uint64_t by)
{
	atomic_store_explicit(p, atomic_load_explicit(p, memory_order_relaxed) + by, memory_order_relaxed);
}

/* Counts one value so many times. One writer; no system call, lock or branch that a normal value would miss. */
static inline void
hist_record_many(struct hist *h, uint64_t ns, uint64_t times)
{
	hist_bump(&h->buckets[hist_index(ns)], times);
	hist_bump(&h->count, times);
	hist_bump(&h->sum, ns * times);
	if (ns < atomic_load_explicit(&h->min, memory_order_relaxed))
		atomic_store_explicit(&h->min, ns, memory_order_relaxed);
	if (ns > atomic_load_explicit(&h->max, memory_order_relaxed))
		atomic_store_explicit(&h->max, ns, memory_order_relaxed);
}

/* The same once. */
static inline void
hist_record(struct hist *h, uint64_t ns)
{
	hist_record_many(h, ns, 1);
}

/* Smallest value of a bucket, and how many values it holds. index < HIST_BUCKETS. */
uint64_t hist_bucket_start(uint32_t index);
uint64_t hist_bucket_width(uint32_t index);

/* Adds other to h: buckets, count, sum, min, max. */
void hist_merge(struct hist *h, const struct hist *other);

/* Adds n values of a bucket (from a document); count grows, sum, min and max do not. Beyond the last: into the last. */
void hist_add_bucket(struct hist *h, uint32_t index, uint64_t n);

/*
 * The value at or below which fraction p (0 < p <= 1) of all values lie: the middle of the bucket that holds the
 * ceil(p * count)-th smallest, kept within min and max where these are known (min <= max). 0 when empty.
 */
uint64_t hist_percentile(const struct hist *h, double p);

/* sum / count, NAN when empty. */
double hist_mean(const struct hist *h);

#endif
