/* When a phase is steady: the rule on known series, and windows made of nodes' samples. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "common/base/defs.h"
#include "coordinator/daemon/steady.h"

#define S 1000000000LL

struct series {
	const char *name;
	double rates[STEADY_INTERVALS];
	double mean, range, slope; /* reckoned by hand */
	bool steady;
};

/* Slope: the fitted line's change over four intervals, 4 * sum((i - 2) * y) / 10, of the mean. */
static const struct series series[] = {
	{ "all alike", { 100, 100, 100, 100, 100 }, 100, 0, 0, true },
	{ "noise around a level", { 95, 105, 100, 104, 96 }, 100, 10, 0.4, true },
	{ "range exactly at the limit", { 90, 110, 100, 110, 90 }, 100, 20, 0, true },
	{ "range just beyond it", { 89, 110, 101, 110, 90 }, 100, 21, 0.8, false },
	{ "a ramp exactly at the limit", { 95, 97.5, 100, 102.5, 105 }, 100, 10, 10, true },
	{ "a steeper one, within the range", { 94, 97, 100, 103, 106 }, 100, 12, 12, false },
	{ "the same falling", { 106, 103, 100, 97, 94 }, 100, 12, -12, false },
	{ "one interval without work", { 100, 100, 0, 100, 100 }, 80, 125, 0, false },
	{ "caches fill", { 400, 200, 150, 130, 120 }, 200, 140, -126, false },
};

static const struct steady_rule rule = {
	.from_ns = 2 * S, .until_ns = 102 * S, .interval_ns = S, .range_percent = 20, .slope_percent = 10
};

static void
test_range_and_slope_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(series); i++) {
		const struct series *c = &series[i];
		struct steady_figures f;

		steady_figures_of(&rule, c->rates, &f);
		if (fabs(f.mean - c->mean) > 1e-9 || fabs(f.range_percent - c->range) > 1e-9 ||
		    fabs(f.slope_percent - c->slope) > 1e-9 || f.steady != c->steady)
			fail_msg("%s: mean %g, range %g, slope %g, steady %d; wanted %g, %g, %g, %d", c->name, f.mean,
			    f.range_percent, f.slope_percent, f.steady, c->mean, c->range, c->slope, c->steady);
	}
}

static void
test_no_work_is_not_steady(void **state)
{
	static const double none[STEADY_INTERVALS] = { 0 };
	struct steady_figures f;

	(void)state;
	steady_figures_of(&rule, none, &f);
	assert_false(f.steady);
	assert_true(isnan(f.range_percent) && isnan(f.slope_percent));
}

/* Node i does rates[i] a second after the warm-up and tells of it late_ns after each second. */
static void
tell_second(struct steady_watch *w, size_t i, int64_t second, int64_t late_ns, uint64_t rate)
{
	int64_t at = second * S + late_ns;

	steady_sample(w, i, at, at <= rule.from_ns ? 0 : (uint64_t)((at - rule.from_ns) / (S / 1000)) * rate / 1000);
}

/* Samples come at other instants on each node, and the rates are those of the same intervals all the same. */
static void
test_samples_at_other_instants_are_aligned(void **state)
{
	static const bool counts[] = { true, true, false };
	struct steady_watch w = { 0 };
	int64_t second = 0;

	(void)state;
	steady_begin(&w, &rule, counts, 3);
	for (; second < 100 && !steady_judge(&w); second++) {
		tell_second(&w, 0, second, 0, 1000);
		tell_second(&w, 1, second, 370000000, 3000);
		tell_second(&w, 2, second, 5, 77777); /* has no part */
	}
	/* Two seconds of warm-up and five intervals, the fifth known with the sample at 7 s and that at 7.37 s. */
	assert_int_equal(second, 8);
	assert_int_equal(w.last.end_ns, 7 * S);
	assert_true(w.last.steady);
	for (size_t i = 0; i < STEADY_INTERVALS; i++)
		assert_true(fabs(w.last.rates[i] - 4000) <= 2);
	assert_false(steady_judge(&w)); /* the same once */
	steady_end(&w);
	assert_false(steady_watches(&w));
}

