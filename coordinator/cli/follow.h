/*
 * Follows a run until it ends or the operator has had enough of watching: shows its events and deals with Ctrl-C.
 */
#ifndef LS_COORDINATOR_CLI_FOLLOW_H
#define LS_COORDINATOR_CLI_FOLLOW_H

#include <stdbool.h>

#include "coordinator/cli/client.h"
#include "coordinator/cli/live.h"

enum follow_interrupt {
	FOLLOW_ASKS = 0, /* on a terminal: detach or abort? elsewhere abort */
	FOLLOW_ABORTS,   /* the run belongs to this process */
	FOLLOW_DETACHES, /* only watching */
};

struct follow_options {
	enum live_style style;
	enum follow_interrupt interrupt;

	/* Looked at whenever a child of this process ends; true means that the run cannot go on. NULL: no children. */
	bool (*child_ended)(void *arg);
	void *arg;
};

struct follow_result {
	char run[65];         /* empty when it was never queued */
	enum run_state state; /* the last one seen */
	bool ended, detached;
	char text[1024]; /* the last line about the run, for refusals */
};

/*
 * Reads submitted and run-event messages after submit or watch was sent. SIGINT, SIGTERM and SIGHUP are handled meanwhile, and
 * unblocked. Errors: LS_E_CLOSED when the connection was lost before the end; out is filled as far as known then too.
 */
enum ls_rc follow_run(struct client *client, const struct follow_options *options, struct follow_result *out,
    struct ls_err *err) LS_MUST_CHECK;

/* Blocks those signals, or unblocks them again, in this process. */
void follow_block_signals(bool block);

#endif
