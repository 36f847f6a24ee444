#include "coordinator/cli/live_draw.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/stat/summary.h"
#include "proto/codec/live.h"

#define STALLS_SHOWN 2  /* of a node */
#define WIDE         88 /* columns from which on all is shown */
#define NARROW       60 /* below there are no bars */

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define BOLD   "\033[1m"
#define PLAIN  "\033[0m"

enum trouble { TROUBLE_STALLED = 0, TROUBLE_GONE, TROUBLE_LATE, TROUBLE_SLOW, TROUBLE_NONE, TROUBLE_COUNT };

struct layout {
	int name, bar;
	bool bytes, ops; /* columns */
};

struct drawing {
	const struct live_view *view;
	struct sink *out;
	struct live_widths *widths;
	struct layout layout;
	enum trouble *troubles; /* [nodes] */
	double fastest, median;
	size_t room; /* lines left for nodes and their workers */
};

/* --- lines ----------------------------------------------------------------------------------------------------------- */

/* Ends the line that began at offset start: nothing may be as wide as the terminal, or the cursor's way back is wrong. */
static void
end_line(struct drawing *d, size_t start, const char *colour)
{
	struct sink *out = d->out;
	size_t most = d->view->columns > 1 ? d->view->columns - 1 : 1;
	char *text;

	for (char *p = out->text + start; *p != '\0'; p++) /* texts of peers do not control the terminal */
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	if (out->len - start > most) {
		out->len = start + most;
		out->text[out->len] = '\0';
	}
	d->widths->items = ls_grow(d->widths->items, d->widths->count, sizeof(*d->widths->items));
	d->widths->items[d->widths->count++] = out->len - start;
	if (colour != NULL && d->view->colour) {
		text = ls_strdup(out->text + start);
		out->len = start;
		sink_printf(out, "%s%s%s", colour, text, PLAIN);
		free(text);
	}
	sink_printf(out, "\033[K\n");
}

static void
add_bar(struct sink *out, int width, double share)
{
	size_t full = 0;

	if (width == 0)
		return;
	if (share > 0)
		full = (size_t)(LS_MIN(share, 1.0) * width + 0.5);
	sink_printf(out, "[");
	sink_repeat(out, '#', full);
	sink_repeat(out, '.', (size_t)width - full);
	sink_printf(out, "] ");
}

static void
draw_head(struct drawing *d)
{
	const struct msg_run_event *e = d->view->event;
	size_t start = d->out->len;

	sink_printf(d->out, "run %s: %s", e->run, field_enum_name(run_state_names, e->state));
	if (e->title != NULL)
		sink_printf(d->out, ", phase %" PRIu64 " of %" PRIu64 ": %s",
		    LS_MIN(e->phases_done + 1, e->phases_total), e->phases_total, e->title);
	if (e->attempt > 0)
		sink_printf(d->out, " (attempt %" PRIu64 ")", e->attempt + 1);
	end_line(d, start, BOLD);
}

static void
draw_progress(struct drawing *d)
{
	const struct msg_run_event *e = d->view->event;
	size_t start = d->out->len;
	char text[32];

	add_bar(d->out, 16, isfinite(e->progress) ? e->progress : 0);
	if (isfinite(e->progress))
		sink_printf(d->out, "%3.0f %%", 100 * e->progress);
	if (e->elapsed_ns != LS_UNKNOWN_I64)
		sink_printf(d->out, "  %s", units_format_duration(e->elapsed_ns, text, sizeof(text)));
	if (e->left_ns != LS_UNKNOWN_I64)
		sink_printf(d->out, ", %s left", units_format_duration(e->left_ns, text, sizeof(text)));
	end_line(d, start, NULL);
}

static void
add_rates(struct drawing *d, double bytes_per_s, double ops_per_s)
{
	char bytes[32] = "";
	char ops[48] = "";
	char count[32];

	if (isfinite(bytes_per_s) && bytes_per_s > 0)
		units_format_rate(bytes_per_s, bytes, sizeof(bytes));
	if (isfinite(ops_per_s))
		snprintf(ops, sizeof(ops), "%s op/s", units_format_count(ops_per_s, count, sizeof(count)));
	if (d->layout.bytes)
		sink_printf(d->out, "%11s", bytes);
	if (d->layout.ops)
		sink_printf(d->out, "%s%13s", d->layout.bytes ? " " : "", ops);
}

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

