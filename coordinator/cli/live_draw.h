/*
 * The picture of a run that goes on, as lines for a terminal. Pure: an event and a size in, text out.
 */
#ifndef LS_COORDINATOR_CLI_LIVE_DRAW_H
#define LS_COORDINATOR_CLI_LIVE_DRAW_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/sink.h"
#include "proto/codec/msg.h"

struct live_view {
	const struct msg_run_event *event; /* NULL: nothing is known yet */
	size_t columns, lines;             /* of the terminal */
	bool colour;
	const char *question; /* below the picture; NULL: none */
};

/* How many columns each line takes, for the way back over them. Zeroed before its first use; free items. */
struct live_widths {
	size_t *items;
	size_t count;
};

/*
 * Appends lines, each ended by "erase to the end of the line" and a newline, none as wide as the terminal and never more than it
 * has. Nodes in trouble come first: with workers that make no progress, failed or away, still at work while most are done, or below
 * LIVE_SLOW of the median rate. What finds no room is counted in a line of its own.
 */
void live_draw(const struct live_view *view, struct sink *out, struct live_widths *widths);

#define LIVE_SLOW 0.75

/* Rows that lines of those widths take when the terminal has become so narrow that it wraps them. */
size_t live_rows(const struct live_widths *widths, size_t columns);

#endif
