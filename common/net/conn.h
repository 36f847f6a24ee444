/*
 * A connection that carries whole frames (common/base/frame.h), over TCP with TLS, over a Unix socket or a socketpair. Hides
 * socket, TLS and libevent behind four events. All in the loop's thread.
 *
 * Life: conn_dial or conn_accept makes one; on_open says that it can be used (TLS: handshake done, peer verified, ALPN
 * agreed); on_frame for each frame; on_close once at the end, unless the owner closed it. After on_close or conn_close the
 * owner must not use it any more; memory goes when the loop's turn ends, so that each of these may be called from within any
 * event. No event is called from within conn_dial, conn_accept, conn_send, conn_close or conn_drop.
 *
 * In TLS 1.3 the dialing side's handshake is done before the other has judged its certificate: there on_open may be followed
 * by on_close with "the peer refused our certificate". Only an answer means that one is let in.
 */
#ifndef LS_COMMON_NET_CONN_H
#define LS_COMMON_NET_CONN_H

#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/loop.h"
#include "common/net/tls.h"

struct conn;

struct conn_events {
	void (*on_open)(struct conn *conn, void *arg);

	/*
	 * A whole frame; data is borrowed for the call. received: stamped when the bytes were read off the socket. An error
	 * closes the connection, with it as the reason to on_close.
	 */
	enum ls_rc (*on_frame)(
	    struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err);

	/* The connection is gone: end of file (LS_E_CLOSED), a socket or TLS error, a limit, a timeout. Never NULL. */
	void (*on_close)(struct conn *conn, const struct ls_err *why, void *arg);
};

struct conn_config {
	uint32_t frame_max;           /* a longer frame ends the connection; can be changed by conn_set_frame_max */
	int64_t handshake_timeout_ns; /* dial and TLS together; 0: 10 s */
	size_t output_max;            /* bytes waiting to be sent above which the connection is ended; 0: 64 MiB */
};

/*
 * Connects to address: "HOST:PORT", "[IPv6]:PORT" (tls may not be NULL) or "unix:/path" (tls NULL). Returns at once; a name
 * is resolved with getaddrinfo in a thread of its own. Errors: LS_E_INVALID for an address that cannot be parsed.
 */
enum ls_rc conn_dial(struct loop *loop, const char *address, struct tls_ctx *tls, const struct conn_config *config,
    const struct conn_events *events, void *arg, struct conn **out, struct ls_err *err) LS_MUST_CHECK;

/* Takes over a connected socket fd (closed on error too). tls NULL: plain. */
enum ls_rc conn_accept(struct loop *loop, int fd, struct tls_ctx *tls, const struct conn_config *config,
    const struct conn_events *events, void *arg, struct conn **out, struct ls_err *err) LS_MUST_CHECK;

/*
 * Sends a frame of 1 to UINT32_MAX bytes (copied). What the kernel takes leaves within the call, the rest follows; before
 * on_open it is queued. Failures come to on_close at the end of the turn. Harmless on a closed connection until its memory goes.
 */
void conn_send(struct conn *conn, const void *data, size_t len);

/* Bytes queued and not yet taken by the kernel: live samples are dropped above a limit of the caller's. */
size_t conn_output_pending(const struct conn *conn);

/* Ends it: what is queued is still sent (at most 2 s), no more events. NULL-safe. */
void conn_close(struct conn *conn);

/* Ends it without sending what is queued. NULL-safe. */
void conn_drop(struct conn *conn);

/* Changes arg of the events, e.g. when a fresh connection finds its session. */
void conn_set_arg(struct conn *conn, void *arg);
void conn_set_frame_max(struct conn *conn, uint32_t frame_max);

/* The peer: from its certificate (role NONE when plain), and its address "1.2.3.4:5", "[::1]:5" or "unix". Borrowed. */
const struct identity *conn_peer(const struct conn *conn);
const char *conn_peer_address(const struct conn *conn);

/*
 * Would the peer's certificate be let in today, by the files that tls_ctx_reload read last? Not its dates: a connection outlives them.
 * LS_OK for a plain connection. Errors: LS_E_TLS, the sentence says why not (revoked, for instance).
 */
enum ls_rc conn_recheck(const struct conn *conn, struct ls_err *err) LS_MUST_CHECK;

/* Bytes sent and received so far, as the socket saw them. */
uint64_t conn_bytes(const struct conn *conn);

#endif
