/* Aggregates against cases computed by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "proto/model/aggregate.h"

#define MS NS_PER_MS
#define MB 1000000.0

/* One node with one worker that works steadily from start to end. */
struct node_case {
	const char *name;
	enum node_state state;
	int64_t start_ms, end_ms;
	int64_t bytes, ops;
};

/* Wanted rates in bytes/s (or operations/s where the phase moves no bytes); -1 stands for null. */
struct agg_case {
	const char *name;
	enum phase_kind kind;
	enum job_on_node_loss on_loss;
	struct node_case nodes[4];
	double all_active, last_done, first_done, sum_of_rates, overlap, fairness;
	int64_t skew_ms;
	const char *warning; /* part of one of the warnings, or NULL */
};

static const struct agg_case agg_cases[] = {
	{ "equal starts and ends: all four figures agree", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 2000, 2000000, 200 }, { "b", NODE_DONE, 0, 2000, 4000000, 400 } }, 3 * MB, 3 * MB,
	    3 * MB, 3 * MB, 1, 0.9, 0, NULL },
	/* a: 1 MB/s over 0..4 s, b: 3 MB/s over 0..2 s. Shared 2 s of 4; until b ends 2 + 6 MB in 2 s; 10 MB in 4 s */
	{ "one straggler", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 4000, 4000000, 400 }, { "b", NODE_DONE, 0, 2000, 6000000, 600 } }, 4 * MB, 2.5 * MB,
	    4 * MB, 4 * MB, 0.5, 0.8, 0, "a went on" },
	/* a: 0..3 s, b: 1..4 s, both 1 MB/s: shared 1..3 of 0..4; until 3 s 3 + 2 MB */
	{ "staggered", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 3000, 3000000, 300 }, { "b", NODE_DONE, 1000, 4000, 3000000, 300 } }, 2 * MB,
	    1.5 * MB, 5 * MB / 3, 2 * MB, 0.5, 1, 1000, "start skew of 1" },
	{ "no overlap", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 2000, 2000000, 200 }, { "b", NODE_DONE, 3000, 5000, 2000000, 200 } }, -1, 0.8 * MB,
	    1 * MB, 2 * MB, 0, 1, 3000, "at no time were all workers active" },
	{ "fewer than ten counter steps", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 900, 900000, 90 }, { "b", NODE_DONE, 0, 1000, 1000000, 100 } }, -1, 1.9 * MB, -1,
	    2 * MB, 0.9, 1, 0, "less than 10 counter steps" },
	{ "a whole phase of fewer than ten counter steps", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 500, 500000, 50 }, { "b", NODE_DONE, 0, 800, 800000, 80 } }, -1, 1.625 * MB, -1,
	    2 * MB, 0.625, 1, 0, "the phase took only" },
	{ "exactly ten counter steps", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 1000, 1000000, 100 }, { "b", NODE_DONE, 0, 1000, 1000000, 100 } }, 2 * MB, 2 * MB,
	    2 * MB, 2 * MB, 1, 1, 0, NULL },
	{ "ends within a counter step", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 1050, 1050000, 105 }, { "b", NODE_DONE, 0, 1050, 2100000, 210 } }, 3 * MB, 3 * MB,
	    3 * MB, 3 * MB, 1, 0.9, 0, NULL },
	{ "nothing done", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, -1, -1, 0, 0 }, { "b", NODE_DONE, -1, -1, 0, 0 } }, -1, -1, -1, -1, -1, -1, -1,
	    "no counted operation on any node" },
	{ "a worker that did nothing was never active", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 2000, 2000000, 200 }, { "b", NODE_DONE, -1, -1, 0, 0 } }, -1, 1 * MB, -1, 1 * MB, 0,
	    0.5, 0, "1 of 2 workers finished no counted operation" },
	{ "a failed node leaves no aggregate", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 2000, 2000000, 200 }, { "b", NODE_FAILED, 0, 1000, 1000000, 100 } }, -1, -1, -1, -1,
	    -1, -1, 0, "node b failed: there is no aggregate" },
	{ "under continue the rest counts", PHASE_READ, ON_LOSS_CONTINUE,
	    { { "a", NODE_DONE, 0, 2000, 2000000, 200 }, { "b", NODE_LOST, -1, -1, 0, 0 },
		{ "c", NODE_DONE, 0, 2000, 2000000, 200 } },
	    2 * MB, 2 * MB, 2 * MB, 2 * MB, 1, 1, 0, "node b was lost: the aggregate is over the other 2 nodes" },
	{ "idle nodes do not count", PHASE_READ, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 2000, 2000000, 200 }, { "b", NODE_IDLE, -1, -1, 0, 0 } }, 1 * MB, 1 * MB, 1 * MB,
	    1 * MB, 1, 1, 0, NULL },
	{ "a single node", PHASE_READ, ON_LOSS_ABORT, { { "a", NODE_DONE, 100, 2100, 2000000, 200 } }, 1 * MB, 1 * MB,
	    1 * MB, 1 * MB, 1, 1, 0, NULL },
	{ "operations without bytes", PHASE_STAT, ON_LOSS_ABORT,
	    { { "a", NODE_DONE, 0, 2000, 0, 2000 }, { "b", NODE_DONE, 0, 4000, 0, 4000 } }, 2000, 1500, 2000, 2000, 0.5,
	    1, 0, "b went on" },
	{ "no length of time at all", PHASE_READ, ON_LOSS_ABORT, { { "a", NODE_DONE, 5, 5, 4096, 1 } }, -1, -1, -1, -1,
	    -1, -1, 0, "too short to measure" },
};

