#include "agent/engine/zipf.h"

#include <math.h>

#include "agent/engine/offsets.h"

#define NEAR_ZERO 1e-8 /* below it the first terms of the series are as good as a double gets */

/* (exp(x) - 1) / x and log(1 + x) / x, also at and near 0. */
static double
expm1_by(double x)
{
	return fabs(x) > NEAR_ZERO ? expm1(x) / x : 1 + x / 2;
}

static double
log1p_by(double x)
{
	return fabs(x) > NEAR_ZERO ? log1p(x) / x : 1 - x / 2;
}

static double
weight(const struct zipf *z, double x)
{
	return exp(-z->theta * log(x));
}

/* Integral of the weight from 1 to x: (x^(1-theta) - 1) / (1 - theta), or log x where theta is 1. */
static double
integral(const struct zipf *z, double x)
{
	double l = log(x);

	return expm1_by((1 - z->theta) * l) * l;
}

/* The x of an integral. */
static double
inverse(const struct zipf *z, double y)
{
	double t = y * (1 - z->theta);

	/* By rounding it can fall below the least value that there is. */
	return exp(log1p_by(t < -1 ? -1 : t) * y);
}

void
zipf_init(struct zipf *z, uint64_t count, double theta)
{
	z->count = count;
	z->theta = theta;
	z->integral_first = integral(z, 1.5) - 1;
	z->integral_last = integral(z, (double)count + 0.5);
	z->always = 2 - inverse(z, integral(z, 2.5) - weight(z, 2));
}

uint64_t
zipf_draw(const struct zipf *z, uint64_t *random)
{
	for (;;) {
		double unit = (double)(offsets_mix((*random)++) >> 11) * 0x1p-53; /* [0, 1) */
		double y = z->integral_last + unit * (z->integral_first - z->integral_last);
		double x = inverse(z, y);
		double k = floor(x + 0.5);

		if (k < 1)
			k = 1;
		else if (k > (double)z->count)
			k = (double)z->count;
		if (k - x <= z->always || y >= integral(z, k + 0.5) - weight(z, k))
			return (uint64_t)k;
	}
}
