/*
 * One value a row, so that spreadsheets and data frames can pivot it: phase, repetition, node, metric, value, unit. The node
 * "*all*" is all of them together (no node can have that name). Unknown values are empty. RFC 4180: CRLF, quotes doubled.
 */
#include "coordinator/report/csv_int.h"
#include "coordinator/report/format.h"
#include "coordinator/report/side_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct report_format report_csv;

#define ALL_NODES "*all*"

struct csv {
	struct sink *out;
	const struct phase_result *phase;
	const char *node;
};

static void
row_begin(const struct csv *csv, const char *metric)
{
	sink_printf(csv->out, "%" PRIu64 ",", csv->phase->index);
	csv_field(csv->out, csv->phase->name);
	sink_printf(csv->out, ",%" PRIu64 ",", csv->phase->repetition);
	csv_field(csv->out, csv->node);
	sink_printf(csv->out, ",");
	csv_field(csv->out, metric);
	sink_printf(csv->out, ",");
}

static void
row_f64(const struct csv *csv, const char *metric, double value, const char *unit)
{
	row_begin(csv, metric);
	if (isfinite(value))
		sink_printf(csv->out, "%.15g", value);
	sink_printf(csv->out, ",%s\r\n", unit);
}

static void
row_i64(const struct csv *csv, const char *metric, int64_t value, const char *unit)
{
	row_begin(csv, metric);
	if (value != LS_UNKNOWN_I64)
		sink_printf(csv->out, "%" PRId64, value);
	sink_printf(csv->out, ",%s\r\n", unit);
}

static void
row_u64(const struct csv *csv, const char *metric, uint64_t value, const char *unit)
{
	row_begin(csv, metric);
	if (value != LS_UNKNOWN_U64)
		sink_printf(csv->out, "%" PRIu64, value);
	sink_printf(csv->out, ",%s\r\n", unit);
}

static void
row_text(const struct csv *csv, const char *metric, const char *value)
{
	row_begin(csv, metric);
	csv_field(csv->out, value);
	sink_printf(csv->out, ",\r\n");
}

static void
rows_latency(const struct csv *csv, const char *op, const struct latency *l)
{
	const struct {
		const char *name;
		int64_t value;
	} rows[] = {
		{ "min", l->min },
		{ "p50", l->p50 },
		{ "p90", l->p90 },
		{ "p99", l->p99 },
		{ "p99_9", l->p99_9 },
		{ "p99_99", l->p99_99 },
		{ "max", l->max },
	};
	char metric[128];

	snprintf(metric, sizeof(metric), "%s_latency_mean", op);
	row_f64(csv, metric, l->mean, "ns");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(metric, sizeof(metric), "%s_latency_%s", op, rows[i].name);
		row_i64(csv, metric, rows[i].value, "ns");
	}
}

static void
rows_by_op(const struct csv *csv, const struct by_op *by_op)
{
	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);
		char metric[64];

		if (r == NULL)
			continue;
		snprintf(metric, sizeof(metric), "%s_bytes", op_names[op]);
		row_u64(csv, metric, r->bytes, "B");
		snprintf(metric, sizeof(metric), "%s_ops", op_names[op]);
		row_u64(csv, metric, r->ops, "op");
		snprintf(metric, sizeof(metric), "%s_bytes_per_s", op_names[op]);
		row_f64(csv, metric, r->bytes_per_s, "B/s");
		snprintf(metric, sizeof(metric), "%s_ops_per_s", op_names[op]);
		row_f64(csv, metric, r->ops_per_s, "op/s");
		rows_latency(csv, op_names[op], &r->latency_ns);
		if (r->service_ns != NULL) {
			snprintf(metric, sizeof(metric), "%s_from_issue", op_names[op]);
			rows_latency(csv, metric, r->service_ns);
		}
	}
}

static void
rows_rate(const struct csv *csv, const char *name, const struct rate *rate)
{
	char metric[64];

	snprintf(metric, sizeof(metric), "%s_bytes_per_s", name);
	row_f64(csv, metric, rate->bytes_per_s, "B/s");
	snprintf(metric, sizeof(metric), "%s_ops_per_s", name);
	row_f64(csv, metric, rate->ops_per_s, "op/s");
}

