/*
 * Samples in the text form of Prometheus and OpenMetrics, for a node exporter's textfile folder or a push gateway: families of
 * gauges and summaries in base units (seconds, bytes). What is not known has no sample. A run is over when it is reported, so
 * that nothing here is a counter.
 */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/by_op.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/side_table.h"

extern const struct report_format report_openmetrics;

struct metrics {
	struct sink *out;
	const struct results *results;
	const char *name; /* of the family */
};

/* --- lines -------------------------------------------------------------------------------------------------------- */

static void
add_escaped(struct sink *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || *text == '"')
			sink_printf(out, "\\%c", *text);
		else if (*text == '\n')
			sink_add(out, "\\n", 2);
		else
			sink_add(out, text, 1);
	}
}

static void
label(struct sink *out, const char *name, const char *value)
{
	sink_printf(out, ",%s=\"", name);
	add_escaped(out, value == NULL ? "" : value);
	sink_add(out, "\"", 1);
}

static void
family(struct metrics *m, const char *name, const char *type, const char *unit, const char *help)
{
	m->name = name;
	sink_printf(m->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	if (unit != NULL)
		sink_printf(m->out, "# UNIT %s %s\n", name, unit);
}

/* The name with the labels that tell the phase, left open for more. node NULL: all of them. */
static void
begin(const struct metrics *m, const char *suffix, const struct phase_result *phase, const char *node)
{
	sink_printf(m->out, "%s%s{run=\"", m->name, suffix);
	add_escaped(m->out, m->results->run.id);
	sink_add(m->out, "\"", 1);
	if (phase == NULL)
		return;
	sink_printf(m->out, ",phase=\"%" PRIu64 "\",repetition=\"%" PRIu64 "\"", phase->index, phase->repetition);
	label(m->out, "name", phase->name);
	label(m->out, "test", report_test(phase));
	if (node != NULL)
		label(m->out, "node", node);
}

static void
end(const struct metrics *m, double value)
{
	sink_printf(m->out, "} %.15g\n", value);
}

static bool
is_known_ns(int64_t ns)
{
	return ns != LS_UNKNOWN_I64;
}

static double
seconds(int64_t ns)
{
	return is_known_ns(ns) ? (double)ns / 1e9 : (double)NAN;
}

static double
number(uint64_t value)
{
	return value == LS_UNKNOWN_U64 ? (double)NAN : (double)value;
}

/* --- latencies ---------------------------------------------------------------------------------------------------- */

/* Further labels of a sample. */
struct tag {
	const char *name, *value;
};

#define TAGS 2 /* at most; those without a name do not count */

static void
tags(const struct metrics *m, const struct tag list[TAGS])
{
	for (size_t i = 0; i < TAGS && list[i].name != NULL; i++)
		label(m->out, list[i].name, list[i].value);
}

static void
summary(const struct metrics *m, const struct phase_result *phase, const char *node, const struct tag list[TAGS],
    const struct latency *l)
{
	const struct {
		const char *quantile;
		int64_t ns;
	} lines[] = {
		{ "0", l->min },
		{ "0.5", l->p50 },
		{ "0.9", l->p90 },
		{ "0.99", l->p99 },
		{ "0.999", l->p99_9 },
		{ "0.9999", l->p99_99 },
		{ "1", l->max },
	};

	if (l->count == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		if (!is_known_ns(lines[i].ns))
			continue;
		begin(m, "", phase, node);
		tags(m, list);
		label(m->out, "quantile", lines[i].quantile);
		end(m, seconds(lines[i].ns));
	}
	begin(m, "_sum", phase, node);
	tags(m, list);
	end(m, (double)l->sum / 1e9);
	begin(m, "_count", phase, node);
	tags(m, list);
	end(m, (double)l->count);
}

static void
summaries(const struct metrics *m, const struct phase_result *phase, const char *node, const struct by_op *by_op)
{
	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);

		if (r != NULL)
			summary(m, phase, node, (const struct tag[TAGS]){ { "op", op_names[op] } }, &r->latency_ns);
	}
}

