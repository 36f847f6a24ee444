/*
 * What transport.c, conn.c and http.c need of the TLS contexts.
 */
#ifndef LS_COMMON_NET_TLS_INT_H
#define LS_COMMON_NET_TLS_INT_H

#include <openssl/ssl.h>

#include "common/net/tls.h"

/* A connection keeps its context alive. */
struct tls_ctx *tls_ctx_ref(struct tls_ctx *ctx);

/* A new connection's object, set to the context's side; the caller owns it (SSL_free). NULL: out of memory. */
SSL *tls_ctx_new_ssl(struct tls_ctx *ctx);

/*
 * After the handshake: the ALPN protocol was agreed and the peer's certificate says who it is; a stranger has role NONE. Errors:
 * LS_E_TLS.
 */
enum ls_rc tls_ctx_check_peer(
    const struct tls_ctx *ctx, SSL *ssl, struct identity *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * Would the peer's certificate still be let in, by the files as they were read last? Its dates are not looked at: a connection outlives
 * them. Errors: LS_E_TLS with OpenSSL's reason.
 */
enum ls_rc tls_ctx_recheck(const struct tls_ctx *ctx, SSL *ssl, struct ls_err *err) LS_MUST_CHECK;

/*
 * Why an SSL_* call failed with ret, as one sentence, from OpenSSL's error queue and saved_errno (errno just after the call;
 * both must have been cleared before it). Errors: LS_E_TLS, or LS_E_SYS for a failure of the socket, or LS_E_CLOSED when the
 * peer closed without saying so.
 */
enum ls_rc tls_error(SSL *ssl, int ret, int saved_errno, struct ls_err *err);

#endif