static void
rows_workers(const struct csv *csv, const char *name, const struct worker_rates *r)
{
	const struct {
		const char *name;
		double value;
	} rows[] = { { "children", r->children }, { "parent", r->parent }, { "worker_min", r->min },
		{ "worker_max", r->max }, { "worker_mean", r->mean } };
	char metric[64];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(metric, sizeof(metric), "%s_%s_bytes_per_s", name, rows[i].name);
		row_f64(csv, metric, rows[i].value, "B/s");
	}
	snprintf(metric, sizeof(metric), "%s_worker_least_bytes", name);
	row_u64(csv, metric, r->least_bytes, "B");
}

static void
rows_aggregate(const struct csv *csv)
{
	const struct phase_result *phase = csv->phase;
	const struct aggregate *a = &phase->aggregate;

	row_text(csv, "state", field_enum_name(phase_state_names, phase->state));
	row_i64(csv, "duration", phase->duration_ns, "ns");
	row_i64(csv, "start_skew", phase->start_skew_ns, "ns");
	row_i64(csv, "start_skew_uncertainty", phase->start_skew_uncertainty_ns, "ns");
	rows_rate(csv, "last_done", &a->last_done);
	rows_rate(csv, "all_active", &a->all_active);
	rows_rate(csv, "first_done", &a->first_done);
	rows_rate(csv, "sum_of_rates", &a->sum_of_rates);
	if (a->to_end != NULL)
		rows_workers(csv, "to_end", a->to_end);
	if (a->stonewalled != NULL)
		rows_workers(csv, "stonewalled", a->stonewalled);
	row_f64(csv, "overlap", a->overlap, "1");
	row_f64(csv, "fairness", a->fairness, "1");
	row_f64(csv, "slowest_to_median", a->slowest_to_median, "1");
	row_u64(csv, "bytes", a->bytes, "B");
	row_u64(csv, "ops", a->ops, "op");
	row_u64(csv, "errors", a->errors, "op");
	row_u64(csv, "page_cache", a->page_cache ? 1 : 0, "bool");
	row_u64(csv, "void_attempts", phase->attempts_count, "1");
	rows_by_op(csv, &a->by_op);
}

static void
rows_node(const struct csv *csv, const struct node_result *node)
{
	row_text(csv, "state", field_enum_name(node_state_names, node->state));
	row_i64(csv, "start", node->start_ns, "ns");
	row_i64(csv, "end", node->end_ns, "ns");
	row_f64(csv, "bytes_per_s", node->bytes_per_s, "B/s");
	row_f64(csv, "ops_per_s", node->ops_per_s, "op/s");
	row_u64(csv, "bytes", node->bytes, "B");
	row_u64(csv, "ops", node->ops, "op");
	row_u64(csv, "errors", node->errors, "op");
	row_i64(csv, "cpu_user", node->cpu.user_ns, "ns");
	row_i64(csv, "cpu_system", node->cpu.system_ns, "ns");
	row_i64(csv, "flush", node->flush_ns, "ns");
	row_u64(csv, "device_read", node->device == NULL ? LS_UNKNOWN_U64 : node->device->read_bytes, "B");
	row_u64(csv, "device_write", node->device == NULL ? LS_UNKNOWN_U64 : node->device->write_bytes, "B");
	row_i64(csv, "agent_cpu", node->agent.cpu_ns, "ns");
	row_u64(csv, "agent_net", node->agent.net_bytes, "B");
	if (node->verify != NULL) {
		row_u64(csv, "verified_blocks", node->verify->blocks, "1");
		row_u64(csv, "mismatches", node->verify->mismatches, "1");
	}
	rows_by_op(csv, &node->by_op);
}

/* Of all nodes together, then of those that were measured alone: rows of the node's name. */
static void
rows_scaling(struct csv csv)
{
	const struct scaling *s = csv.phase->aggregate.scaling;
	bool bytes = phase_kind_info((enum phase_kind)csv.phase->kind)->unit == PHASE_BYTES;
	const char *unit = bytes ? "B/s" : "op/s";

	if (s == NULL)
		return;
	row_f64(&csv, "scaling_alone_mean", s->alone, unit);
	row_f64(&csv, "scaling_efficiency", s->efficiency, "1");
	row_f64(&csv, "scaling_efficiency_all_active", s->efficiency_all_active, "1");
	for (size_t n = 0; n < s->nodes_count; n++) {
		csv.node = s->nodes[n].node;
		row_f64(&csv, "scaling_alone", s->nodes[n].alone, unit);
		row_f64(&csv, "scaling_loss", s->nodes[n].loss, "1");
	}
}