static bool
has_state(const struct live_node *n, const char *state)
{
	return n->state != NULL && strcmp(n->state, state) == 0;
}

static enum trouble
trouble_of(const struct drawing *d, const struct live_node *n, bool most_done)
{
	double rate = live_node_pace(n);

	if (n->stalls_count > 0)
		return TROUBLE_STALLED;
	if (has_state(n, "failed") || has_state(n, "lost") || has_state(n, "away"))
		return TROUBLE_GONE;
	if (!has_state(n, "running"))
		return TROUBLE_NONE;
	if (most_done)
		return TROUBLE_LATE;
	return isfinite(rate) && rate < LIVE_SLOW * d->median ? TROUBLE_SLOW : TROUBLE_NONE;
}

static void
judge_nodes(struct drawing *d)
{
	const struct msg_run_event *e = d->view->event;
	double *rates = ls_calloc(e->nodes_count + 1, sizeof(*rates));
	size_t done = 0, n = 0;

	for (size_t i = 0; i < e->nodes_count; i++) {
		double rate = live_node_pace(&e->nodes[i]);

		done += has_state(&e->nodes[i], "done");
		if (!isfinite(rate) || !has_state(&e->nodes[i], "running"))
			continue;
		rates[n++] = rate;
		d->fastest = LS_MAX(d->fastest, rate);
	}
	d->median = n > 1 ? summary_of(rates, n).median : 0;
	d->troubles = ls_calloc(e->nodes_count + 1, sizeof(*d->troubles));
	for (size_t i = 0; i < e->nodes_count; i++)
		d->troubles[i] = trouble_of(d, &e->nodes[i], 2 * done > e->nodes_count);
	free(rates);
}

static const char *
trouble_colour(enum trouble trouble)
{
	if (trouble == TROUBLE_NONE)
		return NULL;
	return trouble == TROUBLE_STALLED || trouble == TROUBLE_GONE ? RED : YELLOW;
}

static const char *
trouble_word(enum trouble trouble)
{
	static const char *const words[TROUBLE_COUNT] = { [TROUBLE_STALLED] = ", hangs",
		[TROUBLE_GONE] = "",
		[TROUBLE_LATE] = ", late",
		[TROUBLE_SLOW] = ", slow",
		[TROUBLE_NONE] = "" };

	return words[trouble];
}

static void
draw_stall(struct drawing *d, const struct live_node *n, const struct stall *s)
{
	size_t start = d->out->len;
	char text[32];

	sink_printf(d->out, "    %s worker %" PRIu64 ": no progress for %s, in %s of %s", n->node, s->worker,
	    units_format_duration(s->since_ns, text, sizeof(text)),
	    s->call != NULL && s->call[0] != '\0' ? s->call : "?", s->file != NULL ? s->file : "?");
	if (s->state != NULL)
		sink_printf(d->out, ", state %s", s->state);
	if (s->wchan != NULL && s->wchan[0] != '\0')
		sink_printf(d->out, ", %s", s->wchan);
	end_line(d, start, RED);
}

static void
draw_node(struct drawing *d, size_t i)
{
	const struct live_node *n = &d->view->event->nodes[i];
	enum trouble trouble = d->troubles[i];
	double rate = live_node_pace(n);
	size_t start = d->out->len;
	char text[128];
	char age[32];

	sink_printf(d->out, "%s %-*.*s ", trouble == TROUBLE_NONE ? " " : "!", d->layout.name, d->layout.name, n->node);
	add_bar(d->out, d->layout.bar, d->fastest > 0 && isfinite(rate) ? rate / d->fastest : 0);
	if (n->by_op_count > 0)
		sink_printf(d->out, "%s", live_node_text(n, text, sizeof(text)));
	else
		add_rates(d, n->bytes_per_s, n->ops_per_s);
	sink_printf(d->out, "  %s %" PRIu64 "/%" PRIu64 "%s", n->state != NULL ? n->state : "", n->workers_active,
	    n->workers, trouble_word(trouble));
	if (n->heartbeat_age_ns > 0 && n->heartbeat_age_ns != LS_UNKNOWN_I64)
		sink_printf(d->out, ", heartbeat %s ago", units_format_duration(n->heartbeat_age_ns, age, sizeof(age)));
	end_line(d, start, trouble_colour(trouble));
	d->room--;
	for (size_t s = 0; s < n->stalls_count && s < STALLS_SHOWN && d->room > 0; s++) {
		draw_stall(d, n, &n->stalls[s]);
		d->room--;
	}
}