static void
latencies(struct metrics *m)
{
	family(m, "lockstep_phase_latency_seconds", "summary", "seconds",
	    "Time per operation of all nodes, by operation; quantiles of the merged histogram.");
	for (size_t p = 0; p < m->results->phases_count; p++)
		summaries(m, &m->results->phases[p], NULL, &m->results->phases[p].aggregate.by_op);
	family(m, "lockstep_node_latency_seconds", "summary", "seconds", "Time per operation of a node, by operation.");
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct phase_result *phase = &m->results->phases[p];

		for (size_t n = 0; n < phase->nodes_count; n++)
			summaries(m, phase, phase->nodes[n].node, &phase->nodes[n].by_op);
	}
}

/* --- rates of all nodes, by aggregate ------------------------------------------------------------------------------- */

/* Where reads and writes are mixed there is a sample for each and none for both. */
static void
rates_by_op(struct metrics *m, const struct phase_result *phase, bool bytes)
{
	for (int op = 0; op < OP_COUNT && by_op_mixes(phase); op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);
		double value = r == NULL ? (double)NAN : bytes ? r->bytes_per_s : r->ops_per_s;

		if (!isfinite(value))
			continue;
		begin(m, "", phase, NULL);
		label(m->out, "aggregate", "last-done");
		label(m->out, "op", op_names[op]);
		end(m, value);
	}
}

static void
rates(struct metrics *m, const char *name, const char *unit, const char *help, bool bytes)
{
	family(m, name, "gauge", unit, help);
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct aggregate *a = &m->results->phases[p].aggregate;
		const struct {
			const char *name;
			const struct rate *rate;
		} rows[] = {
			{ "last-done", &a->last_done },
			{ "all-active", &a->all_active },
			{ "first-done", &a->first_done },
			{ "sum-of-rates", &a->sum_of_rates },
		};

		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			double value = bytes ? rows[i].rate->bytes_per_s : rows[i].rate->ops_per_s;

			if (!isfinite(value))
				continue;
			begin(m, "", &m->results->phases[p], NULL);
			label(m->out, "aggregate", rows[i].name);
			end(m, value);
		}
		rates_by_op(m, &m->results->phases[p], bytes);
	}
}

/* --- one value for a phase or a node --------------------------------------------------------------------------------- */

static double
phase_done(const struct phase_result *phase)
{
	return phase->state == PHASE_STATE_DONE ? 1 : 0;
}

static double
phase_duration(const struct phase_result *phase)
{
	return seconds(phase->duration_ns);
}

static double
phase_skew(const struct phase_result *phase)
{
	return seconds(phase->start_skew_ns);
}

static double
phase_doubt(const struct phase_result *phase)
{
	return seconds(phase->start_skew_uncertainty_ns);
}

static double
phase_overlap(const struct phase_result *phase)
{
	return phase->aggregate.overlap;
}

static double
phase_fairness(const struct phase_result *phase)
{
	return phase->aggregate.fairness;
}

static double
phase_slowest(const struct phase_result *phase)
{
	return phase->aggregate.slowest_to_median;
}

static double
phase_bytes(const struct phase_result *phase)
{
	return number(phase->aggregate.bytes);
}

static double
phase_ops(const struct phase_result *phase)
{
	return number(phase->aggregate.ops);
}

static double
phase_errors(const struct phase_result *phase)
{
	return number(phase->aggregate.errors);
}

static double
phase_void(const struct phase_result *phase)
{
	return (double)phase->attempts_count;
}

static double
phase_warnings(const struct phase_result *phase)
{
	return (double)phase->warnings_count;
}

static double
op_bytes_per_s(const struct op_result *r)
{
	return r->bytes_per_s;
}

