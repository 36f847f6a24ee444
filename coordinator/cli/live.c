#include "coordinator/cli/live.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/env.h"
#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/base/units.h"

#define LINE_EVERY_NS (10 * NS_PER_S) /* plain progress lines */
#define BAR_WIDTH     16
#define OTHER_ROWS    7 /* of the block that are not nodes */

struct live {
	enum live_style style;
	bool colour;
	struct msg_run_event last; /* the newest, with the newest nodes of its phase */
	bool has_last;
	size_t drawn; /* lines of the block on the screen */
	size_t columns, lines;
	const char *question;
	struct ls_mono last_line;
};

enum live_style
live_style_here(void)
{
	const char *term = ls_env("TERM");

	if (!isatty(STDERR_FILENO) || term == NULL || strcmp(term, "dumb") == 0)
		return LIVE_LINES;
	return LIVE_TERMINAL;
}

static void
measure(struct live *live)
{
	struct winsize size;

	live->columns = 80;
	live->lines = 24;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
		live->columns = size.ws_col;
		live->lines = size.ws_row;
	}
}

/* --- the block ---------------------------------------------------------------------------------------------------- */

/* Ends a line that began at text offset start: nothing may be wider than the terminal, or the cursor's way back is wrong. */
static void
end_line(struct live *live, struct sink *out, size_t start)
{
	for (char *p = out->text + start; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	if (out->len - start > live->columns - 1) {
		out->len = start + live->columns - 1;
		out->text[out->len] = '\0';
	}
	sink_printf(out, "\033[K\n");
	live->drawn++;
}

static void
add_bar(struct sink *out, double share)
{
	size_t full = 0;

	if (share > 0)
		full = (size_t)(LS_MIN(share, 1.0) * BAR_WIDTH + 0.5);
	sink_printf(out, "[");
	sink_repeat(out, '#', full);
	sink_repeat(out, '.', BAR_WIDTH - full);
	sink_printf(out, "]");
}

static void
add_head(struct live *live, struct sink *out)
{
	const struct msg_run_event *e = &live->last;
	size_t start;

	if (live->colour)
		sink_printf(out, "\033[1m");
	start = out->len;
	sink_printf(out, "run %s: %s", e->run, field_enum_name(run_state_names, e->state));
	if (e->title != NULL)
		sink_printf(out, ", phase %" PRIu64 " of %" PRIu64 ": %s", LS_MIN(e->phases_done + 1, e->phases_total),
		    e->phases_total, e->title);
	if (e->attempt > 0)
		sink_printf(out, " (attempt %" PRIu64 ")", e->attempt + 1);
	end_line(live, out, start);
	if (live->colour)
		sink_printf(out, "\033[0m");
}

static void
add_progress(struct live *live, struct sink *out)
{
	const struct msg_run_event *e = &live->last;
	size_t start = out->len;
	char d[32];

	add_bar(out, isfinite(e->progress) ? e->progress : 0);
	if (isfinite(e->progress))
		sink_printf(out, " %3.0f %%", 100 * e->progress);
	if (e->elapsed_ns != LS_UNKNOWN_I64)
		sink_printf(out, "  %s", units_format_duration(e->elapsed_ns, d, sizeof(d)));
	if (e->left_ns != LS_UNKNOWN_I64)
		sink_printf(out, ", %s left", units_format_duration(e->left_ns, d, sizeof(d)));
	end_line(live, out, start);
}

static void
add_rates(struct sink *out, double bytes_per_s, double ops_per_s)
{
	char bytes[32] = "";
	char ops[48] = "";
	char count[32];

	if (isfinite(bytes_per_s) && bytes_per_s > 0)
		units_format_rate(bytes_per_s, bytes, sizeof(bytes));
	if (isfinite(ops_per_s))
		snprintf(ops, sizeof(ops), "%s op/s", units_format_count(ops_per_s, count, sizeof(count)));
	sink_printf(out, " %12s %14s", bytes, ops);
}

static void
add_node(struct live *live, struct sink *out, const struct live_node *node, double fastest)
{
	double rate = isfinite(node->bytes_per_s) && node->bytes_per_s > 0 ? node->bytes_per_s : node->ops_per_s;
	size_t start = out->len;

	sink_printf(out, "  %-16.16s ", node->node);
	add_bar(out, fastest > 0 && isfinite(rate) ? rate / fastest : 0);
	add_rates(out, node->bytes_per_s, node->ops_per_s);
	sink_printf(out, "  %s %" PRIu64 "/%" PRIu64, node->state, node->workers_active, node->workers);
	end_line(live, out, start);
	for (size_t i = 0; i < node->stalls_count && i < 2; i++) {
		const struct stall *s = &node->stalls[i];
		char d[32];

		start = out->len;
		sink_printf(out, "    ! worker %" PRIu64 " makes no progress for %s, in %s of %s, state %s %s",
		    s->worker, units_format_duration(s->since_ns, d, sizeof(d)), s->call,
		    s->file != NULL ? s->file : "?", s->state != NULL ? s->state : "?",
		    s->wchan != NULL ? s->wchan : "");
		end_line(live, out, start);
	}
}

static double
add_if_known(double sum, double value)
{
	return isfinite(value) ? sum + value : sum;
}

static void
add_nodes(struct live *live, struct sink *out)
{
	const struct msg_run_event *e = &live->last;
	size_t room = live->lines > OTHER_ROWS + 1 ? live->lines - OTHER_ROWS : 1;
	double fastest = 0;
	double bytes = 0;
	double ops = 0;

	for (size_t i = 0; i < e->nodes_count; i++) {
		const struct live_node *node = &e->nodes[i];
		double rate =
		    isfinite(node->bytes_per_s) && node->bytes_per_s > 0 ? node->bytes_per_s : node->ops_per_s;

		fastest = isfinite(rate) ? LS_MAX(fastest, rate) : fastest;
		bytes = add_if_known(bytes, node->bytes_per_s);
		ops = add_if_known(ops, node->ops_per_s);
	}
	for (size_t i = 0; i < e->nodes_count && live->drawn < room; i++)
		add_node(live, out, &e->nodes[i], fastest);

	size_t start = out->len;
	sink_printf(out, "  all %-12zu ", e->nodes_count);
	sink_repeat(out, ' ', BAR_WIDTH + 2);
	add_rates(out, bytes, ops);
	end_line(live, out, start);
}

static void
erase(struct live *live, struct sink *out)
{
	if (live->drawn > 0)
		sink_printf(out, "\r\033[%zuA\033[J", live->drawn);
	live->drawn = 0;
}

/* One write for a whole picture: no flicker. */
static void
show(struct sink *out)
{
	if (out->len > 0)
		fwrite(out->text, 1, out->len, stderr);
	fflush(stderr);
	sink_free(out);
}

void
live_redraw(struct live *live)
{
	struct sink out = { 0 };

	if (live->style != LIVE_TERMINAL)
		return;
	measure(live);
	if (live->drawn > 0)
		sink_printf(&out, "\r\033[%zuA", live->drawn);
	live->drawn = 0;
	if (live->has_last) {
		add_head(live, &out);
		add_progress(live, &out);
		if (live->last.nodes_count > 0)
			add_nodes(live, &out);
	}
	if (live->question != NULL) {
		size_t start = out.len;

		sink_printf(&out, "%s", live->question);
		end_line(live, &out, start);
	}
	sink_printf(&out, "\033[J");
	show(&out);
}

/* --- life and events ---------------------------------------------------------------------------------------------- */

struct live *
live_new(enum live_style style)
{
	struct live *live = ls_calloc(1, sizeof(*live));

	live->style = style;
	live->colour = ls_env("NO_COLOR") == NULL;
	if (style == LIVE_TERMINAL)
		fputs("\033[?25l", stderr);
	return live;
}

void
live_free(struct live *live)
{
	if (live == NULL)
		return;
	if (live->style == LIVE_TERMINAL) {
		struct sink out = { 0 };

		erase(live, &out);
		sink_printf(&out, "\033[?25h");
		show(&out);
	}
	if (live->has_last)
		field_struct_fini(&msg_run_event_desc, &live->last);
	free(live);
}

void
live_say(struct live *live, const char *text)
{
	struct sink out = { 0 };

	if (live->style == LIVE_QUIET)
		return;
	if (live->style == LIVE_TERMINAL)
		erase(live, &out);
	size_t start = out.len;
	sink_printf(&out, "%s", text);
	for (char *p = out.text + start; *p != '\0'; p++) /* peers' texts do not control the terminal */
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	sink_printf(&out, "\n");
	show(&out);
	live_redraw(live);
}

void
live_ask(struct live *live, const char *question)
{
	live->question = question;
	live_redraw(live);
}

/* Keeps the event, and of the one before the nodes if it is about the same phase and this one has none. */
static void
keep(struct live *live, struct msg_run_event *event)
{
	struct msg_run_event fresh = *event;

	field_struct_init(&msg_run_event_desc, event);
	if (live->has_last && fresh.nodes_count == 0 && fresh.phase == live->last.phase &&
	    fresh.repetition == live->last.repetition) {
		free(fresh.nodes);
		fresh.nodes = live->last.nodes;
		fresh.nodes_count = live->last.nodes_count;
		live->last.nodes = NULL;
		live->last.nodes_count = 0;
	}
	if (live->has_last)
		field_struct_fini(&msg_run_event_desc, &live->last);
	live->last = fresh;
	live->has_last = true;
}

static void
progress_line(struct live *live)
{
	const struct msg_run_event *e = &live->last;
	struct ls_mono now = ls_mono_now();
	char left[32];
	char rate[32];
	char text[256];
	double bytes = 0;

	if (live->style != LIVE_LINES || !isfinite(e->progress) || e->nodes_count == 0)
		return;
	if (live->last_line.ns == 0)
		live->last_line = now;
	if (now.ns - live->last_line.ns < LINE_EVERY_NS)
		return;
	live->last_line = now;
	for (size_t i = 0; i < e->nodes_count; i++)
		bytes = add_if_known(bytes, e->nodes[i].bytes_per_s);
	snprintf(text, sizeof(text), "%s: %.0f %%, %s%s%s", e->title != NULL ? e->title : "phase", 100 * e->progress,
	    units_format_rate(bytes, rate, sizeof(rate)), e->left_ns != LS_UNKNOWN_I64 ? ", left " : "",
	    e->left_ns != LS_UNKNOWN_I64 ? units_format_duration(e->left_ns, left, sizeof(left)) : "");
	live_say(live, text);
}

void
live_event(struct live *live, struct msg_run_event *event)
{
	char *text = event->text != NULL ? ls_strdup(event->text) : NULL;

	keep(live, event);
	if (text != NULL)
		live_say(live, text);
	else
		live_redraw(live);
	progress_line(live);
	free(text);
}
