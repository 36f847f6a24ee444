/*
 * Cleans up after runs that ended without it: an agent or runner that was killed. One after the other, each with a cleaner.
 */
#ifndef LS_AGENT_DAEMON_SWEEP_H
#define LS_AGENT_DAEMON_SWEEP_H

#include <stdbool.h>

#include "agent/daemon/assignments.h"
#include "agent/daemon/config.h"
#include "agent/daemon/hung.h"
#include "common/net/loop.h"

struct sweep;

/* All borrowed. */
struct sweep *sweep_new(
    struct loop *loop, const struct agent_config *config, struct assignments *assignments, struct hung *hung);
void sweep_free(struct sweep *sweep); /* NULL-safe */

/* All runs whose assignment is on the disk: at the agent's start. */
void sweep_add_all(struct sweep *sweep);

/* One more. Its assignment goes from the disk when nothing is left; until then it is tried again and again. */
void sweep_add(struct sweep *sweep, const char *run);

/* The same once that runner, which is taken over and killed, is gone; stall: where it hangs, or NULL (hung_take). */
void sweep_abandon(struct sweep *sweep, struct runner *runner, const char *run, const struct stall *stall);

/* Is that run waiting or being cleaned up? */
bool sweep_has(const struct sweep *sweep, const char *run);

#endif