static double
op_ops_per_s(const struct op_result *r)
{
	return r->ops_per_s;
}

static double
op_bytes(const struct op_result *r)
{
	return number(r->bytes);
}

static double
op_ops(const struct op_result *r)
{
	return number(r->ops);
}

static const struct phase_family {
	const char *name, *unit, *help;
	double (*value)(const struct phase_result *phase);
	double (*apart)(
	    const struct op_result *r); /* of an operation, where the phase mixes them; NULL: it is not of operations */
} phase_families[] = {
	{ "lockstep_phase_done", NULL, "1: the phase was completed; 0: it failed or was cut short.", phase_done, NULL },
	{ "lockstep_phase_duration_seconds", "seconds", "Last end minus first start.", phase_duration, NULL },
	{ "lockstep_phase_start_skew_seconds", "seconds", "Last minus first first-operation of all workers.",
	    phase_skew, NULL },
	{ "lockstep_phase_start_skew_uncertainty_seconds", "seconds", "The skew lies within this of the truth.",
	    phase_doubt, NULL },
	{ "lockstep_phase_overlap_ratio", "ratio", "All-active time over whole time.", phase_overlap, NULL },
	{ "lockstep_phase_fairness_ratio", "ratio", "Jain's index over the nodes' rates.", phase_fairness, NULL },
	{ "lockstep_phase_slowest_to_median_ratio", "ratio", "Slowest node's rate over the median node's.",
	    phase_slowest, NULL },
	{ "lockstep_phase_bytes", "bytes", "Bytes moved by all nodes.", phase_bytes, op_bytes },
	{ "lockstep_phase_operations", "operations", "Operations of all nodes.", phase_ops, op_ops },
	{ "lockstep_phase_errors", "errors", "Failed operations of all nodes.", phase_errors, NULL },
	{ "lockstep_phase_void_attempts", "attempts", "Attempts to start together that did not count.", phase_void,
	    NULL },
	{ "lockstep_phase_warnings", "warnings", "Warnings about these figures.", phase_warnings, NULL },
};

static double
node_done(const struct node_result *node)
{
	return node->state == NODE_DONE ? 1 : 0;
}

static double
node_bytes_per_s(const struct node_result *node)
{
	return node->bytes_per_s;
}

static double
node_ops_per_s(const struct node_result *node)
{
	return node->ops_per_s;
}

static double
node_bytes(const struct node_result *node)
{
	return number(node->bytes);
}

static double
node_ops(const struct node_result *node)
{
	return number(node->ops);
}

static double
node_errors(const struct node_result *node)
{
	return number(node->errors);
}

static double
node_user(const struct node_result *node)
{
	return seconds(node->cpu.user_ns);
}

static double
node_system(const struct node_result *node)
{
	return seconds(node->cpu.system_ns);
}

static double
node_device_read(const struct node_result *node)
{
	return node->device == NULL ? (double)NAN : number(node->device->read_bytes);
}

static double
node_device_write(const struct node_result *node)
{
	return node->device == NULL ? (double)NAN : number(node->device->write_bytes);
}

static const struct node_family {
	const char *name, *unit, *help;
	double (*value)(const struct node_result *node);
	double (*apart)(const struct op_result *r); /* likewise */
} node_families[] = {
	{ "lockstep_node_done", NULL, "1: the node completed the phase; 0: it was idle, lost or failed.", node_done,
	    NULL },
	{ "lockstep_node_throughput_bytes_per_second", "bytes_per_second", "Its own bytes over its own time.",
	    node_bytes_per_s, op_bytes_per_s },
	{ "lockstep_node_operations_per_second", "operations_per_second", "Its own operations over its own time.",
	    node_ops_per_s, op_ops_per_s },
	{ "lockstep_node_bytes", "bytes", "Bytes moved.", node_bytes, op_bytes },
	{ "lockstep_node_operations", "operations", "Operations.", node_ops, op_ops },
	{ "lockstep_node_errors", "errors", "Failed operations.", node_errors, NULL },
	{ "lockstep_node_cpu_user_seconds", "seconds", "CPU time of its workers in user mode.", node_user, NULL },
	{ "lockstep_node_cpu_system_seconds", "seconds", "CPU time of its workers in the kernel.", node_system, NULL },
	{ "lockstep_node_device_read_bytes", "bytes", "What the volume's device read meanwhile.", node_device_read,
	    NULL },
	{ "lockstep_node_device_written_bytes", "bytes", "What the volume's device wrote meanwhile.", node_device_write,
	    NULL },
};

