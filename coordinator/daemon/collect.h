/*
 * Results on their way from the agents into the store, and the acknowledgements back. Parts that come while others are being
 * written wait and share the next transaction.
 */
#ifndef LS_COORDINATOR_DAEMON_COLLECT_H
#define LS_COORDINATOR_DAEMON_COLLECT_H

#include "coordinator/daemon/session.h"
#include "proto/codec/msg.h"

struct collector;

/* Borrows d for its life. */
struct collector *collector_new(struct daemon *d);
void collector_free(struct collector *c); /* after the writer has ended; NULL-safe */

/*
 * Takes a part from node: it is acknowledged to whatever connection node has once it is committed. data is taken out of m. A part
 * that conflicts with what is there ends the node's connection. Errors: LS_E_PROTO.
 */
enum ls_rc collect_part(
    struct collector *c, struct node *node, struct msg_result_part *m, struct ls_err *err) LS_MUST_CHECK;

#endif
