/* The numbers behind the charts. Series are put on one grid that a screen can show; many nodes become a band. */
#include "coordinator/report/by_op.h"
#include "coordinator/report/html_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/stat/hist.h"
#include "common/stat/summary.h"
#include "common/base/units.h"

#define MAX_BINS     400
#define MAX_LINES    12  /* nodes with a line of their own */
#define LATENCY_STEP 0.1 /* of -log10(1 - p) */
#define LATENCY_TOP  5.0
#define WHOLE_ENOUGH 0.5 /* part of a bin that a node must have been active in */

struct grid {
	double width_ns;
	size_t bins;
};

/* Lines of a chart over time: nodes, or what each did of one operation where the phase mixes them. */
struct line {
	const struct node_result *node;
	const char *op; /* NULL: all that the node did */
	const struct series *series;
};

struct time_lines {
	struct line *items; /* operation by operation, all nodes for each; owned */
	size_t count;
	size_t nodes; /* lines of one operation */
};

static bool
is_told(const struct series *series)
{
	return series != NULL && series->interval_ns > 0 && series->ops_count > 0;
}

static struct time_lines
lines_of(const struct phase_result *phase)
{
	bool apart = by_op_mixes(phase);
	struct time_lines l = { .nodes = phase->nodes_count };

	l.items = ls_calloc(phase->nodes_count * (apart ? OP_COUNT : 1) + 1, sizeof(*l.items));
	for (int op = 0; op < (apart ? OP_COUNT : 1); op++)
		for (size_t n = 0; n < phase->nodes_count; n++) {
			const struct node_result *node = &phase->nodes[n];
			const struct op_result *r = by_op_get(&node->by_op, (enum op_kind)op);

			if (apart && by_op_get(&phase->aggregate.by_op, (enum op_kind)op) == NULL)
				continue;
			l.items[l.count++] = (struct line){ node, apart ? op_names[op] : NULL,
				!apart          ? &node->series
				    : r != NULL ? r->series
						: NULL };
		}
	return l;
}

static struct grid
grid_of(const struct time_lines *lines)
{
	struct grid g = { 0, 0 };
	double end = 0;

	for (size_t i = 0; i < lines->count; i++) {
		const struct series *series = lines->items[i].series;

		if (!is_told(series))
			continue;
		g.width_ns = fmax(g.width_ns, (double)series->interval_ns);
		end = fmax(end, (double)series->interval_ns * (double)series->ops_count);
	}
	if (g.width_ns <= 0)
		return g;
	g.width_ns *= ceil(end / g.width_ns / MAX_BINS);
	g.bins = (size_t)ceil(end / g.width_ns - 1e-9);
	return g;
}

/* How much of a bin a node was active in, ns. */
static double
active_ns(const struct node_result *node, double from, double to)
{
	double start = node->start_ns == LS_UNKNOWN_I64 ? from : (double)node->start_ns;
	double end = node->end_ns == LS_UNKNOWN_I64 ? to : (double)node->end_ns;

	return fmin(to, end) - fmax(from, start);
}

/* Rates of a line by bin into out: bytes/s or operations/s, NAN where its node was not active for long enough. */
static void
rates_of(const struct phase_result *phase, const struct line *line, const struct grid *g, double *out)
{
	const struct series *series = line->series;
	bool told = is_told(series);
	bool bytes = html_in_bytes(phase) && told && series->bytes_count > 0;
	const int64_t *values = !told ? NULL : bytes ? series->bytes : series->ops;
	size_t count = !told ? 0 : bytes ? series->bytes_count : series->ops_count;

	for (size_t b = 0; b < g->bins; b++)
		out[b] = 0;
	for (size_t i = 0; i < count; i++) {
		double at = ((double)i + 0.5) * (double)series->interval_ns;
		size_t bin = LS_MIN((size_t)(at / g->width_ns), g->bins - 1);

		out[bin] += (double)values[i];
	}
	for (size_t b = 0; b < g->bins; b++) {
		double active = active_ns(line->node, (double)b * g->width_ns, (double)(b + 1) * g->width_ns);

		if (active < WHOLE_ENOUGH * g->width_ns || !told)
			out[b] = (double)NAN;
		else
			out[b] = out[b] * 1e9 / active;
	}
}

