/*
 * What is shown while a run goes on, on standard error: on a terminal a block that is redrawn in place, elsewhere plain lines.
 */
#ifndef LS_COORDINATOR_CLI_LIVE_H
#define LS_COORDINATOR_CLI_LIVE_H

#include <stdbool.h>

#include "proto/codec/msg.h"

struct live;

enum live_style {
	LIVE_QUIET = 0,
	LIVE_LINES,
	LIVE_TERMINAL,
};

/* The style for this process: LIVE_TERMINAL when standard error is a terminal that can move its cursor. */
enum live_style live_style_here(void);

/* live_free leaves the terminal as it was. NULL-safe. */
struct live *live_new(enum live_style style);
void live_free(struct live *live);

/* Something happened: takes over what it needs from the event (its nodes may be empty afterwards). */
void live_event(struct live *live, struct msg_run_event *event);

/* Draws again, e.g. after the terminal's size has changed. */
void live_redraw(struct live *live);

/* A line for people that stays above the block. */
void live_say(struct live *live, const char *text);

/* A question below the block; NULL takes it away. Borrowed while it stands. */
void live_ask(struct live *live, const char *question);

#endif
