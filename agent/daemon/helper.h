/*
 * The root helper as the agent sees it: a connection to its socket, over which one request at a time is answered or given up. Nothing blocks.
 */
#ifndef LS_AGENT_DAEMON_HELPER_H
#define LS_AGENT_DAEMON_HELPER_H

#include "agent/helper/wire.h"
#include "common/net/loop.h"

struct helper;

/* err NULL: done, body has the facts. Both are borrowed for the call. A new request may be made from it; the helper may not be freed. */
typedef void (*helper_fn)(const struct ls_err *err, const char *body, void *arg);

/* Not connected yet; path: of the socket, borrowed. */
struct helper *helper_new(struct loop *loop, const char *path);

/*
 * Asks, connecting first if need be. fn is called once, later, unless helper_free comes before; also when it cannot be asked at all. After a
 * failure, the next request connects anew. One request at a time.
 */
void helper_ask(struct helper *h, const struct helper_request *request, int64_t timeout_ns, helper_fn fn, void *arg);

/* Is a request under way? */
bool helper_is_asked(const struct helper *h);

/* Closes the connection; a request that is under way stays unanswered here. NULL-safe. */
void helper_free(struct helper *h);

#endif
