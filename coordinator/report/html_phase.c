/* One phase as a card: tiles, charts, starts, a row for each machine. */
#include "coordinator/report/html_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/base/units.h"
#include "coordinator/report/by_op.h"
#include "coordinator/report/promise_int.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/side_table.h"
#include "coordinator/report/steady.h"
#include "coordinator/report/text_int.h"

#define MANY_NODES 40 /* from here the table of nodes is folded */

static void
tile(struct sink *out, const char *what, double value, const char *unit, const char *more)
{
	sink_printf(out, "<div class=tile><div class=what>%s</div><div class=value>", what);
	html_number(out, value);
	sink_printf(out, " <span class=unit>%s</span></div><div class=more>%s</div></div>\n",
	    isfinite(value) ? unit : "", more);
}

static void
tile_duration(struct sink *out, const char *what, int64_t ns, const char *before, int64_t more_ns)
{
	char value[32];
	char more[32];

	sink_printf(out,
	    "<div class=tile><div class=what>%s</div><div class=value>%s</div><div class=more>%s%s</div></div>\n", what,
	    text_duration(ns, value, sizeof(value)), before, text_duration(more_ns, more, sizeof(more)));
}

/* One operation of a phase that mixes them. */
static void
tile_op(struct sink *out, const struct phase_result *phase, enum op_kind op, const char *more)
{
	const struct op_result *r = by_op_get(&phase->aggregate.by_op, op);
	char what[64];

	snprintf(what, sizeof(what), "%s, last done", op_names[op]);
	tile(out, what, r != NULL ? html_rate(phase, r->bytes_per_s, r->ops_per_s) : (double)NAN, html_unit(phase),
	    more);
	snprintf(what, sizeof(what), "%s latency, median", op_names[op]);
	tile_duration(out, what, r != NULL ? r->latency_ns.p50 : LS_UNKNOWN_I64,
	    "99 %: ", r != NULL ? r->latency_ns.p99 : LS_UNKNOWN_I64);
}

static void
tiles(struct sink *out, const struct phase_result *phase)
{
	const struct aggregate *a = &phase->aggregate;
	const struct latency *l = a->latency_ns;
	const char *unit = html_unit(phase);
	const char *cached = a->page_cache ? "into the page cache" : "";
	char text[64];

	sink_printf(out, "<div class=tiles>\n");
	if (phase->imported != NULL) {
		struct rate rate = report_rate(phase);

		tile(out, "all machines", html_rate(phase, rate.bytes_per_s, rate.ops_per_s), unit,
		    "as told, or their sum");
		sink_printf(out, "</div>\n");
		return;
	}
	if (by_op_mixes(phase)) {
		tile_op(out, phase, OP_READ, "");
		tile_op(out, phase, OP_WRITE, cached);
	} else {
		tile(
		    out, "last done", html_rate(phase, a->last_done.bytes_per_s, a->last_done.ops_per_s), unit, cached);
		tile(out, "all active", html_rate(phase, a->all_active.bytes_per_s, a->all_active.ops_per_s), unit,
		    cached);
		tile_duration(out, "latency, median", l == NULL ? LS_UNKNOWN_I64 : l->p50,
		    "99 %: ", l == NULL ? LS_UNKNOWN_I64 : l->p99);
	}
	snprintf(text, sizeof(text), isfinite(a->fairness) ? "fairness %.3f" : "fairness n/a", a->fairness);
	tile(out, "overlap", 100 * a->overlap, "%", text);
	tile_duration(out, "start skew", phase->start_skew_ns, "+/- ", phase->start_skew_uncertainty_ns);
	sink_printf(out, "</div>\n");
}

static double
fastest(const struct phase_result *phase)
{
	double max = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		double rate = html_rate(phase, phase->nodes[n].bytes_per_s, phase->nodes[n].ops_per_s);

		if (isfinite(rate))
			max = fmax(max, rate);
	}
	return max;
}

static void
cells_latency(struct sink *out, const struct latency *l)
{
	const int64_t values[] = { l == NULL ? LS_UNKNOWN_I64 : l->p50, l == NULL ? LS_UNKNOWN_I64 : l->p99,
		l == NULL ? LS_UNKNOWN_I64 : l->p99_9, l == NULL ? LS_UNKNOWN_I64 : l->max };

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		char text[32];

		sink_printf(out, "<td>%s</td>", text_duration(values[i], text, sizeof(text)));
	}
}

