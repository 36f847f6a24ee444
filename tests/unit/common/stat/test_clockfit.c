#include "common/stat/clockfit.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

/* --- one exchange ---------------------------------------------------------------------------------------------------- */

#define FAR (INT64_C(1) << 61)

static const struct {
	const char *name;
	int64_t t0, t1, t2, t3, offset_ns, delay_ns;
	enum ls_rc rc;
} stamps[] = {
	{ "symmetric, remote ahead", 100, 1150, 1160, 210, 1000, 100, LS_OK },
	{ "symmetric, remote behind", 5100, 150, 160, 5210, -5000, 100, LS_OK },
	{ "remote before zero", 100, -850, -840, 210, -1000, 100, LS_OK },
	{ "all of the delay on the way there", 0, 200, 200, 100, 150, 100, LS_OK },
	{ "no delay", 5, 5, 5, 5, 0, 0, LS_OK },
	{ "odd sum", 0, 1, 1, 1, 0, 1, LS_OK },
	{ "stepped local clock", 100, 1150, 1160, 90, 0, 0, LS_E_RANGE },
	{ "stepped remote clock", 100, 1150, 1140, 210, 0, 0, LS_E_RANGE },
	{ "held longer than it took", 100, 1000, 1200, 210, 0, 0, LS_E_RANGE },
	{ "forged: largest", 100, INT64_MAX, INT64_MAX, 210, 0, 0, LS_E_RANGE },
	{ "forged: smallest", 100, INT64_MIN, INT64_MIN, 210, 0, 0, LS_E_RANGE },
	{ "forged: both ends", 100, INT64_MIN, INT64_MAX, 210, 0, 0, LS_E_RANGE },
	{ "at the limit", -FAR + 1, FAR - 1, FAR - 1, -FAR + 1, 2 * (FAR - 1), 0, LS_OK },
	{ "beyond the limit", 0, FAR, FAR, 0, 0, 0, LS_E_RANGE },
};

static void
test_exchange_gives_offset_and_delay(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stamps); i++) {
		struct clock_sample s = { { 1 }, 2, 3, 4 };
		enum ls_rc rc = clockfit_exchange((struct ls_mono){ stamps[i].t0 }, (struct ls_rmono){ stamps[i].t1 },
		    (struct ls_rmono){ stamps[i].t2 }, (struct ls_mono){ stamps[i].t3 }, &s);
		int64_t offset = rc == LS_OK ? stamps[i].offset_ns : 2;
		int64_t delay = rc == LS_OK ? stamps[i].delay_ns : 3;

		if (rc != stamps[i].rc || s.offset_ns != offset || s.delay_ns != delay)
			fail_msg("%s: rc %d, offset %lld, delay %lld", stamps[i].name, (int)rc, (long long)s.offset_ns,
			    (long long)s.delay_ns);
	}
}

/* --- windows --------------------------------------------------------------------------------------------------------- */

static void
add(struct clockfit *fit, int64_t at, int64_t offset, int64_t delay)
{
	struct clock_sample s = { { at }, offset, delay, 0 };

	clockfit_add(fit, &s);
}

static struct clock_estimate
estimate(const struct clockfit *fit, int64_t at)
{
	struct clock_estimate e;

	assert_int_equal(clockfit_estimate(fit, (struct ls_mono){ at }, &e), LS_OK);
	return e;
}

static void
test_an_empty_window_has_no_estimate(void **state)
{
	struct clockfit fit = { .count = 0 };
	struct clock_estimate e;

	(void)state;
	assert_int_equal(clockfit_estimate(&fit, (struct ls_mono){ 0 }, &e), LS_E_STATE);
}