/* Reads and writes of a phase that mixes them: a sample each. */
static void
apart(const struct metrics *m, const struct phase_result *phase, const char *node, const struct by_op *by_op,
    double (*value)(const struct op_result *r))
{
	for (int op = 0; op < OP_COUNT && value != NULL && by_op_mixes(phase); op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);

		if (r == NULL || !isfinite(value(r)))
			continue;
		begin(m, "", phase, node);
		label(m->out, "op", op_names[op]);
		end(m, value(r));
	}
}

static void
phase_family(struct metrics *m, const struct phase_family *f)
{
	family(m, f->name, "gauge", f->unit, f->help);
	for (size_t p = 0; p < m->results->phases_count; p++) {
		double value = f->value(&m->results->phases[p]);

		apart(m, &m->results->phases[p], NULL, &m->results->phases[p].aggregate.by_op, f->apart);
		if (!isfinite(value))
			continue;
		begin(m, "", &m->results->phases[p], NULL);
		end(m, value);
	}
}

static void
node_family(struct metrics *m, const struct node_family *f)
{
	family(m, f->name, "gauge", f->unit, f->help);
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct phase_result *phase = &m->results->phases[p];

		for (size_t n = 0; n < phase->nodes_count; n++) {
			double value = f->value(&phase->nodes[n]);

			apart(m, phase, phase->nodes[n].node, &phase->nodes[n].by_op, f->apart);
			if (!isfinite(value))
				continue;
			begin(m, "", phase, phase->nodes[n].node);
			end(m, value);
		}
	}
}

/* --- each node alone against all together; what nodes saw of each other ---------------------------------------------- */

static void
ratio(const struct metrics *m, const struct phase_result *phase, const char *node, const char *aggregate, double value)
{
	if (!isfinite(value))
		return;
	begin(m, "", phase, node);
	if (aggregate != NULL)
		label(m->out, "aggregate", aggregate);
	end(m, value);
}

static bool
counts_bytes(const struct phase_result *phase)
{
	return phase_kind_info((enum phase_kind)phase->kind)->unit == PHASE_BYTES;
}

/* The rates alone of phases that count in bytes, or of the others. */
static void
alone(struct metrics *m, bool bytes)
{
	family(m, bytes ? "lockstep_node_alone_bytes_per_second" : "lockstep_node_alone_operations_per_second", "gauge",
	    bytes ? "bytes_per_second" : "operations_per_second", "Its own rate in the phase that it had for itself.");
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct phase_result *phase = &m->results->phases[p];
		const struct scaling *s = phase->aggregate.scaling;

		for (size_t n = 0; s != NULL && counts_bytes(phase) == bytes && n < s->nodes_count; n++)
			ratio(m, phase, s->nodes[n].node, NULL, s->nodes[n].alone);
	}
}

