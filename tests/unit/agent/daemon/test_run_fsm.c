#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>

#include "agent/daemon/run_fsm.h"

static const struct fsm_def *const def = &node_run_fsm;

static bool
has(int state, int event)
{
	return fsm_find(def, state, event) != NULL;
}

static void
test_no_two_edges_share_state_and_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < def->edge_count; i++)
		for (size_t j = i + 1; j < def->edge_count; j++)
			if (def->edges[i].from == def->edges[j].from && def->edges[i].event == def->edges[j].event)
				fail_msg("%s, %s: twice", def->state_names[def->edges[i].from],
				    def->event_names[def->edges[i].event]);
}

static void
test_numbers_are_in_range_and_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < def->edge_count; i++) {
		const struct fsm_edge *e = &def->edges[i];
		assert_in_range(e->from, 0, NR_STATE_COUNT - 1);
		assert_in_range(e->to, 0, NR_STATE_COUNT - 1);
		assert_in_range(e->event, 0, NE_EVENT_COUNT - 1);
		assert_in_range(e->action, 0, NA_ACTION_COUNT - 1);
	}
	for (size_t i = 0; i < def->state_count; i++)
		assert_non_null(def->state_names[i]);
	for (size_t i = 0; i < def->event_count; i++)
		assert_non_null(def->event_names[i]);
}

/* A state has a runner unless it is dead, being cleaned up by another, or gone. */
static bool
has_runner(int s)
{
	return s != NR_DEAD && s != NR_CLEANING && s != NR_GONE;
}

static void
test_every_live_state_can_be_stopped_finished_and_lose_its_runner(void **state)
{
	(void)state;
	for (int s = 0; s < NR_STATE_COUNT; s++) {
		if (s == NR_GONE)
			continue;
		if (!has(s, NE_STOP) || !has(s, NE_FINISH))
			fail_msg("%s cannot be stopped or finished", def->state_names[s]);
		if (has_runner(s) && !has(s, NE_DIED))
			fail_msg("%s does not know that a runner can die", def->state_names[s]);
	}
}

static void
test_states_with_a_limit_know_the_deadline(void **state)
{
	static const int limited[] = { NR_STARTING, NR_STOPPING, NR_KILLING, NR_FINISHING };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(limited); i++)
		if (!has(limited[i], NE_DEADLINE))
			fail_msg("%s has no deadline", def->state_names[limited[i]]);
}

/* The states that can be reached from one, over edges of events that need no more than the agent and its runner. */
static bool
reaches(int from, int to)
{
	bool seen[NR_STATE_COUNT] = { false };
	bool more = true;

	seen[from] = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < def->edge_count; i++) {
			const struct fsm_edge *e = &def->edges[i];
			if (seen[e->from] && !seen[e->to]) {
				seen[e->to] = true;
				more = true;
			}
		}
	}
	return seen[to];
}

static void
test_every_state_is_reached_and_reaches_the_end(void **state)
{
	(void)state;
	for (int s = 0; s < NR_STATE_COUNT; s++) {
		if (!reaches(NR_STARTING, s))
			fail_msg("%s is never reached", def->state_names[s]);
		if (!reaches(s, NR_GONE))
			fail_msg("%s never ends", def->state_names[s]);
	}
	for (size_t i = 0; i < def->edge_count; i++)
		assert_int_not_equal(def->edges[i].from, NR_GONE);
}

static void
test_nothing_starts_without_commit(void **state)
{
	(void)state;
	for (size_t i = 0; i < def->edge_count; i++) {
		const struct fsm_edge *e = &def->edges[i];
		if (e->action == NA_COMMIT && (e->from != NR_SET || e->event != NE_COMMIT))
			fail_msg("%s commits", def->state_names[e->from]);
		if (e->to == NR_COMMITTED && e->from != NR_COMMITTED && e->event != NE_COMMIT)
			fail_msg("%s becomes committed without commit", def->state_names[e->from]);
	}
}

struct step {
	int event, state, action;
};