/* Of all nodes together, then how long each node's changes took until others saw them: rows of who saw them. */
static void
rows_promise(struct csv csv)
{
	const struct promise_result *r = csv.phase->promise;
	char metric[160];

	if (r == NULL)
		return;
	row_text(&csv, "promise_about", r->what);
	row_text(&csv, "outcome", field_enum_name(promise_outcome_names, r->outcome));
	row_u64(&csv, "promised", r->promised ? 1 : 0, "bool");
	row_text(&csv, "promise_source", r->source);
	row_u64(&csv, "looked", r->looked, "1");
	row_u64(&csv, "broken", r->broken, "1");
	if (r->seen_after_count > 0)
		row_i64(&csv, "seen_uncertainty", r->uncertainty_ns, "ns");
	for (size_t i = 0; i < r->seen_after_count; i++) {
		const struct seen_after *s = &r->seen_after[i];

		csv.node = s->by;
		snprintf(metric, sizeof(metric), "seen_from_%.64s", s->from);
		rows_latency(&csv, metric, &s->latency_ns);
		snprintf(metric, sizeof(metric), "seen_from_%.64s_unseen", s->from);
		row_u64(&csv, metric, s->unseen, "1");
		snprintf(metric, sizeof(metric), "seen_from_%.64s_early", s->from);
		row_u64(&csv, metric, s->early, "1");
	}
}

static void
rows_steady(const struct csv *csv)
{
	const struct steady *s = csv->phase->steady;
	const char *unit = s != NULL && s->operations ? "op/s" : "B/s";

	if (s == NULL)
		return;
	row_u64(csv, "steady_reached", s->reached ? 1 : 0, "bool");
	row_i64(csv, "steady_window_end", s->window_end_ns, "ns");
	row_i64(csv, "steady_end", s->end_ns, "ns");
	row_u64(csv, "steady_windows", s->windows, "1");
	row_f64(csv, "steady_mean", s->mean, unit);
	row_f64(csv, "steady_range", s->range_percent, "%");
	row_f64(csv, "steady_slope", s->slope_percent, "%");
}

static void
row_side(const struct csv *csv, const struct side_column *column, const struct side_value *value)
{
	row_f64(csv, column->metric, value->known ? value->value : (double)NAN,
	    strcmp(column->unit, "x") == 0 ? "1" : column->unit);
}

/* Of all nodes together, then of each: rows of the node's name. */
static void
rows_side(void *arg, const struct side_table *t)
{
	struct csv csv = *(const struct csv *)arg;

	for (size_t c = 0; c < t->total_count; c++)
		row_side(&csv, &t->totals[c], &t->total_values[c]);
	for (size_t n = 0; n < t->row_count; n++) {
		csv.node = t->rows[n].node;
		for (size_t c = 0; c < t->column_count; c++)
			row_side(&csv, &t->columns[c], &t->rows[n].values[c]);
	}
}

/* What came of a phase in which nodes look at each other. */
static void
rows_metrics(const struct csv *csv, const struct metric *metrics, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_f64(csv, metrics[i].name, metrics[i].value, metrics[i].unit);
}

static void
rows_imported(const struct csv *csv)
{
	const struct imported_phase *imported = csv->phase->imported;

	if (imported == NULL)
		return;
	row_u64(csv, "file_size", imported->file_size, "B");
	row_u64(csv, "record_size", imported->record_size, "B");
	rows_metrics(csv, imported->metrics, imported->metrics_count);
}

static enum ls_rc
render_csv(const struct results *results, struct sink *out, struct ls_err *err)
{
	(void)err;
	sink_printf(out, "phase_index,phase,repetition,node,metric,value,unit\r\n");
	for (size_t p = 0; p < results->phases_count; p++) {
		struct csv csv = { .out = out, .phase = &results->phases[p], .node = ALL_NODES };

		rows_aggregate(&csv);
		rows_steady(&csv);
		rows_imported(&csv);
		rows_scaling(csv);
		rows_promise(csv);
		side_tables_each(csv.phase, rows_side, &csv);
		for (size_t n = 0; n < csv.phase->nodes_count; n++) {
			csv.node = csv.phase->nodes[n].node;
			rows_node(&csv, &csv.phase->nodes[n]);
			rows_metrics(&csv, csv.phase->nodes[n].metrics, csv.phase->nodes[n].metrics_count);
		}
	}
	return LS_OK;
}

const struct report_format report_csv = {
	.name = "csv",
	.extension = "csv",
	.help = "one value a row: phase, repetition, node, metric, value, unit",
	.render = render_csv,
};
