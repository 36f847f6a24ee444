#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "coordinator/daemon/start_clock.h"

static struct clock_estimate
estimate(int64_t offset, int64_t uncertainty)
{
	return (struct clock_estimate){ .offset_ns = offset, .uncertainty_ns = uncertainty };
}

static void
learn(struct start_clock *c, int64_t offset, int64_t uncertainty)
{
	const struct clock_estimate e = estimate(offset, uncertainty);

	start_clock_learn(c, &e);
}

static struct start_clock
told(int64_t offset, int64_t uncertainty)
{
	const struct clock_estimate e = estimate(offset, uncertainty);
	struct start_clock c = { 0 };

	start_clock_told(&c, &e);
	return c;
}

static void
test_nothing_is_learnt_before_go(void **state)
{
	struct start_clock c = { 0 };

	(void)state;
	learn(&c, 5, 1);
	assert_false(c.known);
	assert_int_equal(start_clock_correction_ns(&c), 0);
}

static void
test_the_narrower_estimate_counts(void **state)
{
	struct start_clock c = told(1000, 100);

	(void)state;
	assert_int_equal(start_clock_correction_ns(&c), 0);
	learn(&c, 1050, 150);
	assert_int_equal(c.better.offset_ns, 1000);
	learn(&c, 1040, 20);
	assert_int_equal(c.better.offset_ns, 1040);
	assert_int_equal(c.better.uncertainty_ns, 20);
	assert_int_equal(c.used.offset_ns, 1000);
	assert_int_equal(start_clock_correction_ns(&c), -40);
	assert_false(c.stepped);
}

static void
test_estimates_that_touch_do_not_contradict(void **state)
{
	struct start_clock c = told(0, 10);

	(void)state;
	learn(&c, 15, 5);
	assert_false(c.stepped);
	learn(&c, 21, 0);
	assert_true(c.stepped);
}

static void
test_after_a_step_all_that_was_ever_said_counts(void **state)
{
	struct start_clock c = told(0, 10);

	(void)state;
	learn(&c, -1000, 4); /* a second of a suspended machine, so to speak */
	assert_true(c.stepped);
	assert_true(c.better.offset_ns - c.better.uncertainty_ns <= -1004);
	assert_true(c.better.offset_ns + c.better.uncertainty_ns >= 10);
	assert_in_range(c.better.uncertainty_ns, 507, 512);
	learn(&c, -1000, 1); /* narrow, but it says nothing of the time before the step */
	assert_in_range(c.better.uncertainty_ns, 507, 520);
	learn(&c, -3000, 1); /* once more */
	assert_true(c.better.offset_ns - c.better.uncertainty_ns <= -3001);
	assert_true(c.better.offset_ns + c.better.uncertainty_ns >= 10);
}

static void
test_a_new_go_begins_anew(void **state)
{
	struct start_clock c = told(0, 10);
	const struct clock_estimate e = estimate(-1000, 5);

	(void)state;
	learn(&c, -1000, 4);
	start_clock_told(&c, &e);
	assert_false(c.stepped);
	assert_int_equal(c.better.uncertainty_ns, 5);
	assert_int_equal(start_clock_correction_ns(&c), 0);
}

static void
test_forged_clocks_do_not_overflow(void **state)
{
	const int64_t far = INT64_C(1) << 62;
	struct start_clock a = told(-far, far / 2), b;
	struct skew_doubt d = { 0 };

	(void)state;
	learn(&a, far, far / 2);
	b = a;
	skew_doubt_add(&d, &a);
	skew_doubt_add(&d, &b);
	assert_true(skew_doubt_ns(&d) == INT64_MAX);
}

static void
test_the_skew_is_doubted_by_the_two_worst(void **state)
{
	const struct start_clock clocks[] = { told(0, 5), told(0, 30), told(0, 20), told(0, 30) };
	struct skew_doubt d = { 0 };

	(void)state;
	assert_true(skew_doubt_ns(&d) == INT64_MIN); /* nobody */
	skew_doubt_add(&d, &clocks[0]);
	assert_int_equal(skew_doubt_ns(&d), 5);
	skew_doubt_add(&d, &clocks[1]);
	assert_int_equal(skew_doubt_ns(&d), 35);
	skew_doubt_add(&d, &clocks[2]);
	assert_int_equal(skew_doubt_ns(&d), 50);
	skew_doubt_add(&d, &clocks[3]);
	assert_int_equal(skew_doubt_ns(&d), 60);
	skew_doubt_add(&d, &(struct start_clock){ 0 }); /* of one nothing is known */
	assert_true(skew_doubt_ns(&d) == INT64_MIN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_learnt_before_go),
		cmocka_unit_test(test_the_narrower_estimate_counts),
		cmocka_unit_test(test_estimates_that_touch_do_not_contradict),
		cmocka_unit_test(test_after_a_step_all_that_was_ever_said_counts),
		cmocka_unit_test(test_a_new_go_begins_anew),
		cmocka_unit_test(test_forged_clocks_do_not_overflow),
		cmocka_unit_test(test_the_skew_is_doubted_by_the_two_worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