static void
node_series(struct node_result *node)
{
	size_t steps = (size_t)((node->end_ns + 100 * MS - 1) / (100 * MS));
	double bytes_before = 0;
	double ops_before = 0;

	node->series.interval_ns = 100 * MS;
	node->series.bytes = ls_calloc(steps, sizeof(int64_t));
	node->series.ops = ls_calloc(steps, sizeof(int64_t));
	node->series.bytes_count = node->series.ops_count = steps;
	for (size_t i = 0; i < steps; i++) {
		double upto = (double)LS_MIN((int64_t)(i + 1) * 100 * MS, node->end_ns) - (double)node->start_ns;
		double share = upto <= 0 ? 0 : upto / (double)(node->end_ns - node->start_ns);

		node->series.bytes[i] = (int64_t)(share * (double)node->bytes - bytes_before + 0.5);
		node->series.ops[i] = (int64_t)(share * (double)node->ops - ops_before + 0.5);
		bytes_before += (double)node->series.bytes[i];
		ops_before += (double)node->series.ops[i];
	}
}

static void
node_fill(struct node_result *node, const struct node_case *c)
{
	field_struct_init(&node_result_desc, node);
	free(node->node);
	node->node = ls_strdup(c->name);
	node->state = (int)c->state;
	node->bytes = (uint64_t)c->bytes;
	node->ops = (uint64_t)c->ops;
	if (c->start_ms < 0)
		return;
	node->start_ns = c->start_ms * MS;
	node->end_ns = c->end_ms * MS;
	if (node->end_ns > node->start_ns)
		node_series(node);
}

static void
phase_fill(struct phase_result *phase, const struct node_case *nodes, size_t max, enum phase_kind kind)
{
	field_struct_init(&phase_result_desc, phase);
	phase->start_skew_uncertainty_ns = 10000;
	phase->kind = phase->spec.kind = (int)kind;
	phase->nodes = ls_calloc(max, sizeof(*phase->nodes));
	while (phase->nodes_count < max && nodes[phase->nodes_count].name != NULL) {
		node_fill(&phase->nodes[phase->nodes_count], &nodes[phase->nodes_count]);
		phase->nodes_count++;
	}
}

static void
check_f64(const char *name, const char *what, double got, double want)
{
	if (want < 0 && isnan(got))
		return;
	if (want >= 0 && fabs(got - want) <= 1e-6 * fabs(want) + 1e-9)
		return;
	fail_msg("%s: %s: got %.9g, wanted %.9g (-1: null)", name, what, got, want);
}

static bool
has_warning(const struct phase_result *phase, const char *part)
{
	for (size_t i = 0; i < phase->warnings_count; i++)
		if (strstr(phase->warnings[i], part) != NULL)
			return true;
	return false;
}