static void
add_value(struct sink *out, double value)
{
	if (isfinite(value))
		sink_printf(out, ",%.6g", value);
	else
		sink_printf(out, ",null");
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Slowest, a tenth from below, median, a tenth from above, fastest of the nodes in a bin. */
static void
add_band(struct sink *out, const double *rates, size_t nodes, size_t bins, size_t bin, double scale)
{
	static const double parts[] = { 0, 0.1, 0.5, 0.9, 1 };
	double *column = ls_calloc(nodes + 1, sizeof(*column));
	size_t known = 0;

	for (size_t n = 0; n < nodes; n++)
		if (isfinite(rates[n * bins + bin]))
			column[known++] = rates[n * bins + bin];
	qsort(column, known, sizeof(*column), compare_doubles);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		add_value(
		    out, known == 0 ? (double)NAN : column[(size_t)llround(parts[i] * (double)(known - 1))] / scale);
	free(column);
}

static void
add_band_labels(struct sink *out, const char *op)
{
	static const char *const bands[] = { "slowest node", "10th percentile", "median node", "90th percentile",
		"fastest node" };

	for (size_t i = 0; i < ARRAY_LEN(bands); i++)
		sink_printf(out, ",\"%s%s%s\"", op != NULL ? op : "", op != NULL ? ", " : "", bands[i]);
}

static void
add_labels(struct sink *out, const struct time_lines *lines, bool band)
{
	sink_printf(out, "\"labels\":[\"s\"");
	for (size_t i = 0; i < lines->count; i += band ? lines->nodes : 1) {
		const struct line *line = &lines->items[i];
		char *name;

		if (band) {
			add_band_labels(out, line->op);
			continue;
		}
		name =
		    line->op != NULL ? ls_asprintf("%s, %s", line->node->node, line->op) : ls_strdup(line->node->node);
		sink_printf(out, ",");
		html_json_text(out, name);
		free(name);
	}
	sink_printf(out, "]");
}

bool
html_has_time_chart(const struct phase_result *phase)
{
	struct time_lines lines = lines_of(phase);
	bool any = grid_of(&lines).bins > 1;

	free(lines.items);
	return any;
}

static void
time_chart(struct sink *out, const struct phase_result *phase)
{
	struct time_lines lines = lines_of(phase);
	struct grid g = grid_of(&lines);
	bool band = lines.count > MAX_LINES;
	double scale = html_in_bytes(phase) ? units_mega() : 1;
	double *rates = ls_calloc(lines.count * g.bins + 1, sizeof(*rates));

	for (size_t i = 0; i < lines.count; i++)
		rates_of(phase, &lines.items[i], &g, &rates[i * g.bins]);
	sink_printf(out, "{\"type\":\"time\",\"unit\":\"%s\",", html_unit(phase));
	add_labels(out, &lines, band);
	sink_printf(out, ",\"rows\":[");
	for (size_t b = 0; b < g.bins; b++) {
		sink_printf(out, "%s[%.6g", b > 0 ? "," : "", ((double)b + 0.5) * g.width_ns / 1e9);
		for (size_t i = 0; i < lines.count; i += band ? lines.nodes : 1) {
			if (band)
				add_band(out, &rates[i * g.bins], lines.nodes, g.bins, b, scale);
			else
				add_value(out, rates[i * g.bins + b] / scale);
		}
		sink_printf(out, "]");
	}
	sink_printf(out, "]}");
	free(rates);
	free(lines.items);
}

/* --- latency ------------------------------------------------------------------------------------------------------ */

bool
html_has_latency_chart(const struct phase_result *phase)
{
	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		if (r != NULL && r->latency_ns.histogram.buckets_count > 0)
			return true;
	}
	return phase->aggregate.latency_ns != NULL && phase->aggregate.latency_ns->histogram.buckets_count > 0;
}

