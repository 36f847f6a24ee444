#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>

#include "agent/runner/lifecycle.h"

static void
test_no_two_edges_share_state_and_event(void **state)
{
	const struct fsm_def *def = &runner_lifecycle;

	(void)state;
	for (size_t i = 0; i < def->edge_count; i++)
		for (size_t j = i + 1; j < def->edge_count; j++)
			if (def->edges[i].from == def->edges[j].from && def->edges[i].event == def->edges[j].event)
				fail_msg("edges %zu and %zu", i, j);
}

static void
test_every_state_can_be_stopped(void **state)
{
	(void)state;
	for (int s = 0; s < RUNNER_STATE_COUNT; s++)
		if (fsm_find(&runner_lifecycle, s, RUNNER_EV_STOP) == NULL)
			fail_msg("%s", runner_lifecycle.state_names[s]);
}

/* From anywhere, a stop and then what the engine may say leads to where pending answers are given. */
static void
test_every_state_settles_after_a_stop(void **state)
{
	(void)state;
	for (int s = 0; s < RUNNER_STATE_COUNT; s++) {
		bool seen[RUNNER_STATE_COUNT] = { false };
		bool settles = false;
		const struct fsm_edge *stop = fsm_find(&runner_lifecycle, s, RUNNER_EV_STOP);

		settles = stop->action == RUNNER_ACT_SETTLE;
		seen[stop->to] = true;
		for (int round = 0; round < RUNNER_STATE_COUNT; round++)
			for (size_t i = 0; i < runner_lifecycle.edge_count; i++) {
				const struct fsm_edge *e = &runner_lifecycle.edges[i];

				if (!seen[e->from])
					continue;
				seen[e->to] = true;
				settles = settles || e->action == RUNNER_ACT_SETTLE || e->action == RUNNER_ACT_DONE;
			}
		if (!settles)
			fail_msg("%s", runner_lifecycle.state_names[s]);
	}
}

static void
test_every_way_out_of_stopping_settles(void **state)
{
	static const int events[] = { RUNNER_EV_STARTED, RUNNER_EV_CUT, RUNNER_EV_MISSED, RUNNER_EV_UNSTARTED };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		const struct fsm_edge *e = fsm_find(&runner_lifecycle, RUNNER_STOPPING, events[i]);

		assert_non_null(e);
		assert_int_equal(e->to, RUNNER_READY);
		assert_true(e->action == RUNNER_ACT_SETTLE || e->action == RUNNER_ACT_DONE);
	}
}

static void
test_all_names_are_there(void **state)
{
	(void)state;
	for (int i = 0; i < RUNNER_STATE_COUNT; i++)
		assert_non_null(runner_lifecycle.state_names[i]);
	for (int i = 0; i < RUNNER_EVENT_COUNT; i++)
		assert_non_null(runner_lifecycle.event_names[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_two_edges_share_state_and_event),
		cmocka_unit_test(test_every_state_can_be_stopped),
		cmocka_unit_test(test_every_state_settles_after_a_stop),
		cmocka_unit_test(test_every_way_out_of_stopping_settles),
		cmocka_unit_test(test_all_names_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