static void
check_warning(const char *name, const struct phase_result *phase, const char *part)
{
	if (has_warning(phase, part))
		return;
	for (size_t i = 0; i < phase->warnings_count; i++)
		print_message("  %s\n", phase->warnings[i]);
	fail_msg("%s: no warning with \"%s\"", name, part);
}

static double
main_rate(const struct agg_case *c, const struct rate *rate)
{
	return c->kind == PHASE_STAT ? rate->ops_per_s : rate->bytes_per_s;
}

static void
check_case(const struct agg_case *c)
{
	struct phase_result phase;
	struct job job;
	struct ls_err err;

	field_struct_init(&job_desc, &job);
	job.on_node_loss = (int)c->on_loss;
	job.short_phases = true;
	phase_fill(&phase, c->nodes, ARRAY_LEN(c->nodes), c->kind);
	if (phase_result_aggregate(&phase, &job, &err) != LS_OK)
		fail_msg("%s: %s", c->name, err.text);

	const struct aggregate *a = &phase.aggregate;
	check_f64(c->name, "all active", main_rate(c, &a->all_active), c->all_active);
	check_f64(c->name, "last done", main_rate(c, &a->last_done), c->last_done);
	check_f64(c->name, "first done", main_rate(c, &a->first_done), c->first_done);
	check_f64(c->name, "sum of rates", main_rate(c, &a->sum_of_rates), c->sum_of_rates);
	check_f64(c->name, "overlap", a->overlap, c->overlap);
	check_f64(c->name, "fairness", a->fairness, c->fairness);
	if (phase.start_skew_ns != (c->skew_ms < 0 ? LS_UNKNOWN_I64 : c->skew_ms * MS))
		fail_msg("%s: skew %lld ns", c->name, (long long)phase.start_skew_ns);
	if (c->warning != NULL)
		check_warning(c->name, &phase, c->warning);
	else if (phase.warnings_count > 0)
		fail_msg("%s: unexpected warning: %s", c->name, phase.warnings[0]);
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

static void
test_aggregates_equal_hand_computed_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(agg_cases); i++)
		check_case(&agg_cases[i]);
}

