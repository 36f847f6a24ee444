/*
 * Small statistics over lists of numbers. Pure; NAN for what an empty or too short list cannot tell. Values that are not
 * finite (NAN: unknown) are left out.
 */
#ifndef LS_COMMON_STAT_SUMMARY_H
#define LS_COMMON_STAT_SUMMARY_H

#include <stddef.h>

struct summary {
	size_t n;        /* finite values */
	double mean, sd; /* sd: sample standard deviation (n - 1), NAN for n < 2 */
	double ci95;     /* half width of the 95 % interval of the mean: t(n-1, 97.5 %) * sd / sqrt(n) */
	double median, min, max;
};

/* values is not changed. */
struct summary summary_of(const double *values, size_t n);

/* Jain's fairness index (sum x)^2 / (n * sum x^2): 1 when all are equal, 1/n when one has all. NAN when n or sum is 0. */
double summary_jain(const double *values, size_t n);

/* 97.5 % quantile of Student's t with df degrees of freedom (df >= 1): tabled to 30, then interpolated. */
double summary_t975(size_t df);

#endif
