/*
 * From an address to a connected socket: look-up, then one address after the other. For conn.c alone.
 */
#ifndef LS_COMMON_NET_DIAL_INT_H
#define LS_COMMON_NET_DIAL_INT_H

#include "common/base/err.h"
#include "common/net/addr.h"
#include "common/net/loop.h"

struct dial;

/* fd: connected, non-blocking, close-on-exec, the callee owns it; or -1 with err set. The dial is gone by then. */
typedef void (*dial_fn)(int fd, const struct ls_err *err, void *arg);

/* Begins; fn is called later from the loop, never from here. It sets no time limit of its own. */
struct dial *dial_start(struct loop *loop, const struct addr *addr, dial_fn fn, void *arg);

/* Forgets it: fn is not called. NULL-safe. */
void dial_cancel(struct dial *dial);

#endif