/* The slower node is on the rise while the other falls: together they are steady, and neither alone decides. */
static void
test_all_nodes_together_are_judged(void **state)
{
	static const bool counts[] = { true, true };
	struct steady_watch w = { 0 };
	uint64_t up = 0, down = 0;

	(void)state;
	steady_begin(&w, &rule, counts, 2);
	for (int64_t k = 1; k <= 5; k++) {
		up += (uint64_t)(100 * k);
		down += (uint64_t)(600 - 100 * k);
		steady_sample(&w, 0, rule.from_ns + k * S, up);
		assert_false(steady_judge(&w));
		steady_sample(&w, 1, rule.from_ns + k * S, down);
	}
	assert_true(steady_judge(&w));
	assert_true(w.last.steady);
	assert_true(fabs(w.last.mean - 600) < 1e-9 && fabs(w.last.slope_percent) < 1e-9);
	steady_end(&w);
}

/* Nothing is decided without a node that is silent; when it is lost the others decide. */
static void
test_a_silent_node_is_waited_for_until_it_is_lost(void **state)
{
	static const bool counts[] = { true, true };
	struct steady_watch w = { 0 };

	(void)state;
	steady_begin(&w, &rule, counts, 2);
	for (int64_t k = 1; k <= 40; k++) {
		steady_sample(&w, 0, rule.from_ns + k * S, (uint64_t)k * 100);
		if (k <= 3)
			steady_sample(&w, 1, rule.from_ns + k * S, (uint64_t)k * 100);
		assert_false(steady_judge(&w));
	}
	/* Back after 37 s: in between it is taken to have worked evenly. */
	steady_sample(&w, 1, rule.from_ns + 40 * S, 4000);
	assert_true(steady_judge(&w));
	assert_true(w.last.steady);
	assert_int_equal(w.last.end_ns, rule.from_ns + 40 * S);
	steady_sample(&w, 0, rule.from_ns + 41 * S, 4100);
	assert_false(steady_judge(&w));
	steady_drop(&w, 1);
	assert_true(steady_judge(&w));
	assert_true(fabs(w.last.mean - 100) < 1e-9);
	steady_drop(&w, 0);
	assert_false(steady_judge(&w)); /* nobody is left */
	steady_end(&w);
}

/* Stale samples change nothing, and counters that stand still after the phase's time are no interval. */
static void
test_what_does_not_count(void **state)
{
	static const bool counts[] = { true };
	const struct steady_rule brief = {
		.from_ns = 0, .until_ns = 6 * S, .interval_ns = S, .range_percent = 20, .slope_percent = 10
	};
	struct steady_watch w = { 0 };

	(void)state;
	steady_begin(&w, &brief, counts, 1);
	steady_sample(&w, 0, 5 * S, 500);
	steady_sample(&w, 0, 4 * S, 9999); /* before the last */
	steady_sample(&w, 0, 7 * S, 400);  /* less than before */
	steady_sample(&w, 1, 5 * S, 500);  /* no such node */
	assert_true(steady_judge(&w));
	assert_true(fabs(w.last.mean - 100) < 1e-9);
	steady_sample(&w, 0, 6 * S, 600);
	assert_true(steady_judge(&w));
	for (int64_t k = 7; k < 30; k++)
		steady_sample(&w, 0, k * S, 600);
	assert_false(steady_judge(&w));
	assert_int_equal(w.windows, 2);
	steady_end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range_and_slope_decide),
		cmocka_unit_test(test_no_work_is_not_steady),
		cmocka_unit_test(test_samples_at_other_instants_are_aligned),
		cmocka_unit_test(test_all_nodes_together_are_judged),
		cmocka_unit_test(test_a_silent_node_is_waited_for_until_it_is_lost),
		cmocka_unit_test(test_what_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
