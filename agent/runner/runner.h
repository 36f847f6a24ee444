/*
 * One run on this node: what the agent says over the socketpair becomes events, the engine does the work, answers go back.
 * One thread, but for what blocks (task.h) and the engine's workers.
 */
#ifndef LS_AGENT_RUNNER_RUNNER_H
#define LS_AGENT_RUNNER_RUNNER_H

#include "common/base/err.h"

struct runner;

/*
 * link_fd: the socketpair to the agent; map_fd: the memfd of agent/shm/counters.h. Both are taken over, also on error.
 * Blocks SIGTERM and SIGINT in this thread and takes them by a descriptor. Errors: LS_E_SYS, LS_E_INVALID.
 */
enum ls_rc runner_new(int link_fd, int map_fd, struct runner **out, struct ls_err *err) LS_MUST_CHECK;

/* Serves the agent until the run is finished or the agent is gone. Returns the exit status. */
int runner_run(struct runner *r);

/* NULL-safe. Removes nothing from the volume. */
void runner_free(struct runner *r);

#endif
