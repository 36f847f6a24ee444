#include "coordinator/cli/live.h"

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
#include "coordinator/cli/live_draw.h"
#include "proto/codec/live.h"

#define LINE_EVERY_NS (10 * NS_PER_S) /* plain progress lines */

struct live {
	enum live_style style;
	bool colour;
	struct msg_run_event last; /* the newest, with the newest nodes of its phase */
	bool has_last;
	struct live_widths widths; /* of the block's lines on the screen */
	size_t columns, lines;
	bool reflows; /* the terminal wraps lines anew when its width changes */
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

/* Up to the first line of the block. Most terminals wrap lines anew when they become narrower. */
static void
go_back(struct live *live, struct sink *out)
{
	size_t rows = live->reflows ? live_rows(&live->widths, live->columns) : live->widths.count;

	if (rows > 0)
		sink_printf(out, "\r\033[%zuA", rows);
}

static void
draw(struct live *live, struct sink *out)
{
	const struct live_view view = {
		.event = live->has_last ? &live->last : NULL,
		.columns = live->columns,
		.lines = live->lines,
		.colour = live->colour,
		.question = live->question,
	};

	live_draw(&view, out, &live->widths);
	sink_printf(out, "\033[J");
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
	go_back(live, &out);
	draw(live, &out);
	show(&out);
}

/* --- life and events ---------------------------------------------------------------------------------------------- */

struct live *
live_new(enum live_style style)
{
	struct live *live = ls_calloc(1, sizeof(*live));

	live->style = style;
	const char *no_color = ls_env("NO_COLOR");
	live->colour = no_color == NULL || no_color[0] == '\0';
	live->reflows = ls_env("XTERM_VERSION") == NULL;
	measure(live);
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

		measure(live);
		go_back(live, &out);
		sink_printf(&out, "\033[J\033[?25h");
		show(&out);
	}
	free(live->widths.items);
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
	if (live->style == LIVE_TERMINAL) {
		measure(live);
		go_back(live, &out);
	}
	size_t start = out.len;
	sink_printf(&out, "%s", text);
	for (char *p = out.text + start; *p != '\0'; p++) /* peers' texts do not control the terminal */
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	sink_printf(&out, live->style == LIVE_TERMINAL ? "\033[K\n" : "\n");
	if (live->style == LIVE_TERMINAL)
		draw(live, &out);
	show(&out);
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
	char rate[128];
	char text[384];
	struct live_totals totals;

	if (live->style != LIVE_LINES || !isfinite(e->progress) || e->nodes_count == 0)
		return;
	if (live->last_line.ns == 0)
		live->last_line = now;
	if (now.ns - live->last_line.ns < LINE_EVERY_NS)
		return;
	live->last_line = now;
	totals = live_totals_of(e);
	snprintf(text, sizeof(text), "%s: %.0f %%, %s%s%s", e->title != NULL ? e->title : "phase", 100 * e->progress,
	    live_totals_text(&totals, rate, sizeof(rate)), e->left_ns != LS_UNKNOWN_I64 ? ", left " : "",
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
