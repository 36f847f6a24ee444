/* When each worker really began, as a picture: a line per node, a dot per worker, the clock's uncertainty as a bar behind them. */
#include "coordinator/report/html_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"

enum { WIDTH = 900, LEFT = 150, RIGHT = 20, ROW = 20, TOP = 6, BOTTOM = 22, MAX_ROWS = 40, TICKS = 5 };

struct span {
	int64_t first, last; /* ns from the planned start */
	size_t workers;
};

static int64_t
began(const struct worker_result *worker)
{
	return worker->first_op_ns != LS_UNKNOWN_I64 ? worker->first_op_ns : worker->start_ns;
}

static struct span
span_of(const struct phase_result *phase)
{
	struct span s = { INT64_MAX, INT64_MIN, 0 };

	for (size_t n = 0; n < phase->nodes_count; n++) {
		for (size_t w = 0; w < phase->nodes[n].workers_count; w++) {
			int64_t at = began(&phase->nodes[n].workers[w]);

			if (at == LS_UNKNOWN_I64)
				continue;
			s.first = LS_MIN(s.first, at);
			s.last = LS_MAX(s.last, at);
			s.workers++;
		}
	}
	return s;
}

/* Nodes that hold the first or the last start come first when there are too many to show. */
static bool
is_shown(const struct phase_result *phase, size_t n, const struct span *s, size_t shown)
{
	if (phase->nodes_count <= MAX_ROWS || shown < MAX_ROWS - 2)
		return true;
	for (size_t w = 0; w < phase->nodes[n].workers_count; w++) {
		int64_t at = began(&phase->nodes[n].workers[w]);

		if (at == s->first || at == s->last)
			return true;
	}
	return false;
}

static double
place(double ns, double from, double to)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (ns - from) / (to - from);
}

static double
uncertainty_of(const struct results *results, const char *node, size_t hint)
{
	for (size_t i = 0; i < results->nodes_count; i++) {
		const struct run_node *r = &results->nodes[(i + hint) % results->nodes_count];

		if (strcmp(r->name, node) == 0)
			return r->clock.uncertainty_ns == LS_UNKNOWN_I64 ? 0 : (double)r->clock.uncertainty_ns;
	}
	return 0;
}

static double
step_of(double range)
{
	double raw = range / TICKS;
	double power = pow(10, floor(log10(raw)));
	double unit = raw / power;

	return power * (unit > 5 ? 10 : unit > 2 ? 5 : unit > 1 ? 2 : 1);
}

static void
axis(struct sink *out, double from, double to, int height)
{
	double step = step_of(to - from);
	double first = ceil(from / step) * step;

	/* a step is a TICKS-th of the range or more */
	for (int i = 0; i <= TICKS; i++) {
		char text[32];
		double at = first + i * step;
		if (at > to)
			break;
		int64_t ns = (int64_t)llround(at);

		units_format_duration(ns < 0 ? -ns : ns, text, sizeof(text));
		sink_printf(out,
		    "<line class=grid x1=%.1f x2=%.1f y1=%d y2=%d></line><text text-anchor=middle x=%.1f "
		    "y=%d>%s%s</text>",
		    place(at, from, to), place(at, from, to), TOP, height - BOTTOM, place(at, from, to), height - 6,
		    ns < 0 ? "-" : "", ns == 0 ? "0" : text);
	}
}

static void
node_row(struct sink *out, const struct node_result *node, double doubt, double from, double to, int y)
{
	sink_printf(out, "<text x=0 y=%d>", y + 4);
	if (strlen(node->node) <= 22) {
		html_text(out, node->node);
	} else {
		char name[32];

		snprintf(name, sizeof(name), "%.10s..%s", node->node, node->node + strlen(node->node) - 10);
		html_text(out, name);
	}
	sink_printf(out, "</text>");
	for (size_t w = 0; w < node->workers_count; w++) {
		int64_t ns = began(&node->workers[w]);
		double at = (double)ns;

		if (ns == LS_UNKNOWN_I64)
			continue;
		sink_printf(out,
		    "<line class=doubt x1=%.1f x2=%.1f y1=%d y2=%d></line><circle class=start r=3 cx=%.1f "
		    "cy=%d></circle>",
		    place(fmax(at - doubt, from), from, to), place(fmin(at + doubt, to), from, to), y, y,
		    place(at, from, to), y);
	}
}

static double
largest_doubt(const struct results *results)
{
	double doubt = 0;

	for (size_t n = 0; n < results->nodes_count; n++)
		if (results->nodes[n].clock.uncertainty_ns != LS_UNKNOWN_I64)
			doubt = fmax(doubt, (double)results->nodes[n].clock.uncertainty_ns);
	return doubt;
}

void
html_skew(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	struct span s = span_of(phase);
	int rows = (int)LS_MIN(phase->nodes_count, (size_t)MAX_ROWS);
	int height = TOP + rows * ROW + BOTTOM;
	size_t shown = 0;

	if (s.workers < 2)
		return;
	double margin = LS_MIN(largest_doubt(results), (double)(s.last - s.first) + 1e5) + 1e3;
	double from = (double)s.first - margin;
	double to = (double)s.last + margin;
	sink_printf(out,
	    "<h3>Start of each worker, from the planned instant</h3>\n<div class=scroll><svg viewBox='0 0 %d %d' "
	    "role=img "
	    "aria-label='starts'>",
	    WIDTH, height);
	axis(out, from, to, height);
	for (size_t n = 0; n < phase->nodes_count && shown < MAX_ROWS; n++) {
		if (!is_shown(phase, n, &s, shown))
			continue;
		node_row(out, &phase->nodes[n], uncertainty_of(results, phase->nodes[n].node, n), from, to,
		    TOP + (int)shown * ROW + ROW / 2);
		shown++;
	}
	sink_printf(out,
	    "</svg></div>\n<p class=legend>Dots: the first operation of a worker. Bar: how far the node's clock may be "
	    "off.");
	if (phase->nodes_count > MAX_ROWS)
		sink_printf(
		    out, " %zu of %zu nodes, the first and the last to start among them.", shown, phase->nodes_count);
	sink_printf(out, "</p>\n");
}