static void
test_overlap_looks_at_workers_not_at_nodes(void **state)
{
	static const struct node_case nodes[] = { { "a", NODE_DONE, 0, 4000, 4000000, 400 } };
	struct phase_result phase;
	struct job job;

	(void)state;
	field_struct_init(&job_desc, &job);
	phase_fill(&phase, nodes, 1, PHASE_READ);
	struct node_result *node = &phase.nodes[0];
	node->workers_count = 2;
	node->workers = ls_calloc(2, sizeof(*node->workers));
	for (size_t i = 0; i < 2; i++) {
		field_struct_init(&worker_result_desc, &node->workers[i]);
		node->workers[i].start_ns = (int64_t)i * 1000 * MS;
		node->workers[i].first_op_ns = (int64_t)i * 7 * MS;
		node->workers[i].end_ns = (int64_t)(3 + i) * 1000 * MS;
		node->workers[i].bytes = 2000000;
		node->workers[i].ops = 200;
	}
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	check_f64("workers", "overlap", phase.aggregate.overlap, 0.5);
	check_f64("workers", "all active", phase.aggregate.all_active.bytes_per_s, 1 * MB);
	check_f64("workers", "sum of rates", phase.aggregate.sum_of_rates.bytes_per_s, 4 * MB / 3);
	assert_int_equal(phase.start_skew_ns, 7 * MS); /* first operations, warm-up included */
	check_warning("workers", &phase, "below 30 s");
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

static void
test_huge_values_saturate(void **state)
{
	static const struct node_case nodes[] = {
		{ "a", NODE_DONE, 0, 2000, INT64_MAX, INT64_MAX },
		{ "b", NODE_DONE, 0, 2000, INT64_MAX, INT64_MAX },
	};
	struct phase_result phase;
	struct job job;

	(void)state;
	field_struct_init(&job_desc, &job);
	field_struct_init(&phase_result_desc, &phase);
	phase.start_skew_uncertainty_ns = 10000;
	phase.nodes = ls_calloc(2, sizeof(*phase.nodes));
	phase.nodes_count = 2;
	for (size_t i = 0; i < 2; i++) {
		struct node_case plain = nodes[i];

		plain.bytes = plain.ops = 1;
		node_fill(&phase.nodes[i], &plain);
		phase.nodes[i].bytes = phase.nodes[i].ops = INT64_MAX;
		phase.nodes[i].start_ns = INT64_MIN + 1;
		phase.nodes[i].end_ns = INT64_MAX;
	}
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	assert_true(phase.aggregate.bytes == INT64_MAX);
	assert_true(phase.duration_ns == INT64_MAX);
	assert_true(isfinite(phase.aggregate.last_done.bytes_per_s));
	assert_true(isnan(phase.aggregate.all_active.bytes_per_s));
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

/* Gives a node reads with these latencies. */
static void
node_reads(struct node_result *node, const uint64_t *ns, size_t count)
{
	struct hist *hist = ls_malloc(sizeof(*hist));
	struct op_result *r = ls_malloc(sizeof(*r));

	hist_reset(hist);
	for (size_t i = 0; i < count; i++)
		hist_record(hist, ns[i]);
	field_struct_init(&op_result_desc, r);
	r->ops = count;
	r->bytes = node->bytes;
	latency_from_hist(hist, &r->latency_ns);
	*by_op_slot(&node->by_op, OP_READ) = r;
	free(hist);
}

/* Reads and writes side by side: no total and no rate of both, shares and times stay, and aggregating again changes nothing. */
static void
test_reads_and_writes_are_not_added_up(void **state)
{
	static const struct node_case nodes[] = {
		{ "a", NODE_DONE, 0, 2000, 30, 3 },
		{ "b", NODE_DONE, 0, 2000, 30, 3 },
	};
	struct phase_result phase;
	struct job job;

	(void)state;
	field_struct_init(&job_desc, &job);
	phase_fill(&phase, nodes, 2, PHASE_MIXED);
	for (size_t i = 0; i < 2; i++) {
		struct by_op *by_op = &phase.nodes[i].by_op;

		node_reads(&phase.nodes[i], (const uint64_t[]){ 10, 20 }, 2);
		by_op->write = by_op->read;
		by_op->read = NULL;
		node_reads(&phase.nodes[i], (const uint64_t[]){ 30 }, 1);
		by_op->read->bytes = 10;
		by_op->read->ops = 1;
		by_op->write->bytes = 20;
		by_op->write->ops = 2;
	}
	for (int again = 0; again < 2; again++) {
		const struct aggregate *a = &phase.aggregate;
		const struct rate *rates[] = { &a->last_done, &a->all_active, &a->first_done, &a->sum_of_rates };
		double bytes, ops;

		assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
		assert_true(phase_result_mixes(&phase));
		assert_true(a->bytes == LS_UNKNOWN_U64 && a->ops == LS_UNKNOWN_U64);
		for (size_t i = 0; i < ARRAY_LEN(rates); i++)
			assert_true(isnan(rates[i]->bytes_per_s) && isnan(rates[i]->ops_per_s));
		for (size_t i = 0; i < 2; i++) {
			assert_true(phase.nodes[i].bytes == LS_UNKNOWN_U64 && phase.nodes[i].ops == LS_UNKNOWN_U64);
			assert_true(isnan(phase.nodes[i].bytes_per_s) && isnan(phase.nodes[i].ops_per_s));
		}
		check_f64("mixed", "fairness", a->fairness, 1);
		check_f64("mixed", "reads", by_op_get(&a->by_op, OP_READ)->ops_per_s, 1);
		check_f64("mixed", "writes", by_op_get(&a->by_op, OP_WRITE)->ops_per_s, 2);
		check_f64("mixed", "bytes written", by_op_get(&a->by_op, OP_WRITE)->bytes_per_s, 20);
		node_result_done_at(&phase.nodes[0], 2000 * MS, &bytes, &ops);
		check_f64("mixed", "done", ops, 3);
	}
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

/* A node with reads and writes, each with its series; its one worker with its counts. */
static void
node_mixes(struct node_result *node)
{
	static const int64_t reads[] = { 1, 2, 3, 4 }, writes[] = { 5, 5 };

	node_reads(node, (const uint64_t[]){ 10, 20 }, 2);
	node->by_op.write = node->by_op.read;
	node->by_op.read = NULL;
	node_reads(node, (const uint64_t[]){ 30 }, 1);
	node->by_op.read->bytes = 10;
	node->by_op.write->bytes = 10;
	for (int i = 0; i < 2; i++) {
		struct op_result *r = i == 0 ? node->by_op.read : node->by_op.write;
		const int64_t *cells = i == 0 ? reads : writes;

		r->series = ls_calloc(1, sizeof(*r->series));
		field_struct_init(&series_desc, r->series);
		r->series->interval_ns = (i + 1) * 500 * MS;
		r->series->bytes_count = r->series->ops_count = i == 0 ? 4 : 2;
		r->series->bytes = ls_calloc(4, sizeof(*r->series->bytes));
		r->series->ops = ls_calloc(4, sizeof(*r->series->ops));
		for (size_t c = 0; c < r->series->bytes_count; c++)
			r->series->bytes[c] = r->series->ops[c] = cells[c];
	}
	free(node->series.bytes);
	free(node->series.ops);
	node->series.bytes = node->series.ops = NULL;
	node->series.bytes_count = node->series.ops_count = 0;
	node->workers = ls_calloc(1, sizeof(*node->workers));
	node->workers_count = 1;
	field_struct_init(&worker_result_desc, node->workers);
	node->workers[0].start_ns = node->start_ns;
	node->workers[0].end_ns = node->end_ns;
	node->workers[0].bytes = 20;
	node->workers[0].ops = 3;
	node->workers[0].read = ls_calloc(1, sizeof(*node->workers[0].read));
	node->workers[0].read->bytes = 10;
}

/* Not in workers, not in series, not in the figures of iozone's throughput mode, and not where a node failed and there is no aggregate. */
static void
test_nothing_of_a_mixed_phase_is_a_sum(void **state)
{
	static const struct node_case nodes[] = {
		{ "a", NODE_DONE, 0, 2000, 20, 20 },
		{ "b", NODE_DONE, 0, 2000, 20, 20 },
	};
	struct job job;

	(void)state;
	field_struct_init(&job_desc, &job);
	for (int failed = 0; failed < 2; failed++) {
		struct phase_result phase;
		double bytes, ops;

		phase_fill(&phase, nodes, 2, PHASE_MIXED);
		for (size_t i = 0; i < 2; i++)
			node_mixes(&phase.nodes[i]);
		phase.nodes[1].state = failed ? NODE_FAILED : NODE_DONE;
		for (int again = 0; again < 2; again++) {
			assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
			assert_true(phase_result_mixes(&phase));
			assert_null(phase.aggregate.to_end);
			assert_null(phase.aggregate.stonewalled);
			for (size_t i = 0; i < 2; i++) {
				const struct node_result *n = &phase.nodes[i];

				assert_true(n->bytes == LS_UNKNOWN_U64 && isnan(n->bytes_per_s));
				assert_int_equal(n->series.bytes_count + n->series.ops_count, 0);
				assert_true(
				    n->workers[0].bytes == LS_UNKNOWN_U64 && n->workers[0].ops == LS_UNKNOWN_U64);
				assert_int_equal(n->workers[0].read->bytes, 10);
				assert_int_equal(n->by_op.read->series->bytes_count, 4);
			}
			node_series_done_at(
			    &phase.nodes[0], phase.nodes[0].by_op.read->series, 1000 * MS, &bytes, &ops);
			check_f64("mixed", "read in the first half", bytes, 3);
		}
		if (!failed)
			check_f64("mixed", "overlap", phase.aggregate.overlap, 1);
		field_struct_fini(&phase_result_desc, &phase);
	}
	field_struct_fini(&job_desc, &job);
}

static void
test_latencies_are_merged_not_averaged(void **state)
{
	static const struct node_case nodes[] = {
		{ "a", NODE_DONE, 0, 2000, 3, 3 },
		{ "b", NODE_DONE, 0, 2000, 1, 1 },
	};
	struct phase_result phase;
	struct job job;
	struct ls_err err = { 0 };

	(void)state;
	field_struct_init(&job_desc, &job);
	phase_fill(&phase, nodes, 2, PHASE_READ);
	node_reads(&phase.nodes[0], (const uint64_t[]){ 10, 20, 30 }, 3);
	node_reads(&phase.nodes[1], (const uint64_t[]){ 100 }, 1);
	assert_int_equal(phase_result_aggregate(&phase, &job, &err), LS_OK);
	assert_non_null(phase.aggregate.latency_ns);
	assert_int_equal(phase.aggregate.latency_ns->count, 4);
	assert_int_equal(phase.aggregate.latency_ns->p50, 20);
	assert_int_equal(phase.aggregate.latency_ns->max, 100);
	check_f64("merged", "mean", phase.aggregate.latency_ns->mean, 40);
	assert_int_equal(phase.nodes[0].latency_ns->p50, 20);
	check_f64("by_op", "read", by_op_get(&phase.aggregate.by_op, OP_READ)->ops_per_s, 2);

	/* once more: nothing is added twice */
	assert_int_equal(phase_result_aggregate(&phase, &job, &err), LS_OK);
	assert_int_equal(phase.aggregate.latency_ns->count, 4);

	free(phase.nodes[1].by_op.read->latency_ns.histogram.scheme);
	phase.nodes[1].by_op.read->latency_ns.histogram.scheme = ls_strdup("foreign");
	assert_int_equal(phase_result_aggregate(&phase, &job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "node b"));
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

static void
test_page_cache_is_said_of_buffered_writes_alone(void **state)
{
	static const struct {
		enum phase_kind kind;
		bool direct, fsync, want;
	} cases[] = {
		{ PHASE_WRITE, false, false, true },
		{ PHASE_RANDOM_WRITE, false, false, true },
		{ PHASE_WRITE, true, false, false },
		{ PHASE_WRITE, false, true, false },
		{ PHASE_READ, false, false, false },
		{ PHASE_STAT, false, false, false },
	};
	static const struct node_case nodes[] = { { "a", NODE_DONE, 0, 2000, 3000, 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct phase_result phase;
		struct job job;

		field_struct_init(&job_desc, &job);
		phase_fill(&phase, nodes, 1, cases[i].kind);
		phase.spec.direct = cases[i].direct;
		phase.spec.fsync = cases[i].fsync;
		assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
		assert_int_equal(phase.aggregate.page_cache, cases[i].want);
		field_struct_fini(&phase_result_desc, &phase);
		field_struct_fini(&job_desc, &job);
	}
}

static void
test_done_at_is_linear_within_a_step(void **state)
{
	static const struct {
		int64_t t_ms;
		double bytes;
	} cases[] = { { -5, 0 }, { 0, 0 }, { 100, 0 }, { 150, 50 }, { 200, 100 }, { 275, 175 }, { 350, 250 },
		{ 999, 250 } };
	static const struct node_case c = { "a", NODE_DONE, 100, 350, 250, 250 };
	struct node_result node;

	(void)state;
	node_fill(&node, &c);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double bytes, ops;

		node_result_done_at(&node, cases[i].t_ms * MS, &bytes, &ops);
		check_f64("done at", "bytes", bytes, cases[i].bytes);
		check_f64("done at", "ops", ops, cases[i].bytes);
	}
	field_struct_fini(&node_result_desc, &node);
}

static void
test_clock_share_is_judged(void **state)
{
	static const struct node_case nodes[] = { { "a", NODE_DONE, 0, 2000, 3000, 3 } };
	struct phase_result phase;
	struct job job;

	(void)state;
	field_struct_init(&job_desc, &job);
	phase_fill(&phase, nodes, 1, PHASE_READ);
	phase.start_skew_uncertainty_ns = 11 * MS;
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	check_warning("clock", &phase, "clock uncertainty");
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

static void
test_bonnie_has_no_rate_below_half_a_second(void **state)
{
	static const struct node_case nodes[] = { { "slow", NODE_DONE, 0, 500, 500000, 50 },
		{ "fast", NODE_DONE, 0, 499, 500000, 50 } };
	static const struct node_case fast = { "fast", NODE_DONE, 0, 499, 500000, 50 };
	struct phase_result phase;
	struct job job;

	(void)state;
	field_struct_init(&job_desc, &job);
	phase_fill(&phase, nodes, 2, PHASE_BLOCK_IN);
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	check_f64("half a second", "slow", phase.nodes[0].bytes_per_s, 1 * MB);
	assert_true(isnan(phase.nodes[1].bytes_per_s) && isnan(phase.nodes[1].ops_per_s));
	check_f64("half a second", "all", phase.aggregate.last_done.bytes_per_s, 2 * MB);
	check_warning("fast", &phase, "less than half a second");
	field_struct_fini(&phase_result_desc, &phase);

	phase_fill(&phase, &fast, 1, PHASE_BLOCK_IN);
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	assert_true(isnan(phase.aggregate.last_done.bytes_per_s) && isnan(phase.aggregate.sum_of_rates.ops_per_s));
	assert_int_equal(phase.aggregate.bytes, 500000);
	field_struct_fini(&phase_result_desc, &phase);

	phase_fill(&phase, &fast, 1, PHASE_READ); /* no phase of bonnie++ */
	assert_int_equal(phase_result_aggregate(&phase, &job, NULL), LS_OK);
	check_f64("others", "all", phase.aggregate.last_done.bytes_per_s, 500000 / 0.499);
	field_struct_fini(&phase_result_desc, &phase);
	field_struct_fini(&job_desc, &job);
}

static void
add_node(struct results *r, const char *name, const char *kernel, const char *boot_id)
{
	r->nodes = ls_grow(r->nodes, r->nodes_count, sizeof(*r->nodes));
	struct run_node *node = &r->nodes[r->nodes_count++];

	field_struct_init(&run_node_desc, node);
	free(node->name);
	node->name = ls_strdup(name);
	node->facts.kernel = ls_strdup(kernel);
	node->facts.boot_id = ls_strdup(boot_id);
	node->facts.memory_bytes = 1 << 30;
}

static bool
run_warns(const struct results *r, const char *part)
{
	for (size_t i = 0; i < r->run.warnings_count; i++)
		if (strstr(r->run.warnings[i], part) != NULL)
			return true;
	return false;
}

static void
test_the_run_is_judged_by_its_nodes(void **state)
{
	static const struct node_case nodes[] = { { "a", NODE_DONE, 0, 2000, 3000, 3 } };
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	results_add_quality_warnings(&r);
	assert_int_equal(r.run.warnings_count, 0);

	add_node(&r, "a", "6.1", "same");
	add_node(&r, "b", "6.2", "same");
	r.phases = ls_calloc(1, sizeof(*r.phases));
	r.phases_count = 1;
	phase_fill(&r.phases[0], nodes, 1, PHASE_READ);
	r.phases[0].spec.file_size = 2ULL << 30;
	results_add_quality_warnings(&r);
	assert_true(run_warns(&r, "different kernels: a has \"6.1\", b has \"6.2\""));
	assert_true(run_warns(&r, "not a cluster result"));
	assert_false(run_warns(&r, "file set")); /* exactly twice the memory */

	size_t before = r.run.warnings_count;
	results_add_quality_warnings(&r);
	assert_int_equal(r.run.warnings_count, before);
	r.phases[0].spec.file_size--;
	results_add_quality_warnings(&r);
	assert_true(run_warns(&r, "below twice the memory"));
	field_struct_fini(&results_desc, &r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aggregates_equal_hand_computed_ones),
		cmocka_unit_test(test_overlap_looks_at_workers_not_at_nodes),
		cmocka_unit_test(test_huge_values_saturate),
		cmocka_unit_test(test_reads_and_writes_are_not_added_up),
		cmocka_unit_test(test_nothing_of_a_mixed_phase_is_a_sum),
		cmocka_unit_test(test_latencies_are_merged_not_averaged),
		cmocka_unit_test(test_page_cache_is_said_of_buffered_writes_alone),
		cmocka_unit_test(test_done_at_is_linear_within_a_step),
		cmocka_unit_test(test_clock_share_is_judged),
		cmocka_unit_test(test_bonnie_has_no_rate_below_half_a_second),
		cmocka_unit_test(test_the_run_is_judged_by_its_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
