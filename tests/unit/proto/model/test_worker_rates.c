/* The figures of iozone's throughput mode, against cases computed by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"

#define S  NS_PER_S
#define MB 1000000

static struct node_result *
add_node(struct phase_result *phase, const char *name)
{
	struct node_result *node;

	phase->nodes = ls_grow(phase->nodes, phase->nodes_count, sizeof(*phase->nodes));
	node = &phase->nodes[phase->nodes_count++];
	field_struct_init(&node_result_desc, node);
	free(node->node);
	node->node = ls_strdup(name);
	node->state = NODE_DONE;
	node->bytes = node->ops = 0;
	node->series.interval_ns = S;
	return node;
}

/* A worker from start to end; per_s, ending with -1: its bytes in each second, or NULL. */
static void
add_worker(struct node_result *node, int64_t start, int64_t end, uint64_t bytes, const int64_t *per_s)
{
	struct worker_result *w;
	size_t n = 0;

	node->workers = ls_grow(node->workers, node->workers_count, sizeof(*node->workers));
	w = &node->workers[node->workers_count++];
	field_struct_init(&worker_result_desc, w);
	w->start_ns = start;
	w->end_ns = end;
	w->bytes = bytes;
	w->ops = 1;
	node->bytes += bytes;
	node->ops++;
	node->start_ns = node->start_ns == LS_UNKNOWN_I64 ? start : LS_MIN(node->start_ns, start);
	node->end_ns = LS_MAX(node->end_ns, end);
	if (per_s == NULL)
		return;
	while (per_s[n] >= 0)
		n++;
	w->series = ls_malloc(sizeof(*w->series));
	field_struct_init(&worker_series_desc, w->series);
	w->series->interval_ns = S;
	w->series->bytes = ls_calloc(n, sizeof(*w->series->bytes));
	w->series->bytes_count = n;
	for (size_t i = 0; i < n; i++)
		w->series->bytes[i] = per_s[i];
}

/* Two workers on a (the second one slows down after its first second), one on b, which says only what the node did. */
static void
make_phase(struct phase_result *phase, enum phase_kind kind)
{
	static const int64_t slows_down[] = { 5 * MB, MB, 0, 2 * MB, -1 };
	struct node_result *a, *b;

	field_struct_init(&phase_result_desc, phase);
	phase->kind = phase->spec.kind = (int)kind;
	phase->spec.record_size = 1000;
	a = add_node(phase, "a");
	add_worker(a, 0, 2 * S, 8 * MB, NULL);
	add_worker(a, 0, 4 * S, 8 * MB, slows_down);
	b = add_node(phase, "b");
	add_worker(b, S, 5 * S, 8 * MB, NULL);
	b->series.bytes = ls_calloc(5, sizeof(int64_t));
	b->series.ops = ls_calloc(5, sizeof(int64_t));
	b->series.bytes_count = b->series.ops_count = 5;
	b->series.bytes[1] = 1 * MB; /* nothing in the first second, 1 MB until 2 s */
	b->series.bytes[4] = 7 * MB;
	b->series.ops[4] = 1;
}

static void
check_rates(const struct worker_rates *r, double children, double parent, double min, double max, uint64_t least)
{
	assert_non_null(r);
	assert_float_equal(r->children, children, 1);
	assert_float_equal(r->parent, parent, 1);
	assert_float_equal(r->min, min, 1);
	assert_float_equal(r->max, max, 1);
	assert_float_equal(r->mean, children / 3, 1);
	assert_int_equal(r->least_bytes, least);
}

static void
aggregate(struct phase_result *phase)
{
	struct job job;

	field_struct_init(&job_desc, &job);
	assert_int_equal(phase_result_aggregate(phase, &job, NULL), LS_OK);
	field_struct_fini(&job_desc, &job);
}

