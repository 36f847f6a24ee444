/*
 * Looks once a second how much is free on the volume, for jobs that end when it gets less than they want (abort_if), and writes it into the
 * mapping. In a thread of its own: a volume that hangs holds up nobody else.
 */
#ifndef LS_AGENT_RUNNER_SPACEWATCH_H
#define LS_AGENT_RUNNER_SPACEWATCH_H

#include "agent/shm/counters.h"

struct spacewatch;

/* dir_fd: a directory on the volume, and control: both borrowed. Not running yet. Errors: LS_E_SYS. */
enum ls_rc spacewatch_new(
    int dir_fd, struct shm_control *control, struct spacewatch **out, struct ls_err *err) LS_MUST_CHECK;

/* start: from now on; without a thread to be had nothing is known. stop: returns when no look goes on any more. Both harmless when it is so. */
void spacewatch_start(struct spacewatch *w);
void spacewatch_stop(struct spacewatch *w);
void spacewatch_free(struct spacewatch *w); /* NULL-safe */

#endif
