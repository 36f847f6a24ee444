/*
 * What becomes of runs after they have ended: tags and notes, removal, and the limits keep_runs and keep_days.
 */
#ifndef LS_COORDINATOR_DAEMON_HISTORY_H
#define LS_COORDINATOR_DAEMON_HISTORY_H

#include "coordinator/daemon/daemon_int.h"
#include "proto/codec/msg.h"

struct history;

/* Takes up what an earlier lockstepd began to delete, and applies the limits: now, after each run, and once an hour. */
struct history *history_new(struct daemon *d);
void history_free(struct history *h); /* NULL-safe */

/* A run has ended: are there too many now? */
void history_run_over(struct daemon *d);

/* Tags and note of a run that was submitted just now; they have been checked. Written after the run's row. */
void history_label_new(struct daemon *d, const char *run, const struct msg_submit *m);

#endif
