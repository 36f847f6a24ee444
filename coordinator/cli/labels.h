/*
 * What "lockstep tag" and "lockstep note" share: one question to lockstepd, and its answer.
 */
#ifndef LS_COORDINATOR_CLI_LABELS_H
#define LS_COORDINATOR_CLI_LABELS_H

#include "coordinator/cli/cmd.h"

/* A change; nothing set: only ask. run NULL or "last": the newest. Borrowed. */
struct labels_change {
	const char *run;
	const char *const *add;
	size_t add_count;
	const char *const *remove;
	size_t remove_count;
	const char *note; /* NULL: as it is; "": none */
};

/* Asks, and prints tags and note as they are then. */
enum cli_exit labels_run(const struct cli *cli, const struct labels_change *change);

#endif