static void
scalings(struct metrics *m)
{
	bool any = false;

	for (size_t p = 0; p < m->results->phases_count; p++)
		any |= m->results->phases[p].aggregate.scaling != NULL;
	if (!any)
		return;
	family(m, "lockstep_phase_scaling_efficiency_ratio", "gauge", "ratio",
	    "All together over what the nodes reach alone, added: 1 where nothing is lost.");
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct scaling *s = m->results->phases[p].aggregate.scaling;

		if (s == NULL)
			continue;
		ratio(m, &m->results->phases[p], NULL, "last-done", s->efficiency);
		ratio(m, &m->results->phases[p], NULL, "all-active", s->efficiency_all_active);
	}
	family(
	    m, "lockstep_node_scaling_loss_ratio", "gauge", "ratio", "1 - together/alone; below 0: faster together.");
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct scaling *s = m->results->phases[p].aggregate.scaling;

		for (size_t n = 0; s != NULL && n < s->nodes_count; n++)
			ratio(m, &m->results->phases[p], s->nodes[n].node, NULL, s->nodes[n].loss);
	}
	alone(m, true);
	alone(m, false);
}

static void
promise_info(struct metrics *m)
{
	family(
	    m, "lockstep_phase_promise_info", "gauge", NULL, "What came of looking at what other nodes did; always 1.");
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct promise_result *r = m->results->phases[p].promise;

		if (r == NULL)
			continue;
		begin(m, "", &m->results->phases[p], NULL);
		label(m->out, "what", r->what);
		label(m->out, "outcome", field_enum_name(promise_outcome_names, r->outcome));
		label(m->out, "promised", r->promised ? "yes" : "no");
		end(m, 1);
	}
}

static void
promise_count(struct metrics *m, const char *name, const char *help, bool broken)
{
	family(m, name, "gauge", NULL, help);
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct promise_result *r = m->results->phases[p].promise;

		if (r != NULL)
			ratio(m, &m->results->phases[p], NULL, NULL, number(broken ? r->broken : r->looked));
	}
}

static void
seen(struct metrics *m)
{
	family(m, "lockstep_seen_after_seconds", "summary", "seconds",
	    "Time until a node (by) saw a change of another (from).");
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct promise_result *r = m->results->phases[p].promise;

		for (size_t i = 0; r != NULL && i < r->seen_after_count; i++) {
			const struct seen_after *s = &r->seen_after[i];

			summary(m, &m->results->phases[p], NULL,
			    (const struct tag[TAGS]){ { "from", s->from }, { "by", s->by } }, &s->latency_ns);
		}
	}
}

static void
promises(struct metrics *m)
{
	bool any = false, pairs = false;

	for (size_t p = 0; p < m->results->phases_count; p++) {
		any |= m->results->phases[p].promise != NULL;
		pairs |= m->results->phases[p].promise != NULL && m->results->phases[p].promise->seen_after_count > 0;
	}
	if (!any)
		return;
	promise_info(m);
	promise_count(m, "lockstep_phase_promise_looked", "Things that nodes looked at.", false);
	promise_count(m, "lockstep_phase_promise_broken", "Of these not as they must be.", true);
	if (pairs)
		seen(m);
}

/* --- what a phase has beside its rates ---------------------------------------------------------------------------------- */

static const struct side_unit {
	const char *unit, *suffix, *name;
	double factor;
} side_units[] = {
	{ "ns", "_seconds", "seconds", 1e-9 },
	{ "B/s", "_bytes_per_second", "bytes_per_second", 1 },
	{ "op/s", "_operations_per_second", "operations_per_second", 1 },
	{ "x", "_ratio", "ratio", 1 },
	{ "1", "", NULL, 1 },
	{ "bool", "", NULL, 1 },
};

/* One column of one kind of side table, in one unit: a family, begun with its first sample. */
struct side_family {
	const struct side_unit *unit;
	size_t column;
	bool of_nodes, begun;
	char name[128]; /* lives as long as the family is written */
};

