/* What is told of the loss of a node: stalls, the time until full rate, and when there is none to tell. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/cluster.h"

#define STEPS 200 /* of 100 ms */
#define BYTES 1000

/* A node that wrote BYTES in each step but those from gap_from to before gap_to, and told these stalls. */
static void
fill_node(struct node_result *node, const char *name, size_t gap_from, size_t gap_to, const int64_t stalls[4])
{
	field_struct_init(&node_result_desc, node);
	free(node->node);
	node->node = ls_strdup(name);
	node->start_ns = 0;
	node->end_ns = STEPS * 100 * NS_PER_MS;
	node->series.interval_ns = 100 * NS_PER_MS;
	node->series.bytes = ls_calloc(STEPS, sizeof(int64_t));
	node->series.bytes_count = STEPS;
	for (size_t i = 0; i < STEPS; i++)
		node->series.bytes[i] = i >= gap_from && i < gap_to ? 0 : BYTES;
	node->cluster = ls_malloc(sizeof(*node->cluster));
	field_struct_init(&cluster_node_desc, node->cluster);
	node->cluster->numbers = ls_calloc(6, sizeof(int64_t));
	node->cluster->numbers_count = 6;
	node->cluster->numbers[0] = 70;
	node->cluster->numbers[1] = 60;
	memcpy(node->cluster->numbers + 2, stalls, 4 * sizeof(int64_t));
}

/* Two that are left and one that was lost at that instant. */
static void
fill(struct results *r, int64_t loss_ns, size_t gap_from, size_t gap_to, const int64_t stalls[4])
{
	static const char *const names[] = { "a", "b", "c" };
	static const int64_t calm[4] = { 0, 5 * NS_PER_MS, 0, 4 * NS_PER_MS };
	struct phase_result *phase;
	struct node_loss *loss = ls_malloc(sizeof(*loss));

	field_struct_init(&results_desc, r);
	r->nodes = ls_calloc(3, sizeof(*r->nodes));
	r->nodes_count = 3;
	for (size_t n = 0; n < 3; n++) {
		field_struct_init(&run_node_desc, &r->nodes[n]);
		free(r->nodes[n].name);
		r->nodes[n].name = ls_strdup(names[n]);
	}
	field_struct_init(&node_loss_desc, loss);
	loss->at_ns = loss_ns;
	r->nodes[1].loss = loss;
	r->nodes[1].fsynced = 33;
	r->phases = ls_calloc(1, sizeof(*r->phases));
	r->phases_count = 1;
	phase = r->phases;
	field_struct_init(&phase_result_desc, phase);
	phase->kind = phase->spec.kind = PHASE_RECOVERY;
	phase->spec.steps = RECOVERY_STEPS;
	phase->nodes = ls_calloc(3, sizeof(*phase->nodes));
	phase->nodes_count = 3;
	fill_node(&phase->nodes[0], names[0], gap_from, gap_to, stalls);
	field_struct_init(&node_result_desc, &phase->nodes[1]);
	free(phase->nodes[1].node);
	phase->nodes[1].node = ls_strdup(names[1]);
	phase->nodes[1].state = NODE_LOST;
	fill_node(&phase->nodes[2], names[2], gap_from, gap_to, calm);
}

static void
test_full_rate_is_looked_for_behind_the_stalls(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t loss_ms;
		size_t gap_from, gap_to; /* steps without work */
		int64_t stall_at_ms, stall_ms;
		int64_t full_ms; /* -1: not known */
	} cases[] = {
		{ "no stall", 5000, 0, 0, 100, 2, 0 },
		{ "a stall at once", 5000, 50, 90, 5000, 4000, 4000 },
		{ "a stall after two more seconds at full rate", 5000, 70, 110, 7000, 4000, 6000 },
		{ "the rate comes back after the stall has ended", 5000, 50, 120, 5000, 4000, 6800 },
		{ "stalls before the loss do not count", 9000, 20, 40, 2000, 2000, 0 },
		{ "until the end", 5000, 50, STEPS, 5000, 4000, -1 },
		{ "too early", 900, 9, 20, 900, 1100, -1 },
		{ "before the start was told", LS_UNKNOWN_I64 / NS_PER_MS, 0, 0, 100, 2, -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const int64_t stalls[4] = { cases[i].stall_at_ms * NS_PER_MS, cases[i].stall_ms * NS_PER_MS, 1, 1 };
		int64_t loss_ns = i + 1 == ARRAY_LEN(cases) ? LS_UNKNOWN_I64 : cases[i].loss_ms * NS_PER_MS;
		struct results r;

		fill(&r, loss_ns, cases[i].gap_from, cases[i].gap_to, stalls);
		results_judge_promises(&r);
		const struct recovery *got = r.phases[0].recovery;
		int64_t full = got->full_rate_after_ns;

		if (cases[i].full_ms < 0 ? full != LS_UNKNOWN_I64 || got->why_not == NULL
					 : full != cases[i].full_ms * NS_PER_MS || got->why_not != NULL)
			fail_msg("%s: %lld ns, wanted %lld ms (%s)", cases[i].name, (long long)full,
			    (long long)cases[i].full_ms, got->why_not != NULL ? got->why_not : "-");
		if (cases[i].full_ms == 0 && cases[i].gap_to == 0)
			assert_true(fabs(got->rate_before - 20000) < 1);
		field_struct_fini(&results_desc, &r);
	}
}

