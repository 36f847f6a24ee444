#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>

#include "coordinator/daemon/barrier.h"

#define US NS_PER_US
#define MS NS_PER_MS

struct lead_case {
	const char *name;
	int64_t rtt_ns;
	unsigned timeouts;
	int64_t lead_ns, margin_ns;
	size_t nodes;
};

static const struct lead_case leads[] = {
	{ "loopback", 100 * US, 0, 3200 * US, 200 * US, 0 },
	{ "a slow network", 2 * MS, 0, 7 * MS, 2 * MS, 0 },
	{ "no round trip known", 0, 0, 3 * MS, 200 * US, 0 },
	{ "once too late", 100 * US, 1, 12800 * US, 200 * US, 0 },
	{ "four times too late", 100 * US, 4, 819200 * US, 200 * US, 0 },
	{ "a lead at the cap grows no more", 4 * NS_PER_S, 60, 8 * NS_PER_S + 3 * MS, 4 * NS_PER_S, 0 },
	{ "never beyond the cap by growing", 100 * US, 60, 5 * NS_PER_S, 200 * US, 0 },
	{ "few nodes cost nothing extra", 100 * US, 0, 3200 * US, 200 * US, 16 },
	{ "2,016 nodes", 100 * US, 0, 303200 * US, 50200 * US, 2016 },
	{ "2,016 nodes, once too late", 100 * US, 1, 1212800 * US, 50200 * US, 2016 },
};

static void
test_lead_and_margin(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(leads); i++) {
		struct barrier b = {
			.worst_rtt_ns = leads[i].rtt_ns, .timeouts = leads[i].timeouts, .nodes = leads[i].nodes
		};

		if (barrier_lead_ns(&b) != leads[i].lead_ns)
			fail_msg("%s: lead %lld, wanted %lld", leads[i].name, (long long)barrier_lead_ns(&b),
			    (long long)leads[i].lead_ns);
		if (barrier_margin_ns(&b) != leads[i].margin_ns)
			fail_msg("%s: margin %lld, wanted %lld", leads[i].name, (long long)barrier_margin_ns(&b),
			    (long long)leads[i].margin_ns);
	}
}

static void
test_who_wakes_late_may_start_in_the_last_attempts(void **state)
{
	static const int64_t limits_ms[] = { 20, 20, 20, 80, 320, 320 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limits_ms); i++)
		assert_int_equal(barrier_late_limit_ns(i), limits_ms[i] * MS);
	assert_int_equal(barrier_late_limit_ns(UINT64_MAX - 1), 320 * MS);
}

static void
test_bursts_take_turns(void **state)
{
	struct barrier b;
	bool wanted[20];

	(void)state;
	for (size_t i = 0; i < 20; i++)
		wanted[i] = i != 3;
	barrier_init(&b, 20);
	barrier_begin(&b, wanted);
	assert_int_equal(barrier_burst(&b), 8);
	assert_true(barrier_next_burst(&b) == BARRIER_NOBODY); /* nobody is armed */
	for (size_t i = 20; i > 0; i--)
		barrier_armed(&b, i - 1);
	for (size_t k = 0; k < BARRIER_BURSTS_MAX; k++)
		assert_int_equal(barrier_next_burst(&b), 19 - k);
	assert_true(barrier_next_burst(&b) == BARRIER_NOBODY);
	assert_true(barrier_measured(&b, 15, MS)); /* one done: the next one's turn */
	assert_int_equal(barrier_next_burst(&b), 11);
	assert_true(barrier_next_burst(&b) == BARRIER_NOBODY);
	barrier_drop(&b, 10); /* lost before its turn, and one in its burst */
	barrier_drop(&b, 19);
	assert_int_equal(barrier_next_burst(&b), 9);
	assert_true(barrier_next_burst(&b) == BARRIER_NOBODY);
	barrier_begin(&b, NULL);
	assert_true(barrier_next_burst(&b) == BARRIER_NOBODY);
	barrier_armed(&b, 0);
	assert_int_equal(barrier_next_burst(&b), 0);
	barrier_fini(&b);
}

