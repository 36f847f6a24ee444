/*
 * Where a list of measurements changes its level. One stated rule, so that anybody can check a mark by hand:
 *
 * A change is marked at the first of the values from which on the median of up to CHANGE_WINDOW values differs from the median of up to
 * CHANGE_WINDOW values before it (none of them before the change marked last) by more than CHANGE_LEAST of the latter, and by more
 * than CHANGE_SCATTER times the scatter of all these values: 1.4826 times the median of their distances from their own side's median.
 * Each side has at least CHANGE_SIDE values. Where several places in a row fulfil this, the one where the values lie nearest to the
 * two medians is marked.
 *
 * It finds steps, not slopes; one odd value is no change. Pure.
 */
#ifndef LS_COMMON_STAT_CHANGE_H
#define LS_COMMON_STAT_CHANGE_H

#include <stddef.h>

#define CHANGE_WINDOW  5
#define CHANGE_SIDE    3
#define CHANGE_LEAST   0.05
#define CHANGE_SCATTER 3.0

struct change {
	size_t at;            /* number of the first value of the new level */
	double before, after; /* medians */
};

/* values: finite, in their order. Writes up to max changes and returns how many. */
size_t change_find(const double *values, size_t n, struct change *out, size_t max);

#endif
