/*
 * What operators that watch a run get to see.
 */
#ifndef LS_COORDINATOR_DAEMON_WATCH_H
#define LS_COORDINATOR_DAEMON_WATCH_H

#include "coordinator/daemon/run_int.h"

/* The run's present state to all watchers, with a line for people (NULL: none). */
void watch_tell(struct run *run, const char *text);

/* The same to one. */
void watch_tell_one(struct run *run, struct session *s, const char *text);

/* Starts or stops the live rhythm, as stage and watchers ask. */
void watch_pace(struct run *run);

/* The rhythm's tick. */
void watch_tick(void *run);

/* Last event and done to all watchers, who are then free for another request. */
void watch_end(struct run *run);

/* A finding of a preflight check to all watchers. */
void watch_checked(struct run *run, const struct check_row *row);

/* The run as it stands now. Borrows all from it but e->nodes, an array that the caller frees. */
void watch_fill(const struct run *run, struct msg_run_event *e);

#endif
