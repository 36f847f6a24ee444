/*
 * Host names to addresses without blocking the loop: getaddrinfo in a thread of its own.
 */
#ifndef LS_COMMON_NET_RESOLVE_INT_H
#define LS_COMMON_NET_RESOLVE_INT_H

#include <netdb.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/loop.h"

struct resolve;

/* list: the callee owns it (freeaddrinfo); NULL with err set when the name could not be resolved. The request is gone. */
typedef void (*resolve_fn)(struct addrinfo *list, const struct ls_err *err, void *arg);

/* The addresses of a numeric host, at once; *out NULL when it is a name. Errors: LS_E_SYS. */
enum ls_rc resolve_numeric(const char *host, uint16_t port, struct addrinfo **out, struct ls_err *err) LS_MUST_CHECK;

/* Blocks until host is resolved: for what happens before a daemon is ready. Errors: LS_E_SYS. */
enum ls_rc resolve_now(const char *host, uint16_t port, struct addrinfo **out, struct ls_err *err) LS_MUST_CHECK;

/* Begins to resolve host; fn is called later from the loop. Errors: LS_E_SYS (no thread, no descriptor). */
enum ls_rc resolve_start(struct loop *loop, const char *host, uint16_t port, resolve_fn fn, void *arg,
    struct resolve **out, struct ls_err *err) LS_MUST_CHECK;

/* Forgets it: fn is not called. The thread ends by itself. NULL-safe. */
void resolve_cancel(struct resolve *r);

#endif