static void
cells_rest(struct sink *out, const struct report_cell *cell, uint64_t errors)
{
	char text[32];

	html_cell(out, cell->cpu_percent);
	sink_printf(
	    out, "<td>%s</td><td>%" PRIu64 "</td></tr>\n", text_duration(cell->elapsed_ns, text, sizeof(text)), errors);
}

static void
cell_rate(struct sink *out, double rate, double max)
{
	sink_printf(out, "<td class=rate>");
	if (isfinite(rate) && max > 0)
		sink_printf(out, "<i style='width:%.1f%%'></i>", 100 * rate / max);
	sink_printf(out, "<span>");
	html_number(out, rate);
	sink_printf(out, "</span></td>");
}

static void
node_row(struct sink *out, const struct phase_result *phase, const struct node_result *node, double max)
{
	struct report_cell cell = report_cell_of_node(node);

	sink_printf(out, "<tr><td>");
	html_text(out, node->node);
	if (node->state != NODE_DONE)
		sink_printf(out, " <span class='state %s'>%s</span>", field_enum_name(node_state_names, node->state),
		    field_enum_name(node_state_names, node->state));
	sink_printf(out, "</td>");
	if (node->state == NODE_IDLE || node->state == NODE_LOST) {
		sink_printf(out, "<td colspan=9></td></tr>\n");
		return;
	}
	cell_rate(out, by_op_mixes(phase) ? (double)NAN : html_rate(phase, cell.bytes_per_s, cell.ops_per_s), max);
	html_cell(out, by_op_mixes(phase) ? (double)NAN : cell.ops_per_s);
	cells_latency(out, node->latency_ns);
	cells_rest(out, &cell, node->errors);
}

static void
all_row(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	struct report_cell cell = report_cell_of(results, phase, REPORT_ALL);

	sink_printf(
	    out, "<tr class=all><td>all (%s)</td>", phase->imported != NULL ? "as told, or their sum" : "last done");
	html_cell(out, by_op_mixes(phase) ? (double)NAN : html_rate(phase, cell.bytes_per_s, cell.ops_per_s));
	html_cell(out, by_op_mixes(phase) ? (double)NAN : cell.ops_per_s);
	cells_latency(out, phase->aggregate.latency_ns);
	cells_rest(out, &cell, phase->aggregate.errors);
}

static void
node_table(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	bool folded = phase->nodes_count > MANY_NODES;
	double max = fastest(phase);

	if (folded)
		sink_printf(out, "<details><summary>each of the %zu machines</summary>\n", phase->nodes_count);
	sink_printf(out,
	    "<div "
	    "class=scroll><table><tr><th>machine</th><th>%s</th><th>op/s</th><th>p50</th><th>p99</th><th>p99.9</th>"
	    "<th>longest</th><th>CPU %%</th><th>time</th><th>errors</th></tr>\n",
	    html_unit(phase));
	for (size_t n = 0; n < phase->nodes_count; n++)
		node_row(out, phase, &phase->nodes[n], max);
	all_row(out, results, phase);
	sink_printf(out, "</table></div>\n%s", folded ? "</details>\n" : "");
}

static void
warnings(struct sink *out, const struct phase_result *phase)
{
	if (phase->warnings_count + phase->attempts_count == 0)
		return;
	sink_printf(out, "<div class=warnings><ul>\n");
	for (size_t i = 0; i < phase->warnings_count; i++) {
		sink_printf(out, "<li>");
		html_text(out, phase->warnings[i]);
		sink_printf(out, "</li>\n");
	}
	for (size_t i = 0; i < phase->attempts_count; i++) {
		sink_printf(out, "<li>attempt %" PRIu64 " was void: ", phase->attempts[i].index + 1);
		html_text(out, phase->attempts[i].reason);
		sink_printf(out, "</li>\n");
	}
	sink_printf(out, "</ul></div>\n");
}

static void
errors(struct sink *out, const struct phase_result *phase)
{
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->error_list_count == 0)
			continue;
		sink_printf(out, "<p class=warnings>");
		html_text(out, node->node);
		sink_printf(out, ": ");
		html_text(out, node->error_list[0].text);
		if (node->errors > 1)
			sink_printf(out, " (%" PRIu64 " errors in all)", node->errors);
		sink_printf(out, "</p>\n");
	}
}