static void
test_bursts_are_shorter_when_there_are_many(void **state)
{
	static const struct {
		size_t nodes;
		unsigned burst;
	} cases[] = { { 1, 8 }, { 128, 8 }, { 256, 4 }, { 500, 3 }, { 4096, 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct barrier b = { .nodes = cases[i].nodes };

		assert_int_equal(barrier_burst(&b), cases[i].burst);
	}
}

static void
test_ready_when_all_are_armed_and_measured(void **state)
{
	struct barrier b;

	(void)state;
	barrier_init(&b, 3);
	barrier_begin(&b, NULL);
	for (size_t i = 0; i < 3; i++)
		assert_true(barrier_armed(&b, i));
	assert_false(barrier_armed(&b, 1)); /* said twice */
	assert_false(barrier_armed(&b, 3)); /* not of this run */
	assert_false(barrier_ready(&b));
	assert_true(barrier_measured(&b, 0, 100 * US));
	assert_true(barrier_measured(&b, 1, 900 * US));
	assert_false(barrier_ready(&b));
	assert_true(barrier_measured(&b, 2, 300 * US));
	assert_true(barrier_ready(&b));
	assert_int_equal(b.worst_rtt_ns, 900 * US);
	barrier_fini(&b);
}

static void
test_lost_nodes_are_not_waited_for(void **state)
{
	const bool wanted[] = { true, false, true };
	struct barrier b;

	(void)state;
	barrier_init(&b, 3);
	barrier_begin(&b, wanted);
	assert_false(barrier_armed(&b, 1));
	assert_true(barrier_armed(&b, 0));
	assert_true(barrier_measured(&b, 0, US));
	assert_false(barrier_ready(&b));
	barrier_drop(&b, 2);
	assert_true(barrier_ready(&b));
	barrier_drop(&b, 2); /* again is harmless */
	barrier_drop(&b, 7);
	assert_true(barrier_ready(&b));
	barrier_fini(&b);
}

struct judge_case {
	const char *name;
	size_t set; /* of two */
	int64_t now_ns;
	enum barrier_verdict want;
};

static const struct judge_case judgements[] = {
	{ "one missing, time left", 1, 0, BARRIER_WAIT },
	{ "all set, time left", 2, 0, BARRIER_COMMIT },
	{ "all set, just in time", 2, 10 * MS - 200 * US, BARRIER_COMMIT },
	{ "all set, too near", 2, 10 * MS - 200 * US + 1, BARRIER_LATE },
	{ "all set, instant passed", 2, 11 * MS, BARRIER_LATE },
	{ "one missing, too near", 1, 10 * MS - 100 * US, BARRIER_LATE },
};

static void
test_commit_wait_or_give_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(judgements); i++) {
		struct barrier b;

		barrier_init(&b, 2);
		barrier_begin(&b, NULL);
		b.start.ns = 10 * MS;
		for (size_t k = 0; k < judgements[i].set; k++)
			barrier_set(&b, k);
		enum barrier_verdict got = barrier_judge(&b, (struct ls_mono){ judgements[i].now_ns });

		if (got != judgements[i].want)
			fail_msg("%s: got %d, wanted %d", judgements[i].name, (int)got, (int)judgements[i].want);
		barrier_fini(&b);
	}
}

static void
test_a_new_attempt_forgets_the_old_one_but_not_its_timeouts(void **state)
{
	struct barrier b;

	(void)state;
	barrier_init(&b, 1);
	barrier_begin(&b, NULL);
	barrier_armed(&b, 0);
	barrier_measured(&b, 0, 5 * MS);
	barrier_set(&b, 0);
	b.committed = true;
	b.timeouts = 2;
	barrier_begin(&b, NULL);
	assert_false(barrier_ready(&b));
	assert_false(b.committed);
	assert_int_equal(b.worst_rtt_ns, 0);
	assert_int_equal(b.timeouts, 2);
	assert_true(barrier_set(&b, 0));
	barrier_fini(&b);
}

static void
test_the_lead_is_shorter_while_nobody_is_late(void **state)
{
	struct barrier b = { .worst_rtt_ns = 100 * US };

	(void)state;
	for (int i = 0; i < BARRIER_CALM; i++) {
		assert_int_equal(barrier_lead_ns(&b), 3200 * US);
		barrier_has_begun(&b);
	}
	assert_int_equal(barrier_lead_ns(&b), 1700 * US);
	barrier_was_late(&b);
	assert_int_equal(barrier_lead_ns(&b), 12800 * US);
	for (int i = 0; i < BARRIER_CALM; i++) {
		barrier_has_begun(&b);
		assert_int_equal(barrier_lead_ns(&b), i < BARRIER_CALM - 1 ? 3200 * US : 1700 * US);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lead_and_margin),
		cmocka_unit_test(test_who_wakes_late_may_start_in_the_last_attempts),
		cmocka_unit_test(test_bursts_take_turns),
		cmocka_unit_test(test_bursts_are_shorter_when_there_are_many),
		cmocka_unit_test(test_ready_when_all_are_armed_and_measured),
		cmocka_unit_test(test_lost_nodes_are_not_waited_for),
		cmocka_unit_test(test_commit_wait_or_give_up),
		cmocka_unit_test(test_the_lead_is_shorter_while_nobody_is_late),
		cmocka_unit_test(test_a_new_attempt_forgets_the_old_one_but_not_its_timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
