/*
 * Ratios of repeated measurements. Rates vary by factors, not by sums, so all is done on logarithms: the mean is the geometric
 * one, and the interval of a ratio comes from Welch's t on the difference of logs. Pure. Values that are not finite or not above 0
 * are left out; NAN for what too few values cannot tell.
 */
#ifndef LS_COMMON_STAT_RATIO_H
#define LS_COMMON_STAT_RATIO_H

#include <stdbool.h>
#include <stddef.h>

struct ratio {
	double ratio;     /* geometric mean of a over that of b */
	double low, high; /* 95 % interval; NAN unless both sides have two values */
};

/* Geometric mean, NAN for none. */
double ratio_geometric_mean(const double *values, size_t n);

/* a over b. Source of the interval: Welch 1947, degrees of freedom after Satterthwaite 1946. */
struct ratio ratio_of(const double *a, size_t na, const double *b, size_t nb);

/* 97.5 % quantile of Student's t with df degrees of freedom, which need not be whole; NAN unless df > 0. */
double ratio_t975(double df);

/*
 * Marks values that lie far from the others: modified z-score above 3.5 (Iglewicz and Hoaglin 1993) and more than 2 % from the
 * median. Needs at least 4 values, else marks none. out has n elements. Returns how many were marked.
 */
size_t ratio_outliers(const double *values, size_t n, bool *out);

#endif