static void
chart(struct sink *out, size_t p, const char *name, const char *title)
{
	sink_printf(out,
	    "<div><h3>%s</h3><div class=chart data-phase=%zu data-chart=%s></div><div class=legend></div></div>\n",
	    title, p, name);
}

static void
charts(struct sink *out, const struct phase_result *phase, size_t p)
{
	bool time = html_has_time_chart(phase);
	bool latency = html_has_latency_chart(phase);

	if (!time && !latency)
		return;
	sink_printf(out, "<div class=charts>\n");
	if (time) {
		char title[64];

		snprintf(title, sizeof(title), "%s over time, %s", html_in_bytes(phase) ? "Throughput" : "Operations",
		    html_unit(phase));
		chart(out, p, "time", title);
	}
	if (latency)
		chart(out, p, "latency", "Latency by percentile");
	sink_printf(out, "</div>\n");
}

static void
steady_line(struct sink *out, const struct phase_result *phase)
{
	struct sink said = { 0 };

	if (phase->steady == NULL)
		return;
	steady_sentence(&said, phase);
	sink_printf(out, "<p class=steady>");
	html_text(out, said.text);
	sink_printf(out, "</p>\n");
	sink_free(&said);
}

static void
side_table(void *arg, const struct side_table *t)
{
	struct sink *out = arg;
	char cell[48];

	sink_printf(out, "<h3>%s</h3>\n<p>", t->heading);
	html_text(out, t->said.text);
	sink_printf(out, "</p>\n<div class=scroll><table><tr><th>machine</th>");
	for (size_t c = 0; c < t->column_count; c++)
		sink_printf(out, "<th>%s</th>", t->columns[c].title);
	sink_printf(out, "</tr>\n");
	for (size_t n = 0; n < t->row_count; n++) {
		sink_printf(out, "<tr><td>");
		html_text(out, t->rows[n].node);
		sink_printf(out, "</td>");
		for (size_t c = 0; c < t->column_count; c++)
			sink_printf(
			    out, "<td>%s</td>", side_cell(&t->columns[c], &t->rows[n].values[c], cell, sizeof(cell)));
		sink_printf(out, "</tr>\n");
	}
	sink_printf(out, "</table></div>\n");
	if (t->note != NULL)
		sink_printf(out, "<p class=soft>%s</p>\n", t->note);
}

void
html_phase(struct sink *out, const struct results *results, size_t p)
{
	const struct phase_result *phase = &results->phases[p];
	char about[512];

	sink_printf(out, "<section class=card id=p%zu><h2>", p);
	html_phase_name(out, results, phase);
	if (phase->state != PHASE_STATE_DONE)
		sink_printf(out, " <span class='state %s'>%s</span>", field_enum_name(phase_state_names, phase->state),
		    field_enum_name(phase_state_names, phase->state));
	sink_printf(out, "</h2>\n<p class=soft>");
	text_phase_about(results, phase, about, sizeof(about));
	html_text(out, about);
	sink_printf(out, "</p>\n");
	if (phase->promise != NULL)
		sink_printf(out, "<p>%s: %" PRIu64 " looked at, %" PRIu64 " not as they must be</p>\n",
		    field_enum_name(promise_outcome_names, phase->promise->outcome), phase->promise->looked,
		    phase->promise->broken);
	promise_pairs_html(out, phase);
	warnings(out, phase);
	errors(out, phase);
	if (phase->nodes_count == 0) {
		sink_printf(out, "<p>No node has a result.</p></section>\n");
		return;
	}
	steady_line(out, phase);
	side_tables_each(phase, side_table, out);
	/* Where nodes only look at what others did rates mean nothing. */
	if (!text_has_rates(phase)) {
		html_skew(out, results, phase);
		sink_printf(out, "</section>\n");
		return;
	}
	tiles(out, phase);
	charts(out, phase, p);
	html_skew(out, results, phase);
	sink_printf(out, "<h3>Each machine</h3>\n");
	node_table(out, results, phase);
	by_op_html(out, phase);
	sink_printf(out, "</section>\n");
}
