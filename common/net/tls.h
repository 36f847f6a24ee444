/*
 * TLS 1.3 contexts with client certificates on both sides, and who the peer is. The one door to libssl, with conn.c.
 */
#ifndef LS_COMMON_NET_TLS_H
#define LS_COMMON_NET_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/pki/identity.h"

struct tls_ctx;

enum tls_side {
	TLS_SERVER = 0,
	TLS_CLIENT,
	TLS_WEB, /* a server for browsers: the client may do without a certificate and without ALPN */
};

struct tls_files {
	const char *ca;   /* PEM: trusted roots */
	const char *cert; /* PEM: own certificate, then intermediates */
	const char *key;  /* PEM: private key; refused when others than its owner and group may read it */
	const char *crl;  /* PEM: revoked certificates, or NULL */
};

/*
 * TLS 1.3 only, peer certificate required and verified against ca, no session tickets, the given ALPN protocol required on
 * both sides; TLS_WEB as said there. files are read here (again by tls_ctx_reload). Errors: LS_E_TLS, the sentence names the file.
 */
enum ls_rc tls_ctx_new(enum tls_side side, const struct tls_files *files, const char *alpn, struct tls_ctx **out,
    struct ls_err *err) LS_MUST_CHECK;
void tls_ctx_free(struct tls_ctx *ctx);

/*
 * For enrolment, the server's side: peers that offer this ALPN protocol instead need no certificate (conn_peer: role NONE), and everybody is
 * sent the root of root_file (PEM) with the chain, by which such a peer knows us. Once, before the first connection. Errors: LS_E_TLS.
 */
enum ls_rc tls_ctx_admit_strangers(
    struct tls_ctx *ctx, const char *alpn, const char *root_file, struct ls_err *err) LS_MUST_CHECK;

/*
 * For enrolment, the client's side: no certificate of its own; the server's must lead to the root with this SHA-256 fingerprint (of its
 * DER), which the server sends along. Errors: LS_E_TLS.
 */
enum ls_rc tls_ctx_new_pinned(
    const uint8_t fingerprint[32], const char *alpn, struct tls_ctx **out, struct ls_err *err) LS_MUST_CHECK;

/* Reads the files again for connections made from now on; on error the old ones stay in force. */
enum ls_rc tls_ctx_reload(struct tls_ctx *ctx, struct ls_err *err) LS_MUST_CHECK;

/* Name and version of the library that is in use, as it says itself: "OpenSSL 3.0.17 1 Jul 2025". Static text. */
const char *tls_library(void);

#endif