static void
test_one_sample_is_known_to_half_of_its_delay_and_ages(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, 0, 5000, 1000);
	assert_int_equal(estimate(&fit, 0).offset_ns, 5000);
	assert_in_range(estimate(&fit, 0).uncertainty_ns, 500, 510);
	assert_int_equal(estimate(&fit, 0).rtt_ns, 1000);
	assert_true(estimate(&fit, 0).drift_ppb == INT64_MIN);
	assert_in_range(estimate(&fit, NS_PER_S).uncertainty_ns, 500500, 500510);
	assert_in_range(estimate(&fit, -NS_PER_S).uncertainty_ns, 500500, 500510);
}

static void
test_the_least_delay_decides(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, 0, 5300, 1000);
	add(&fit, 10, 5010, 100);
	add(&fit, 20, 4000, 20000);
	assert_in_range(estimate(&fit, 20).offset_ns, 5000, 5020);
	assert_in_range(estimate(&fit, 20).uncertainty_ns, 50, 60);
	assert_int_equal(estimate(&fit, 20).rtt_ns, 100);
}

static void
test_two_intervals_know_more_than_the_better_one(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, 0, 1000, 1000); /* 500 .. 1500 */
	add(&fit, 0, 1900, 1000); /* 1400 .. 2400 */
	assert_in_range(estimate(&fit, 0).offset_ns, 1440, 1460);
	assert_in_range(estimate(&fit, 0).uncertainty_ns, 50, 65);
}

static void
test_after_a_step_only_what_is_younger_counts(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		add(&fit, i, 1000, 10);
	add(&fit, 20, 900000, 100); /* the step */
	add(&fit, 21, 900030, 60);
	add(&fit, 22, 800000, 400000); /* wide enough to agree with both sides */
	assert_in_range(estimate(&fit, 23).offset_ns, 900000, 900050);
	assert_in_range(estimate(&fit, 23).uncertainty_ns, 20, 40);
	assert_int_equal(estimate(&fit, 23).rtt_ns, 60);
}

static void
test_a_wide_sample_from_before_the_step_does_not_mislead(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, 0, 0, 10);
	add(&fit, 1, 0, 60000);     /* agrees with the next, but is older than the step */
	add(&fit, 2, 60000, 80000); /* the truth is now 60000; the first sample contradicts */
	assert_int_equal(estimate(&fit, 2).offset_ns, 60000);
	assert_in_range(estimate(&fit, 2).uncertainty_ns, 40000, 40100);
}

static void
test_a_contradicted_newest_sample_stands_alone(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, 0, 1000, 10);
	add(&fit, 1, -700, 100);
	assert_int_equal(estimate(&fit, 1).offset_ns, -700);
	assert_int_equal(estimate(&fit, 1).rtt_ns, 100);
}

static void
test_the_window_forgets_the_oldest(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, 0, 1000, 2);
	for (int i = 0; i < CLOCKFIT_KEEP; i++)
		add(&fit, i, 1000, 100);
	assert_int_equal(fit.count, CLOCKFIT_KEEP);
	assert_int_equal(estimate(&fit, 0).rtt_ns, 100);
}

static void
test_drift_is_told_once_the_span_allows(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	for (int64_t i = 0; i <= 10; i++)
		add(&fit, i * NS_PER_S, 77 * NS_PER_S + i * 40000, 2000); /* 40 ppm */
	assert_true(estimate(&fit, 10 * NS_PER_S).drift_ppb == INT64_MIN);
	for (int64_t i = 11; i <= 20; i++)
		add(&fit, i * NS_PER_S, 77 * NS_PER_S + i * 40000, 2000);
	add(&fit, 20 * NS_PER_S, 78 * NS_PER_S, 3 * NS_PER_S); /* far off, but its delay is large: not fitted */
	assert_in_range(estimate(&fit, 20 * NS_PER_S).drift_ppb, 39990, 40010);
}

static void
test_forged_instants_do_not_overflow(void **state)
{
	struct clockfit fit = { .count = 0 };

	(void)state;
	add(&fit, FAR - 1, 2 * (FAR - 1), 2 * (FAR - 1));
	add(&fit, -FAR + 1, -2 * (FAR - 1), 2 * (FAR - 1));
	assert_true(estimate(&fit, INT64_MAX).uncertainty_ns > 0);
	assert_true(estimate(&fit, INT64_MIN).uncertainty_ns > 0);
}