/* The first one ends at 2 s: 8 MB in 2 s, 6 MB in 2 s, 1 MB in 1 s. To their ends: 8 in 2, 8 in 4, 8 in 4. */
static void
test_readers_stop_with_the_first(void **state)
{
	struct phase_result phase;

	(void)state;
	make_phase(&phase, PHASE_READ);
	aggregate(&phase);
	check_rates(phase.aggregate.stonewalled, 8 * MB, 15 * MB / 2.0, MB, 4 * MB, MB);
	check_rates(phase.aggregate.to_end, 8 * MB, 24 * MB / 5.0, 2 * MB, 4 * MB, 8 * MB);
	field_struct_fini(&phase_result_desc, &phase);
}

/* The parent of initial writers waits until the files are whole, 5 s. */
static void
test_writers_finish_their_files(void **state)
{
	static const enum phase_kind kinds[] = { PHASE_WRITE, PHASE_PWRITE, PHASE_RANDOM_WRITE };
	struct phase_result phase;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		make_phase(&phase, kinds[i]);
		aggregate(&phase);
		check_rates(phase.aggregate.stonewalled, 8 * MB, 15 * MB / 5.0, MB, 4 * MB, MB);
		field_struct_fini(&phase_result_desc, &phase);
	}
	make_phase(&phase, PHASE_REWRITE);
	aggregate(&phase);
	check_rates(phase.aggregate.stonewalled, 8 * MB, 15 * MB / 2.0, MB, 4 * MB, MB);
	field_struct_fini(&phase_result_desc, &phase);
}

static void
test_a_record_under_way_does_not_count(void **state)
{
	struct phase_result phase;

	(void)state;
	make_phase(&phase, PHASE_READ);
	phase.spec.record_size = 4 * MB; /* 6 MB until 2 s are one record, 1 MB none */
	aggregate(&phase);
	check_rates(phase.aggregate.stonewalled, 6 * MB, 12 * MB / 2.0, 0, 4 * MB, 0);
	field_struct_fini(&phase_result_desc, &phase);
}

static void
test_without_a_series_work_is_even(void **state)
{
	struct phase_result phase;

	(void)state;
	make_phase(&phase, PHASE_READ);
	field_struct_fini(&worker_series_desc, phase.nodes[0].workers[1].series);
	free(phase.nodes[0].workers[1].series);
	phase.nodes[0].workers[1].series = NULL; /* 8 MB in 4 s: 4 MB until 2 s */
	aggregate(&phase);
	check_rates(phase.aggregate.stonewalled, 7 * MB, 13 * MB / 2.0, MB, 4 * MB, MB);
	field_struct_fini(&phase_result_desc, &phase);
}

static void
test_a_worker_that_did_nothing_is_the_slowest(void **state)
{
	struct phase_result phase;

	(void)state;
	make_phase(&phase, PHASE_READ);
	add_worker(&phase.nodes[1], LS_UNKNOWN_I64, LS_UNKNOWN_I64, 0, NULL);
	phase.nodes[1].workers[1].ops = 0;
	phase.nodes[1].ops = 1;
	phase.nodes[1].start_ns = S;
	phase.nodes[1].end_ns = 5 * S;
	aggregate(&phase);
	assert_float_equal(phase.aggregate.to_end->min, 0, 1e-9);
	assert_int_equal(phase.aggregate.to_end->least_bytes, 0);
	assert_float_equal(phase.aggregate.to_end->mean, 2 * MB, 1);
	field_struct_fini(&phase_result_desc, &phase);
}

static void
test_phases_with_a_time_have_no_stonewall(void **state)
{
	struct phase_result phase;

	(void)state;
	make_phase(&phase, PHASE_READ);
	phase.spec.time = 4 * S;
	aggregate(&phase);
	assert_null(phase.aggregate.stonewalled);
	assert_non_null(phase.aggregate.to_end);
	field_struct_fini(&phase_result_desc, &phase);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers_stop_with_the_first),
		cmocka_unit_test(test_writers_finish_their_files),
		cmocka_unit_test(test_a_record_under_way_does_not_count),
		cmocka_unit_test(test_without_a_series_work_is_even),
		cmocka_unit_test(test_a_worker_that_did_nothing_is_the_slowest),
		cmocka_unit_test(test_phases_with_a_time_have_no_stonewall),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