/* A line of the chart. */
struct curve {
	char *label;
	struct hist *hist;
};

struct curves {
	struct curve items[MAX_LINES + OP_COUNT + 1];
	size_t count;
	size_t of_all; /* the first ones are of all nodes together */
};

static void
add_curve(struct curves *curves, const char *label, const struct latency *latency)
{
	if (latency == NULL || latency->histogram.buckets_count == 0 || curves->count == ARRAY_LEN(curves->items))
		return;
	struct hist *hist = ls_calloc(1, sizeof(*hist));
	hist_reset(hist);
	if (latency_add_to_hist(latency, hist, NULL) != LS_OK) {
		free(hist);
		return;
	}
	curves->items[curves->count++] = (struct curve){ ls_strdup(label), hist };
}

static void
collect_curves(struct curves *curves, const struct phase_result *phase)
{
	if (phase->aggregate.latency_ns != NULL)
		add_curve(curves, "all", phase->aggregate.latency_ns);
	for (int op = 0; op < OP_COUNT && phase->aggregate.latency_ns == NULL; op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		if (r != NULL)
			add_curve(curves, op_names[op], &r->latency_ns);
	}
	curves->of_all = curves->count;
	for (size_t n = 0; n < phase->nodes_count && phase->nodes_count <= MAX_LINES; n++)
		add_curve(curves, phase->nodes[n].node, phase->nodes[n].latency_ns);
}

/* Beyond what so many operations can tell, a curve ends. */
static double
curve_at(const struct hist *hist, double x)
{
	double part = pow(10, -x);

	if (part * (double)hist->count < 1)
		return (double)NAN;
	return (double)hist_percentile(hist, LS_MAX(1 - part, 1e-9)) / 1e3;
}

static void
latency_chart(struct sink *out, const struct phase_result *phase)
{
	struct curves curves = { .count = 0 };

	collect_curves(&curves, phase);
	sink_printf(
	    out, "{\"type\":\"latency\",\"unit\":\"us\",\"ofAll\":%zu,\"labels\":[\"percentile\"", curves.of_all);
	for (size_t c = 0; c < curves.count; c++) {
		sink_printf(out, ",");
		html_json_text(out, curves.items[c].label);
	}
	sink_printf(out, "],\"rows\":[");
	for (int i = 0; (double)i * LATENCY_STEP <= LATENCY_TOP + 1e-9; i++) {
		double x = (double)i * LATENCY_STEP;
		bool any = false;

		for (size_t c = 0; c < curves.count; c++)
			any = any || isfinite(curve_at(curves.items[c].hist, x));
		if (!any)
			break;
		sink_printf(out, "%s[%.1f", i > 0 ? "," : "", x);
		for (size_t c = 0; c < curves.count; c++)
			add_value(out, curve_at(curves.items[c].hist, x));
		sink_printf(out, "]");
	}
	sink_printf(out, "]}");
	for (size_t c = 0; c < curves.count; c++) {
		free(curves.items[c].label);
		free(curves.items[c].hist);
	}
}

void
html_chart_data(struct sink *out, const struct results *results, size_t count)
{
	sink_printf(out, "[");
	for (size_t p = 0; p < count; p++) {
		const struct phase_result *phase = &results->phases[p];
		bool time = html_has_time_chart(phase);

		sink_printf(out, "%s{", p > 0 ? ",\n" : "");
		if (time) {
			sink_printf(out, "\"time\":");
			time_chart(out, phase);
		}
		if (html_has_latency_chart(phase)) {
			sink_printf(out, "%s\"latency\":", time ? "," : "");
			latency_chart(out, phase);
		}
		sink_printf(out, "}");
	}
	sink_printf(out, "]");
}
