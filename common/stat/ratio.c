#include "common/stat/ratio.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/stat/summary.h"

#define UNKNOWN ((double)NAN)

#define BETA_STEPS   300
#define BETA_TINY    1e-300
#define OUTLIER_MIN  4
#define OUTLIER_Z    3.5
#define OUTLIER_PART 0.02
#define MAD_TO_SD    0.6745 /* MAD of a normal distribution in standard deviations */

/* The values that count, as logarithms, on the heap. */
static double *
logs_of(const double *values, size_t n, size_t *out_n)
{
	double *logs = ls_calloc(n + 1, sizeof(*logs));
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]) && values[i] > 0)
			logs[kept++] = log(values[i]);
	*out_n = kept;
	return logs;
}

/* The first value that counts. */
static double
first_of(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]) && values[i] > 0)
			return values[i];
	return UNKNOWN;
}

static struct summary
summary_of_logs(const double *values, size_t n)
{
	double *logs = logs_of(values, n, &n);
	struct summary s = summary_of(logs, n);

	free(logs);
	return s;
}

double
ratio_geometric_mean(const double *values, size_t n)
{
	struct summary s = summary_of_logs(values, n);

	return s.n == 1 ? first_of(values, n) : exp(s.mean);
}

/* Guards a denominator of the continued fraction against 0. */
static double
apart_from_zero(double x)
{
	return fabs(x) < BETA_TINY ? BETA_TINY : x;
}

/* Continued fraction of the incomplete beta function by Lentz's method (Abramowitz and Stegun 26.5.8). */
static double
beta_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 / apart_from_zero(1 - (a + b) * x / (a + 1));
	double value = d;

	for (int i = 1; i <= BETA_STEPS; i++) {
		double m = i;
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / apart_from_zero(1 + even * d);
		c = apart_from_zero(1 + even / c);
		value *= c * d;
		d = 1 / apart_from_zero(1 + odd * d);
		c = apart_from_zero(1 + odd / c);
		value *= c * d;
		if (fabs(c * d - 1) < 1e-14)
			break;
	}
	return value;
}

static double
log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* Regularised incomplete beta function. */
static double
beta_part(double x, double a, double b)
{
	double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

/* Probability that |T| exceeds t. */
static double
two_tails(double t, double df)
{
	return beta_part(df / (df + t * t), df / 2, 0.5);
}

double
ratio_t975(double df)
{
	double low = 0.1;
	double high = 1e3;

	if (!(df > 0))
		return UNKNOWN;
	if (df > 1e6)
		return 1.959964;
	while (two_tails(high, df) > 0.05)
		high *= 10;
	while (high - low > 1e-9 * high) {
		double middle = (low + high) / 2;

		if (two_tails(middle, df) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

struct ratio
ratio_of(const double *a, size_t na, const double *b, size_t nb)
{
	struct summary x = summary_of_logs(a, na);
	struct summary y = summary_of_logs(b, nb);
	double difference = x.mean - y.mean;
	struct ratio r = { exp(difference), UNKNOWN, UNKNOWN };

	if (x.n == 1 && y.n == 1)
		r.ratio = first_of(a, na) / first_of(b, nb); /* exact, so that percent round as by hand */
	if (x.n < 2 || y.n < 2)
		return r;
	double vx = x.sd * x.sd / (double)x.n;
	double vy = y.sd * y.sd / (double)y.n;
	double half = 0;
	if (vx + vy > 0) {
		double df = (vx + vy) * (vx + vy) / (vx * vx / (double)(x.n - 1) + vy * vy / (double)(y.n - 1));
		half = ratio_t975(df) * sqrt(vx + vy);
	}
	r.low = exp(difference - half);
	r.high = exp(difference + half);
	return r;
}

size_t
ratio_outliers(const double *values, size_t n, bool *out)
{
	double *distances = ls_calloc(n + 1, sizeof(*distances));
	struct summary s = summary_of(values, n);
	size_t marked = 0;

	for (size_t i = 0; i < n; i++)
		distances[i] = fabs(values[i] - s.median);
	double mad = summary_of(distances, n).median;
	for (size_t i = 0; i < n; i++) {
		out[i] = s.n >= OUTLIER_MIN && MAD_TO_SD * distances[i] > OUTLIER_Z * mad &&
		    distances[i] > OUTLIER_PART * fabs(s.median);
		marked += out[i];
	}
	free(distances);
	return marked;
}