static void
side_sample(struct metrics *m, struct side_family *f, const struct phase_result *phase, const struct side_table *t,
    const char *node, const struct side_value *value)
{
	const struct side_column *c = f->of_nodes ? &t->columns[f->column] : &t->totals[f->column];

	if (!value->known || c->metric == NULL || strcmp(c->unit, f->unit->unit) != 0)
		return;
	if (!f->begun) {
		snprintf(f->name, sizeof(f->name), "lockstep_%s_%s%s", f->of_nodes ? "node" : "phase", c->metric,
		    f->unit->suffix);
		family(m, f->name, "gauge", f->unit->name, t->heading);
		f->begun = true;
	}
	begin(m, "", phase, node);
	end(m, value->value * f->unit->factor);
}

static void
side_family(struct metrics *m, side_table_fn make, struct side_family *f)
{
	for (size_t p = 0; p < m->results->phases_count; p++) {
		const struct phase_result *phase = &m->results->phases[p];
		struct side_table t;

		if (!make(phase, &t))
			continue;
		if (!f->of_nodes && f->column < t.total_count)
			side_sample(m, f, phase, &t, NULL, &t.total_values[f->column]);
		for (size_t r = 0; f->of_nodes && f->column < t.column_count && r < t.row_count; r++)
			side_sample(m, f, phase, &t, t.rows[r].node, &t.rows[r].values[f->column]);
		side_table_fini(&t);
	}
}

static void
sides(struct metrics *m)
{
	for (size_t kind = 0; kind < SIDE_TABLES; kind++)
		for (size_t column = 0; column < SIDE_TOTALS + SIDE_COLUMNS; column++)
			for (size_t u = 0; u < ARRAY_LEN(side_units); u++) {
				bool of_nodes = column >= SIDE_TOTALS;
				struct side_family f = { .unit = &side_units[u],
					.column = of_nodes ? column - SIDE_TOTALS : column,
					.of_nodes = of_nodes };

				side_family(m, side_tables[kind], &f);
			}
}

static void
run(struct metrics *m)
{
	const struct run_info *r = &m->results->run;

	family(m, "lockstep_run_info", "gauge", NULL, "What the run was; always 1.");
	begin(m, "", NULL, NULL);
	label(m->out, "name", r->name);
	label(m->out, "state", field_enum_name(run_state_names, r->state));
	label(m->out, "version", report_version(m->results));
	label(m->out, "started_at", r->started_at);
	end(m, 1);
	family(m, "lockstep_run_nodes", "gauge", "nodes", "Nodes of the run.");
	begin(m, "", NULL, NULL);
	end(m, (double)m->results->nodes_count);
	family(m, "lockstep_run_warnings", "gauge", "warnings", "Warnings about the run as a whole.");
	begin(m, "", NULL, NULL);
	end(m, (double)r->warnings_count);
	if (!is_known_ns(r->duration_ns))
		return;
	family(m, "lockstep_run_duration_seconds", "gauge", "seconds", "From submission to end.");
	begin(m, "", NULL, NULL);
	end(m, seconds(r->duration_ns));
}

static enum ls_rc
render_openmetrics(const struct results *results, struct sink *out, struct ls_err *err)
{
	struct metrics m = { .out = out, .results = results };

	(void)err;
	run(&m);
	rates(&m, "lockstep_phase_throughput_bytes_per_second", "bytes_per_second",
	    "Bytes per second of all nodes, by the way of putting them together.", true);
	rates(&m, "lockstep_phase_operations_per_second", "operations_per_second",
	    "Operations per second of all nodes, likewise.", false);
	for (size_t i = 0; i < ARRAY_LEN(phase_families); i++)
		phase_family(&m, &phase_families[i]);
	for (size_t i = 0; i < ARRAY_LEN(node_families); i++)
		node_family(&m, &node_families[i]);
	scalings(&m);
	promises(&m);
	sides(&m);
	latencies(&m);
	sink_printf(out, "# EOF\n");
	return LS_OK;
}

const struct report_format report_openmetrics = {
	.name = "openmetrics",
	.extension = "prom",
	.help = "samples for Prometheus and OpenMetrics, in seconds and bytes",
	.render = render_openmetrics,
};