static void
test_translation_goes_there_and_back(void **state)
{
	struct clock_estimate e = { .offset_ns = -5000 };

	(void)state;
	assert_int_equal(clockfit_to_remote(&e, (struct ls_mono){ 7000 }).ns, 2000);
	assert_int_equal(clockfit_to_local(&e, (struct ls_rmono){ 2000 }).ns, 7000);
	assert_true(clockfit_to_local(&e, (struct ls_rmono){ INT64_MAX }).ns == INT64_MAX);
	assert_true(clockfit_to_remote(&e, (struct ls_mono){ INT64_MIN }).ns == INT64_MIN);
}

/* --- the promise: the truth lies within the uncertainty -------------------------------------------------------------- */

/*
 * A simulated pair of clocks. Time is that of the local clock; the remote runs at 1 + rate with a rate that wanders within
 * the limit, and its offset is kept in parts per billion of ns so that no rounding hides in it.
 */
struct sim {
	uint64_t seed;
	int64_t now;         /* local ns */
	int64_t offset_ns;   /* remote minus local */
	int64_t offset_part; /* and billionths of a ns */
	int64_t rate_ppb;
	int64_t rate_max_ppb;
};

static uint64_t
next_random(struct sim *s)
{
	s->seed ^= s->seed >> 12;
	s->seed ^= s->seed << 25;
	s->seed ^= s->seed >> 27;
	return s->seed * 2685821657736338717ULL;
}

static int64_t
random_to(struct sim *s, int64_t max)
{
	return max <= 0 ? 0 : (int64_t)(next_random(s) % (uint64_t)(max + 1));
}

static void
pass(struct sim *s, int64_t ns)
{
	int64_t part = s->offset_part + ns % NS_PER_S * s->rate_ppb;

	s->now += ns;
	s->offset_ns += ns / NS_PER_S * s->rate_ppb + part / NS_PER_S;
	s->offset_part = part % NS_PER_S;
	if (s->rate_max_ppb > 0 && next_random(s) % 8 == 0) /* NTP slews the remote now and then */
		s->rate_ppb = random_to(s, 2 * s->rate_max_ppb) - s->rate_max_ppb;
}

/* Mostly short, sometimes far longer: a queue. */
static int64_t
random_delay(struct sim *s, int64_t usual)
{
	int64_t delay = random_to(s, usual);

	return next_random(s) % 10 == 0 ? delay * 50 : delay;
}

static void
exchange(struct sim *s, struct clockfit *fit, int64_t usual_there, int64_t usual_back)
{
	struct clock_sample sample;
	int64_t t0 = s->now;

	pass(s, random_delay(s, usual_there));
	int64_t t1 = s->now + s->offset_ns;
	pass(s, random_to(s, 2000000)); /* held by the remote */
	int64_t t2 = s->now + s->offset_ns;
	pass(s, random_delay(s, usual_back));

	enum ls_rc rc = clockfit_exchange((struct ls_mono){ t0 }, (struct ls_rmono){ t1 }, (struct ls_rmono){ t2 },
	    (struct ls_mono){ s->now }, &sample);
	if (rc == LS_OK) /* with hardly any delay, drift makes it negative: refused, which is allowed */
		clockfit_add(fit, &sample);
}

static void
check_truth(const struct sim *s, const struct clockfit *fit, int64_t at, int64_t truth, uint64_t seed)
{
	struct clock_estimate e;

	if (clockfit_estimate(fit, (struct ls_mono){ at }, &e) != LS_OK)
		return;
	if (llabs((long long)(e.offset_ns - truth)) > e.uncertainty_ns)
		fail_msg("seed %llu at %lld: estimate %lld +- %lld, truth %lld, rate %lld ppb",
		    (unsigned long long)seed, (long long)at, (long long)e.offset_ns, (long long)e.uncertainty_ns,
		    (long long)truth, (long long)s->rate_ppb);
}

