#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "coordinator/daemon/run_fsm.h"

static void
test_no_two_edges_share_state_and_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < run_fsm.edge_count; i++)
		for (size_t k = i + 1; k < run_fsm.edge_count; k++)
			if (run_fsm.edges[i].from == run_fsm.edges[k].from &&
			    run_fsm.edges[i].event == run_fsm.edges[k].event)
				fail_msg("two edges from %s for %s", run_fsm.state_names[run_fsm.edges[i].from],
				    run_fsm.event_names[run_fsm.edges[i].event]);
}

static void
test_edges_are_in_range_and_leave_the_end_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < run_fsm.edge_count; i++) {
		const struct fsm_edge *e = &run_fsm.edges[i];

		assert_in_range(e->from, 0, STAGE_COUNT - 1);
		assert_in_range(e->to, 0, STAGE_COUNT - 1);
		assert_in_range(e->event, 0, EV_COUNT - 1);
		assert_in_range(e->action, 0, ACT_COUNT - 1);
		assert_int_not_equal(e->from, STAGE_ENDED);
	}
}

static void
test_every_live_stage_handles_cancel_loss_deadline_and_a_failing_store(void **state)
{
	static const enum run_event must[] = { EV_CANCEL, EV_LOST_STOP, EV_LOST_GO_ON, EV_DEADLINE, EV_STORE_FAILED };

	(void)state;
	for (int stage = 0; stage < STAGE_ENDED; stage++)
		for (size_t i = 0; i < ARRAY_LEN(must); i++)
			if (fsm_find(&run_fsm, stage, (int)must[i]) == NULL)
				fail_msg(
				    "%s has no edge for %s", run_fsm.state_names[stage], run_fsm.event_names[must[i]]);
}

static void
spread(bool reached[STAGE_COUNT], bool backwards)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < run_fsm.edge_count; i++) {
			int from = backwards ? run_fsm.edges[i].to : run_fsm.edges[i].from;
			int to = backwards ? run_fsm.edges[i].from : run_fsm.edges[i].to;

			if (!reached[from] || reached[to])
				continue;
			reached[to] = true;
			changed = true;
		}
	}
}

static void
test_every_stage_reaches_the_end_and_is_reached(void **state)
{
	bool ends[STAGE_COUNT] = { [STAGE_ENDED] = true };
	bool starts[STAGE_COUNT] = { [STAGE_QUEUED] = true, [STAGE_RESUMING] = true };

	(void)state;
	spread(ends, true);
	spread(starts, false);
	for (int stage = 0; stage < STAGE_COUNT; stage++) {
		if (!ends[stage])
			fail_msg("%s never ends", run_fsm.state_names[stage]);
		if (!starts[stage])
			fail_msg("%s is never reached", run_fsm.state_names[stage]);
	}
}

static void
test_every_event_and_action_is_used(void **state)
{
	bool events[EV_COUNT] = { false };
	bool acts[ACT_COUNT] = { false };

	(void)state;
	for (size_t i = 0; i < run_fsm.edge_count; i++) {
		events[run_fsm.edges[i].event] = true;
		acts[run_fsm.edges[i].action] = true;
	}
	for (int i = 0; i < EV_COUNT; i++)
		if (!events[i])
			fail_msg("event %s is on no edge", run_fsm.event_names[i]);
	for (int i = 0; i < ACT_COUNT; i++)
		if (!acts[i])
			fail_msg("action %d is on no edge", i);
}

struct walk {
	const char *name;
	enum run_stage from;
	enum run_event events[14];
	size_t count;
	enum run_stage to;
};

static const struct walk walks[] = {
	{ "a run of two phases", STAGE_QUEUED,
	    { EV_TURN, EV_NODES_READY, EV_ALL_PREPARED, EV_ALL_VERIFIED, EV_ALL_LAID, EV_ALL_ARMED, EV_ALL_SET,
		EV_ALL_RECEIVED, EV_STORED_MORE, EV_ALL_LAID, EV_ALL_ARMED, EV_ALL_SET },
	    12, STAGE_RUNNING },
	{ "a missed start is void, then tried again", STAGE_RUNNING,
	    { EV_MISSED, EV_ALL_VOIDED, EV_ALL_LAID, EV_ALL_ARMED, EV_ALL_SET }, 5, STAGE_RUNNING },
	{ "a node fails while files are laid out", STAGE_LAYING,
	    { EV_LOST_GO_ON, EV_NODE_FAILED, EV_ALL_STOPPED, EV_ALL_CLEAN }, 4, STAGE_ENDED },
	{ "set that came late", STAGE_SETTING, { EV_SET_LATE, EV_MISSED, EV_ALL_VOIDED, EV_ALL_LAID }, 4,
	    STAGE_ARMING },
	{ "attempts used up", STAGE_SETTING, { EV_DEADLINE, EV_ATTEMPTS_OUT, EV_ALL_STOPPED, EV_ALL_CLEAN }, 4,
	    STAGE_ENDED },
	{ "refused by an agent", STAGE_ASSIGNING, { EV_REFUSED, EV_REFUSED, EV_ALL_CLEAN }, 3, STAGE_ENDED },
	{ "a failed node, others go on to the barrier", STAGE_RUNNING,
	    { EV_NODE_FAILED, EV_ALL_RECEIVED, EV_STORED_FAILED, EV_ALL_CLEAN }, 4, STAGE_ENDED },
	{ "cancelled twice", STAGE_RUNNING, { EV_CANCEL, EV_CANCEL, EV_ALL_STOPPED, EV_CANCEL, EV_ALL_CLEAN }, 5,
	    STAGE_ENDED },
	{ "resumed in a phase", STAGE_RESUMING, { EV_BACK_RUN, EV_ALL_RECEIVED, EV_STORED_LAST, EV_ALL_CLEAN }, 4,
	    STAGE_ENDED },
	{ "resumed before a start", STAGE_RESUMING, { EV_BACK_ARM, EV_ALL_VOIDED, EV_ALL_LAID, EV_ALL_ARMED }, 4,
	    STAGE_SETTING },
	{ "preflight only", STAGE_VERIFYING, { EV_CHECKED, EV_ALL_CLEAN }, 2, STAGE_ENDED },
};

static void
test_walks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(walks); i++) {
		int at = (int)walks[i].from;

		for (size_t k = 0; k < walks[i].count; k++) {
			const struct fsm_edge *e = fsm_find(&run_fsm, at, (int)walks[i].events[k]);

			if (e == NULL)
				fail_msg("%s: no edge from %s for %s", walks[i].name, run_fsm.state_names[at],
				    run_fsm.event_names[walks[i].events[k]]);
			else
				at = e->to;
		}
		if (at != (int)walks[i].to)
			fail_msg("%s: ended in %s, wanted %s", walks[i].name, run_fsm.state_names[at],
			    run_fsm.state_names[walks[i].to]);
	}
}

static void
test_operators_see_no_end_before_the_end(void **state)
{
	(void)state;
	for (int stage = 0; stage < STAGE_ENDED; stage++)
		assert_false(run_state_is_end(run_stage_state((enum run_stage)stage)));
	assert_true(run_state_is_end(run_stage_state(STAGE_ENDED)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_two_edges_share_state_and_event),
		cmocka_unit_test(test_edges_are_in_range_and_leave_the_end_alone),
		cmocka_unit_test(test_every_live_stage_handles_cancel_loss_deadline_and_a_failing_store),
		cmocka_unit_test(test_every_stage_reaches_the_end_and_is_reached),
		cmocka_unit_test(test_every_event_and_action_is_used),
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_operators_see_no_end_before_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
