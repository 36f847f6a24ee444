/*
 * Listening sockets. Accepts at most a few connections a turn of the loop, so that a storm of reconnects does not delay
 * what is under way.
 */
#ifndef LS_COMMON_NET_LISTEN_H
#define LS_COMMON_NET_LISTEN_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/net/loop.h"

struct listener;

/* A new connection's socket, non-blocking and close-on-exec; the callee owns fd. */
typedef void (*listen_fn)(int fd, void *arg);

/*
 * Listens on "HOST:PORT", "[IPv6]:PORT", ":PORT" (all addresses, dual-stack) or "unix:/path" (mode as given, an old socket
 * file is replaced if nobody listens on it). Port 0 takes a free one. A name is looked up here and now, its
 * first usable address is taken. fn may be called only after this returned. Errors: LS_E_INVALID, LS_E_SYS, LS_E_EXISTS
 * (somebody listens on that Unix socket, or its path is another kind of file).
 */
enum ls_rc listener_new(struct loop *loop, const char *address, mode_t unix_mode, listen_fn fn, void *arg,
    struct listener **out, struct ls_err *err) LS_MUST_CHECK;
/* Removes a Unix socket's file. Also from within fn. NULL-safe. */
void listener_free(struct listener *l);

/*
 * Only the socket, for who accepts by himself (http.c): bound to a TCP address as above, listening, non-blocking and close-on-exec, the
 * caller's. text (len bytes, 320 are enough for all) becomes the address in fact. Errors: as listener_new.
 */
enum ls_rc listen_socket(
    const char *address, int backlog, char *text, size_t len, int *fd, struct ls_err *err) LS_MUST_CHECK;

/* The address in fact, with the port taken: "127.0.0.1:40123". Borrowed. */
const char *listener_address(const struct listener *l);

#endif