/* One pair of machines: bursts and heartbeats, looked at after each, later, and in hindsight. Returns the checks done. */
static long
simulate(uint64_t seed)
{
	struct sim s = { .seed = seed * 0x9e3779b97f4a7c15ULL + 1 };
	struct clockfit fit = { .count = 0 };
	long checks = 0;

	s.rate_max_ppb = random_to(&s, 3) * CLOCKFIT_DRIFT_MAX_PPB / 3;
	s.rate_ppb = random_to(&s, 2 * s.rate_max_ppb) - s.rate_max_ppb;
	s.now = random_to(&s, 1000000 * NS_PER_S);
	s.offset_ns = random_to(&s, 200000 * NS_PER_S) - 100000 * NS_PER_S;
	int64_t there = random_to(&s, 400000);
	int64_t back = next_random(&s) % 3 == 0 ? 0 : random_to(&s, 400000); /* as asymmetric as can be */

	for (int round = 0; round < 30; round++) {
		int64_t before = s.now, before_offset = s.offset_ns;

		pass(&s, random_to(&s, next_random(&s) % 4 == 0 ? 5 * NS_PER_S : 200 * NS_PER_MS));
		for (uint64_t n = next_random(&s) % 2 == 0 ? 8 : 1; n > 0; n--)
			exchange(&s, &fit, there, back);
		check_truth(&s, &fit, s.now, s.offset_ns, seed);
		check_truth(&s, &fit, before, before_offset, seed);
		pass(&s, random_to(&s, 20 * NS_PER_MS));
		check_truth(&s, &fit, s.now, s.offset_ns, seed);
		checks += 3;
	}
	return checks;
}

static void
test_the_truth_always_lies_within_the_uncertainty(void **state)
{
	long checks = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 1000; seed++)
		checks += simulate(seed);
	assert_int_equal(checks, 90000);
}

/* Against a bound so wide that it says nothing: right after a burst it is of the size of the round trips. */
static void
test_the_uncertainty_after_a_burst_is_below_the_best_delay(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct sim s = { .seed = seed, .rate_max_ppb = 50000, .offset_ns = 12345 * NS_PER_S };
		struct clockfit fit = { .count = 0 };
		struct clock_estimate e;

		for (int i = 0; i < 8; i++)
			exchange(&s, &fit, 100000, 100000);
		assert_int_equal(clockfit_estimate(&fit, (struct ls_mono){ s.now }, &e), LS_OK);
		int64_t drifted = s.now / 2000; /* 500 ppm of the burst's length */
		if (e.uncertainty_ns > e.rtt_ns / 2 + 2 * drifted + 10)
			fail_msg("seed %llu: rtt %lld, uncertainty %lld", (unsigned long long)seed, (long long)e.rtt_ns,
			    (long long)e.uncertainty_ns);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange_gives_offset_and_delay),
		cmocka_unit_test(test_an_empty_window_has_no_estimate),
		cmocka_unit_test(test_one_sample_is_known_to_half_of_its_delay_and_ages),
		cmocka_unit_test(test_the_least_delay_decides),
		cmocka_unit_test(test_two_intervals_know_more_than_the_better_one),
		cmocka_unit_test(test_after_a_step_only_what_is_younger_counts),
		cmocka_unit_test(test_a_wide_sample_from_before_the_step_does_not_mislead),
		cmocka_unit_test(test_a_contradicted_newest_sample_stands_alone),
		cmocka_unit_test(test_the_window_forgets_the_oldest),
		cmocka_unit_test(test_drift_is_told_once_the_span_allows),
		cmocka_unit_test(test_forged_instants_do_not_overflow),
		cmocka_unit_test(test_translation_goes_there_and_back),
		cmocka_unit_test(test_the_truth_always_lies_within_the_uncertainty),
		cmocka_unit_test(test_the_uncertainty_after_a_burst_is_below_the_best_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