static void
test_each_node_is_told_as_what_it_was(void **state)
{
	(void)state;
	const int64_t stalls[4] = { NS_PER_S, 9 * NS_PER_MS, 6 * NS_PER_S, 7 * NS_PER_MS };
	struct results r;

	fill(&r, 5 * NS_PER_S, 0, 0, stalls);
	results_judge_promises(&r);
	const struct recovery *got = r.phases[0].recovery;
	assert_int_equal(got->nodes_count, 3);
	assert_int_equal(got->lost, 1);
	assert_int_equal(got->loss_ns, 5 * NS_PER_S);
	/* The longer one was over before the loss. */
	assert_int_equal(got->nodes[0].stall_ns, 7 * NS_PER_MS);
	assert_int_equal(got->nodes[0].stall_start_ns, 6 * NS_PER_S);
	assert_int_equal(got->nodes[0].written, 70);
	assert_int_equal(got->nodes[0].fsynced, 60);
	assert_true(got->nodes[1].lost);
	assert_int_equal(got->nodes[1].fsynced, 33);
	assert_true(got->nodes[1].written == LS_UNKNOWN_U64);
	assert_false(got->nodes[2].lost);
	assert_int_equal(r.phases[0].promise->outcome, OUTCOME_PREPARED);
	/* A second call makes it anew. */
	results_judge_promises(&r);
	assert_int_equal(r.phases[0].recovery->nodes_count, 3);
	field_struct_fini(&results_desc, &r);
}

static void
test_nodes_are_told_by_name(void **state)
{
	(void)state;
	const int64_t stalls[4] = { 0 };
	struct results r;
	struct cluster_node *c;

	fill(&r, 5 * NS_PER_S, 0, 0, stalls);
	c = r.phases[0].nodes[0].cluster;
	c->list = ls_calloc(2, sizeof(*c->list));
	c->list_count = 2;
	c->list[0] = ls_strdup("file of {2}, seen by {3}: {9} {} {x");
	c->list[1] = ls_strdup("nothing");
	c->broken = c->looked = 2;
	results_judge_promises(&r);
	assert_string_equal(c->list[0], "file of b, seen by c: {9} {} {x");
	assert_string_equal(r.phases[0].promise->list[0], "a: file of b, seen by c: {9} {} {x");
	assert_int_equal(r.phases[0].promise->outcome, OUTCOME_VIOLATED);
	assert_int_equal(r.phases[0].state, PHASE_STATE_MISMATCH);
	field_struct_fini(&results_desc, &r);
}

static void
test_who_is_not_back_is_told(void **state)
{
	(void)state;
	const int64_t stalls[4] = { 0 };
	struct results r;

	fill(&r, 5 * NS_PER_S, 0, 0, stalls);
	r.phases[0].index = RECOVERY_AGAIN;
	r.phases[0].spec.step = RECOVERY_AGAIN;
	results_judge_promises(&r);
	assert_null(r.phases[0].recovery);
	assert_int_equal(r.phases[0].promise->outcome, OUTCOME_UNTESTED);
	assert_non_null(strstr(r.phases[0].promise->list[0], "b did not come back in time"));
	r.nodes[1].loss->returned = true;
	results_judge_promises(&r);
	assert_int_equal(r.phases[0].promise->outcome, OUTCOME_PREPARED);
	field_struct_fini(&results_desc, &r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_rate_is_looked_for_behind_the_stalls),
		cmocka_unit_test(test_each_node_is_told_as_what_it_was),
		cmocka_unit_test(test_nodes_are_told_by_name),
		cmocka_unit_test(test_who_is_not_back_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
