#include "common/stat/summary.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/defs.h"
#include "common/base/mem.h"

#define UNKNOWN ((double)NAN)

double
summary_t975(size_t df)
{
	static const double table[] = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
		2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687,
		2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423 };
	/* Beyond the table the quantile is nearly linear in 1/df: interpolated so, the error stays below 0.0003. */
	static const struct {
		double inverse, t;
	} knots[] = { { 1.0 / 30, 2.0423 }, { 1.0 / 60, 2.0003 }, { 1.0 / 120, 1.9799 }, { 0, 1.95996 } };
	size_t k = 1;

	if (df == 0)
		return UNKNOWN;
	if (df <= ARRAY_LEN(table))
		return table[df - 1];

	double inverse = 1.0 / (double)df;
	while (inverse < knots[k].inverse)
		k++;
	return knots[k].t +
	    (knots[k - 1].t - knots[k].t) * (inverse - knots[k].inverse) / (knots[k - 1].inverse - knots[k].inverse);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A sorted copy without what is not finite, on the heap. */
static double *
sorted_copy(const double *values, size_t n, size_t *out_n)
{
	double *sorted = ls_calloc(n, sizeof(*sorted));
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			sorted[kept++] = values[i];
	qsort(sorted, kept, sizeof(*sorted), compare_doubles);
	*out_n = kept;
	return sorted;
}

static double
mean_of(const double *values, size_t n)
{
	double mean = 0;

	for (size_t i = 0; i < n; i++)
		mean += (values[i] - mean) / (double)(i + 1);
	return mean;
}

static double
sd_of(const double *values, size_t n, double mean)
{
	double squares = 0;

	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return sqrt(squares / (double)(n - 1));
}

struct summary
summary_of(const double *values, size_t n)
{
	struct summary s = { 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	double *sorted = sorted_copy(values, n, &s.n);

	if (s.n > 0) {
		s.mean = mean_of(sorted, s.n);
		s.min = sorted[0];
		s.max = sorted[s.n - 1];
		s.median = s.n % 2 == 1 ? sorted[s.n / 2] : sorted[s.n / 2 - 1] / 2 + sorted[s.n / 2] / 2;
	}
	if (s.n > 1) {
		s.sd = sd_of(sorted, s.n, s.mean);
		s.ci95 = summary_t975(s.n - 1) * s.sd / sqrt((double)s.n);
	}
	free(sorted);
	return s;
}

double
summary_jain(const double *values, size_t n)
{
	double sum = 0;
	double squares = 0;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isfinite(values[i]))
			continue;
		known++;
		sum += values[i];
		squares += values[i] * values[i];
	}
	if (known == 0 || !(squares > 0) || !(fabs(sum) > 0))
		return UNKNOWN;
	return sum * sum / ((double)known * squares);
}
