/*
 * Watches the age of o2cb's heartbeat while this node is in a run, by way of the root helper: lockstep must not be what fences a cluster.
 */
#ifndef LS_AGENT_DAEMON_HEARTBEAT_H
#define LS_AGENT_DAEMON_HEARTBEAT_H

#include "agent/daemon/config.h"
#include "common/net/loop.h"

struct heartbeat;

/*
 * on_old: called when it has come to half of the age at which the node fences itself, or could not be read for so long after it was read
 * before; why: a sentence, borrowed. At most once for each begin. config is borrowed. NULL when watch_heartbeat is no.
 */
struct heartbeat *heartbeat_new(
    struct loop *loop, const struct agent_config *config, void (*on_old)(const char *why, void *arg), void *arg);

/* From now on once a second; until end. All functions are harmless with NULL. */
void heartbeat_begin(struct heartbeat *h);
void heartbeat_end(struct heartbeat *h);

/* What is known now of the region that is nearest to its end: age (with the time since it was read) and dead age; LS_UNKNOWN_I64: nothing. */
void heartbeat_now(const struct heartbeat *h, int64_t *age_ns, int64_t *dead_ns);

/* Ends it, too. */
void heartbeat_free(struct heartbeat *h);

#endif