static void
walk(const char *name, const struct step *steps, size_t count)
{
	int at = NR_STARTING;

	for (size_t i = 0; i < count; i++) {
		const struct fsm_edge *e = fsm_find(def, at, steps[i].event);
		if (!e || e->to != steps[i].state || e->action != steps[i].action)
			fail_msg("%s: step %zu (%s): got %s", name, i, def->event_names[steps[i].event],
			    e ? def->state_names[e->to] : "no edge");
		at = e->to;
	}
}

static void
test_walks(void **state)
{
	static const struct step whole[] = {
		{ NE_PREPARED, NR_READY, NA_TELL_PREPARED },
		{ NE_VERIFY, NR_VERIFYING, NA_VERIFY },
		{ NE_VERIFIED, NR_READY, NA_TELL_VERIFIED },
		{ NE_ARM, NR_ARMING, NA_ARM },
		{ NE_ARMED, NR_ARMED, NA_TELL_ARMED },
		{ NE_GO, NR_SETTING, NA_GO },
		{ NE_SET, NR_SET, NA_TELL_SET },
		{ NE_COMMIT, NR_COMMITTED, NA_COMMIT },
		{ NE_DONE, NR_READY, NA_RESULT },
		{ NE_FINISH, NR_FINISHING, NA_FINISH },
		{ NE_FINISHED, NR_GONE, NA_TELL_FINISHED },
	};
	static const struct step missed[] = {
		{ NE_PREPARED, NR_READY, NA_TELL_PREPARED },
		{ NE_ARM, NR_ARMING, NA_ARM },
		{ NE_ARMED, NR_ARMED, NA_TELL_ARMED },
		{ NE_GO, NR_SETTING, NA_GO },
		{ NE_SET, NR_SET, NA_TELL_SET },
		{ NE_MISSED, NR_MISSED, NA_TELL_MISSED },
		{ NE_COMMIT, NR_MISSED, NA_NONE },
		{ NE_VOID, NR_VOIDING, NA_VOID },
		{ NE_VOIDED, NR_READY, NA_TELL_VOIDED },
		{ NE_ARM, NR_ARMING, NA_ARM },
	};
	static const struct step laid_out[] = {
		{ NE_PREPARED, NR_READY, NA_TELL_PREPARED },
		{ NE_ARM, NR_ARMING, NA_ARM },
		{ NE_ARMED, NR_ARMED, NA_TELL_ARMED },
		{ NE_ARM_AGAIN, NR_ARMED, NA_REPEAT },
		{ NE_ARM_ON, NR_ARMING, NA_ARM },
		{ NE_ARMED, NR_ARMED, NA_TELL_ARMED },
		{ NE_GO, NR_SETTING, NA_GO },
	};
	static const struct step hung[] = {
		{ NE_PREPARED, NR_READY, NA_TELL_PREPARED },
		{ NE_STOP, NR_STOPPING, NA_STOP },
		{ NE_DEADLINE, NR_KILLING, NA_KILL },
		{ NE_DEADLINE, NR_DEAD, NA_GIVE_UP },
		{ NE_ARM, NR_DEAD, NA_ARM_IMPOSSIBLE },
		{ NE_FINISH, NR_CLEANING, NA_CLEAN },
		{ NE_DIED, NR_GONE, NA_CLEAN_FAILED },
	};

	(void)state;
	walk("a whole run", whole, ARRAY_LEN(whole));
	walk("a missed start", missed, ARRAY_LEN(missed));
	walk("files for another node first", laid_out, ARRAY_LEN(laid_out));
	walk("a runner that hangs", hung, ARRAY_LEN(hung));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_two_edges_share_state_and_event),
		cmocka_unit_test(test_numbers_are_in_range_and_named),
		cmocka_unit_test(test_every_live_state_can_be_stopped_finished_and_lose_its_runner),
		cmocka_unit_test(test_states_with_a_limit_know_the_deadline),
		cmocka_unit_test(test_every_state_is_reached_and_reaches_the_end),
		cmocka_unit_test(test_nothing_starts_without_commit),
		cmocka_unit_test(test_walks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
