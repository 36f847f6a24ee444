/*
 * Bytes in and out of a non-blocking socket, plain or through TLS, with one set of answers for both. For conn.c alone.
 *
 * Not bufferevent: that writes a turn of the loop later, when epoll has reported the socket writable; here a pong leaves
 * from within the call that queued it, and the stamp of its ping is taken right before the read.
 */
#ifndef LS_COMMON_NET_TRANSPORT_INT_H
#define LS_COMMON_NET_TRANSPORT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <openssl/ssl.h>

#include "common/base/err.h"
#include "common/net/tls.h"

enum io_rc {
	IO_OK = 0,
	IO_AGAIN, /* the socket has to become readable, or writable when transport_wants_write */
	IO_EOF,   /* orderly end from the peer */
	IO_ERROR, /* err says why */
};

struct transport {
	int fd;              /* owned; -1 when closed */
	struct tls_ctx *tls; /* a reference, or NULL: plain */
	SSL *ssl;
	bool broken;          /* TLS failed: nothing more may be sent over it */
	uint64_t plain_bytes; /* in both directions */
};

/* Takes fd over (also on error) and makes it non-blocking; tls may be NULL. Errors: LS_E_SYS, LS_E_NOMEM. */
enum ls_rc transport_init(struct transport *t, int fd, struct tls_ctx *tls, struct ls_err *err) LS_MUST_CHECK;

/* The TLS handshake; IO_OK when it is complete. Plain: IO_OK at once. */
enum io_rc transport_handshake(struct transport *t, struct ls_err *err);

/* After the handshake: who the peer is (plain: nobody, role NONE). Errors: LS_E_TLS. */
enum ls_rc transport_peer(const struct transport *t, struct identity *out, struct ls_err *err) LS_MUST_CHECK;

/* Would the peer still be let in? Plain: LS_OK. Errors: LS_E_TLS. */
enum ls_rc transport_recheck(const struct transport *t, struct ls_err *err) LS_MUST_CHECK;

/* Appends at most one TLS record or 16 KiB to in. */
enum io_rc transport_read(struct transport *t, struct evbuffer *in, struct ls_err *err);

/* More can be read without the socket becoming readable first. */
bool transport_has_pending(const struct transport *t);

/* Sends as much of out as the kernel takes; IO_OK when out is empty. */
enum io_rc transport_write(struct transport *t, struct evbuffer *out, struct ls_err *err);
bool transport_wants_write(const struct transport *t);

/* Says goodbye (TLS close_notify, then FIN) without waiting for the peer's. IO_AGAIN: call it again when writable. */
enum io_rc transport_shutdown(struct transport *t);

/* Throws away what the peer still sends, undecoded. IO_EOF or IO_ERROR when nothing more can come. */
enum io_rc transport_discard(struct transport *t);

uint64_t transport_bytes(const struct transport *t);

/* Closes the socket at once; the rest stays usable for transport_bytes. */
void transport_close(struct transport *t);
void transport_fini(struct transport *t);

#endif
