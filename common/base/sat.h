/*
 * Sums and products that stop at the largest value instead of beginning anew: sizes that a job or a peer names. Pure.
 */
#ifndef LS_COMMON_BASE_SAT_H
#define LS_COMMON_BASE_SAT_H

#include <stdint.h>

/* a + b, UINT64_MAX at the most. */
static inline uint64_t
sat_add(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* a * b, UINT64_MAX at the most. */
static inline uint64_t
sat_mul(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

#endif
