#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "common/base/defs.h"
#include "common/stat/ratio.h"
#include "common/stat/summary.h"

#define UNKNOWN ((double)NAN)

static void
near(const char *name, double got, double want, double relative)
{
	if (isnan(want) != isnan(got) || fabs(got - want) > relative * fabs(want))
		fail_msg("%s: got %.10g, wanted %.10g", name, got, want);
}

/* Quantiles from printed tables of Student's t. */
static void
test_quantiles_of_t(void **state)
{
	static const struct {
		const char *name;
		double df, t;
	} cases[] = {
		{ "one", 1, 12.7062047 },
		{ "two", 2, 4.3026527 },
		{ "three", 3, 3.1824463 },
		{ "ten", 10, 2.2281389 },
		{ "thirty", 30, 2.0422725 },
		{ "a hundred and twenty", 120, 1.9799304 },
		{ "nearly normal", 1e5, 1.9599876 },
		{ "normal", 1e9, 1.959964 },
		{ "none", 0, UNKNOWN },
		{ "unknown", UNKNOWN, UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		near(cases[i].name, ratio_t975(cases[i].df), cases[i].t, 1e-6);
}

static void
test_quantiles_between_whole_degrees_lie_between(void **state)
{
	double last = ratio_t975(0.5);

	(void)state;
	for (double df = 1; df < 40; df += 0.25) {
		double t = ratio_t975(df);

		if (!(t < last))
			fail_msg("t falls with df: at %g it is %g after %g", df, t, last);
		last = t;
	}
	for (size_t df = 1; df <= 40; df++)
		near("as summary_t975", ratio_t975((double)df), summary_t975(df), 2e-4);
}

static void
test_geometric_mean(void **state)
{
	const double values[] = { 1, 100, UNKNOWN, 0, -3, HUGE_VAL };

	(void)state;
	near("two that count", ratio_geometric_mean(values, ARRAY_LEN(values)), 10, 1e-12);
	near("none", ratio_geometric_mean(values + 2, 3), UNKNOWN, 0);
	near("nothing", ratio_geometric_mean(values, 0), UNKNOWN, 0);
}

/*
 * Logs of a: 1, 2, 3 (mean 2, variance 1); of b: 1, 2 (mean 1.5, variance 0.5). Difference 0.5, squared error 1/3 + 1/4 = 7/12,
 * df = (7/12)^2 / ((1/3)^2/2 + (1/4)^2/1) = 0.340278 / 0.118056 = 2.882353.
 */
static void
test_interval_of_welch(void **state)
{
	const double a[] = { exp(1), exp(2), exp(3) };
	const double b[] = { exp(1), exp(2) };
	double half = ratio_t975(2.882352941) * sqrt(7.0 / 12);
	struct ratio r = ratio_of(a, 3, b, 2);

	(void)state;
	near("ratio", r.ratio, exp(0.5), 1e-12);
	near("low", r.low, exp(0.5 - half), 1e-8);
	near("high", r.high, exp(0.5 + half), 1e-8);
	near("t", ratio_t975(2.882352941), 3.2558, 1e-3); /* between t(2) and t(3) */
}

static void
test_the_ratio_of_the_reverse_is_the_inverse(void **state)
{
	const double a[] = { 10, 11, 12.5, 9 };
	const double b[] = { 20, 18, 19 };
	struct ratio r = ratio_of(a, 4, b, 3);
	struct ratio back = ratio_of(b, 3, a, 4);

	(void)state;
	near("ratio", back.ratio, 1 / r.ratio, 1e-12);
	near("low", back.low, 1 / r.high, 1e-12);
	near("high", back.high, 1 / r.low, 1e-12);
}

static void
test_few_values_have_no_interval(void **state)
{
	const double one[] = { 6 };
	const double two[] = { 3, 3 };
	struct ratio r = ratio_of(one, 1, two, 2);

	(void)state;
	near("ratio", r.ratio, 2, 1e-12);
	near("low", r.low, UNKNOWN, 0);
	near("high", r.high, UNKNOWN, 0);
	r = ratio_of(one, 0, two, 2);
	near("nothing", r.ratio, UNKNOWN, 0);
	r = ratio_of(two, 2, two, 2);
	near("no spread: low", r.low, 1, 1e-12);
	near("no spread: high", r.high, 1, 1e-12);
}

static void
test_outliers(void **state)
{
	static const struct {
		const char *name;
		double values[6];
		size_t n;
		int marked; /* as bits */
	} cases[] = {
		{ "one far below", { 100, 101, 99, 60, 100.5 }, 5, 1 << 3 },
		{ "the first", { 10, 100, 101, 99, 98, 102 }, 6, 1 << 0 },
		{ "all alike", { 100, 101, 99, 100, 98 }, 5, 0 },
		{ "far in deviations, near in percent", { 100, 100.01, 99.99, 100, 101 }, 5, 0 },
		{ "too few to tell", { 100, 101, 10 }, 3, 0 },
		{ "most are equal", { 100, 100, 100, 100, 50 }, 5, 1 << 4 },
		{ "nothing", { 0 }, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool out[6] = { false };
		int marked = 0;

		ratio_outliers(cases[i].values, cases[i].n, out);
		for (size_t v = 0; v < cases[i].n; v++)
			marked |= out[v] << v;
		if (marked != cases[i].marked)
			fail_msg(
			    "%s: marked %#x, wanted %#x", cases[i].name, (unsigned)marked, (unsigned)cases[i].marked);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles_of_t),
		cmocka_unit_test(test_quantiles_between_whole_degrees_lie_between),
		cmocka_unit_test(test_geometric_mean),
		cmocka_unit_test(test_interval_of_welch),
		cmocka_unit_test(test_the_ratio_of_the_reverse_is_the_inverse),
		cmocka_unit_test(test_few_values_have_no_interval),
		cmocka_unit_test(test_outliers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
