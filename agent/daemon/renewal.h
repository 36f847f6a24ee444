/*
 * The agent's certificate is renewed before it ends: over the connection that stands, without interrupting anything. The new pair is used
 * from the next connection on.
 */
#ifndef LS_AGENT_DAEMON_RENEWAL_H
#define LS_AGENT_DAEMON_RENEWAL_H

#include <stdbool.h>

#include "agent/daemon/config.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "proto/codec/msg.h"

struct renewal;

/* Sends a message to the coordinator; false when it is away. */
typedef bool (*renewal_send_fn)(enum msg_type type, const void *body, void *arg);

/*
 * Looks once an hour whether it is time. All is borrowed. disk: the thread that writes the files. name: the node's. A certificate whose
 * directory the agent may not write to is left alone: somebody else sees to it, and is warned in the log 30 days before its end.
 */
struct renewal *renewal_new(struct loop *loop, const struct agent_config *config, const char *name,
    struct offload *disk, struct tls_ctx *tls, renewal_send_fn send, void *arg);
void renewal_free(struct renewal *r); /* after disk; NULL-safe */

/* The coordinator is there (again). */
void renewal_connected(struct renewal *r);

/* Its answer. */
void renewal_answered(struct renewal *r, const struct msg_renewed *answer);

#endif
