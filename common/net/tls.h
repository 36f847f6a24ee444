/*
 * TLS 1.3 contexts with client certificates on both sides, and who the peer is. The one door to libssl, with conn.c.
 */
#ifndef LS_COMMON_NET_TLS_H
#define LS_COMMON_NET_TLS_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/pki/identity.h"

struct tls_ctx;

enum tls_side {
	TLS_SERVER = 0,
	TLS_CLIENT,
};

struct tls_files {
	const char *ca;   /* PEM: trusted roots */
	const char *cert; /* PEM: own certificate, then intermediates */
	const char *key;  /* PEM: private key; refused when others than its owner and group may read it */
	const char *crl;  /* PEM: revoked certificates, or NULL */
};

/*
 * TLS 1.3 only, peer certificate required and verified against ca, no session tickets, the given ALPN protocol required on
 * both sides. files are read here (again by tls_ctx_reload). Errors: LS_E_TLS, the sentence names the file.
 */
enum ls_rc tls_ctx_new(enum tls_side side, const struct tls_files *files, const char *alpn, struct tls_ctx **out,
    struct ls_err *err) LS_MUST_CHECK;
void tls_ctx_free(struct tls_ctx *ctx);

/* Reads the files again for connections made from now on; on error the old ones stay in force. */
enum ls_rc tls_ctx_reload(struct tls_ctx *ctx, struct ls_err *err) LS_MUST_CHECK;

#endif