/* What found no room, in a line: how many, and where the slowest of them stand. */
static void
draw_folded(struct drawing *d, size_t shown)
{
	const struct msg_run_event *e = d->view->event;
	size_t start = d->out->len;
	size_t counts[TROUBLE_COUNT] = { 0 };
	char text[32];

	for (size_t i = 0; i < e->nodes_count; i++)
		counts[d->troubles[i]]++;
	sink_printf(d->out, "  and %zu more nodes", e->nodes_count - shown);
	for (int t = TROUBLE_STALLED; t < TROUBLE_NONE; t++) {
		size_t above = LS_MIN(shown, counts[t]);

		shown -= above;
		if (counts[t] > above)
			sink_printf(d->out, ", %zu of them %s", counts[t] - above,
			    t == TROUBLE_GONE ? "failed or away" : trouble_word((enum trouble)t) + 2);
	}
	if (d->median > 0 && d->layout.bytes && !live_totals_of(e).apart)
		sink_printf(d->out, "; median of all %s", units_format_rate(d->median, text, sizeof(text)));
	end_line(d, start, NULL);
}

static void
draw_total(struct drawing *d)
{
	const struct msg_run_event *e = d->view->event;
	struct live_totals t = live_totals_of(e);
	size_t start = d->out->len;
	char text[128];

	sink_printf(d->out, "  all %-*zu ", d->layout.name - 4, e->nodes_count);
	sink_repeat(d->out, ' ', d->layout.bar > 0 ? (size_t)d->layout.bar + 3 : 0);
	if (t.apart)
		sink_printf(d->out, "%s", live_totals_text(&t, text, sizeof(text)));
	else
		add_rates(d, t.rate.bytes_per_s, t.rate.ops_per_s);
	end_line(d, start, BOLD);
}

static void
draw_nodes(struct drawing *d)
{
	const struct msg_run_event *e = d->view->event;
	size_t lines = 0, shown = 0;

	judge_nodes(d);
	for (size_t i = 0; i < e->nodes_count; i++)
		lines += 1 + LS_MIN(e->nodes[i].stalls_count, (size_t)STALLS_SHOWN);
	bool folds = lines > d->room;
	if (folds)
		d->room -= d->room > 0;
	for (int t = TROUBLE_STALLED; t < TROUBLE_COUNT; t++)
		for (size_t i = 0; i < e->nodes_count && d->room > 0; i++)
			if (d->troubles[i] == (enum trouble)t) {
				draw_node(d, i);
				shown++;
			}
	if (shown < e->nodes_count)
		draw_folded(d, shown);
	draw_total(d);
	free(d->troubles);
}

/* --- the whole -------------------------------------------------------------------------------------------------------- */

static struct layout
layout_for(const struct live_view *view)
{
	const struct msg_run_event *e = view->event;
	struct layout l = { .name = view->columns >= WIDE ? 16 : 12 };

	for (size_t i = 0; i < e->nodes_count; i++)
		l.bytes |= isfinite(e->nodes[i].bytes_per_s) && e->nodes[i].bytes_per_s > 0;
	l.ops = !l.bytes || view->columns >= WIDE;
	l.bar = view->columns >= WIDE ? 16 : view->columns >= NARROW ? 8 : 0;
	return l;
}

void
live_draw(const struct live_view *view, struct sink *out, struct live_widths *widths)
{
	struct drawing d = { .view = view, .out = out, .widths = widths };
	size_t others = 4 + (view->question != NULL); /* head, progress, total, and the line where the cursor stands */

	widths->count = 0;
	if (view->event != NULL) {
		d.layout = layout_for(view);
		d.room = view->lines > others ? view->lines - others : 0;
		draw_head(&d);
		if (view->lines > 2)
			draw_progress(&d);
		if (view->event->nodes_count > 0 && d.room > 1)
			draw_nodes(&d);
	}
	if (view->question != NULL) {
		size_t start = out->len;

		sink_printf(out, "%s", view->question);
		end_line(&d, start, BOLD);
	}
}

size_t
live_rows(const struct live_widths *widths, size_t columns)
{
	size_t rows = 0;

	for (size_t i = 0; i < widths->count; i++)
		rows += LS_MAX((widths->items[i] + columns - 1) / LS_MAX(columns, 1), (size_t)1);
	return rows;
}
