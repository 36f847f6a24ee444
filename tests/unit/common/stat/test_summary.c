#include "common/stat/summary.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>

#include "common/base/defs.h"

#define UNKNOWN ((double)NAN)

static void
expect_near(const char *name, const char *what, double got, double want)
{
	bool both_unknown = isnan(got) && isnan(want);

	if (!both_unknown && !(fabs(got - want) <= 1e-9 * LS_MAX(1.0, fabs(want))))
		fail_msg("%s: %s: got %.12g, wanted %.12g", name, what, got, want);
}

/* By hand: {2,4,4,4,5,5,7,9}: mean 5, sum of squares 32, sd sqrt(32/7). */
static const struct {
	const char *name;
	double values[8];
	size_t n;
	struct summary want;
	double jain;
} cases[] = {
	{ "none", { 0 }, 0, { 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN }, UNKNOWN },
	{ "one", { 7 }, 1, { 1, 7, UNKNOWN, UNKNOWN, 7, 7, 7 }, 1 },
	{ "two", { 3, 1 }, 2, { 2, 2, 1.4142135623730951, 12.7062, 2, 1, 3 }, 0.8 },
	{ "all equal", { 5, 5, 5 }, 3, { 3, 5, 0, 0, 5, 5, 5 }, 1 },
	{ "zeros", { 0, 0 }, 2, { 2, 0, 0, 0, 0, 0, 0 }, UNKNOWN },
	{ "one has all", { 0, 8, 0, 0 }, 4, { 4, 2, 4, 3.1824 * 2, 0, 0, 8 }, 0.25 },
	{ "eight", { 9, 2, 5, 4, 4, 7, 4, 5 }, 8,
	    { 8, 5, 2.1380899352993950, 2.3646 * 2.1380899352993950 / 2.8284271247461903, 4.5, 2, 9 },
	    1600.0 / (8 * 232) },
	{ "unknown is left out", { 3, UNKNOWN, 1 }, 3, { 2, 2, 1.4142135623730951, 12.7062, 2, 1, 3 }, 0.8 },
	{ "large, with little spread", { 1e15, 1e15 + 2, 1e15 + 4 }, 3,
	    { 3, 1e15 + 2, 2, 4.3027 * 2 / 1.7320508075688772, 1e15 + 2, 1e15, 1e15 + 4 }, 1 },
};

static void
test_summaries_agree_with_hand_computed_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct summary s = summary_of(cases[i].values, cases[i].n);
		const struct summary *w = &cases[i].want;

		assert_int_equal(s.n, w->n);
		expect_near(cases[i].name, "mean", s.mean, w->mean);
		expect_near(cases[i].name, "sd", s.sd, w->sd);
		expect_near(cases[i].name, "ci95", s.ci95, w->ci95);
		expect_near(cases[i].name, "median", s.median, w->median);
		expect_near(cases[i].name, "min", s.min, w->min);
		expect_near(cases[i].name, "max", s.max, w->max);
		expect_near(cases[i].name, "jain", summary_jain(cases[i].values, cases[i].n), cases[i].jain);
	}
}

/* Student's t, 97.5 %, from published tables. */
static const struct {
	size_t df;
	double t;
} t_cases[] = { { 1, 12.706 }, { 2, 4.303 }, { 5, 2.571 }, { 10, 2.228 }, { 29, 2.045 }, { 30, 2.042 }, { 31, 2.0395 },
	{ 40, 2.021 }, { 50, 2.009 }, { 60, 2.000 }, { 80, 1.990 }, { 100, 1.984 }, { 120, 1.980 }, { 1000, 1.962 },
	{ 1000000, 1.960 } };

static void
test_t_quantiles_agree_with_tables(void **state)
{
	(void)state;
	assert_true(isnan(summary_t975(0)));
	for (size_t i = 0; i < ARRAY_LEN(t_cases); i++)
		if (fabs(summary_t975(t_cases[i].df) - t_cases[i].t) > 0.0008)
			fail_msg(
			    "df %zu: got %.5f, wanted %.5f", t_cases[i].df, summary_t975(t_cases[i].df), t_cases[i].t);
}

static void
test_t_quantiles_never_rise(void **state)
{
	(void)state;
	for (size_t df = 1; df < 2000; df++)
		assert_true(summary_t975(df) >= summary_t975(df + 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summaries_agree_with_hand_computed_ones),
		cmocka_unit_test(test_t_quantiles_agree_with_tables),
		cmocka_unit_test(test_t_quantiles_never_rise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
