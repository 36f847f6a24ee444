#include "common/net/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "common/base/mem.h"
#include "common/net/tls_int.h"
#include "common/pki/identity_x509.h"

struct tls_ctx {
	unsigned refs;
	enum tls_side side;
	char *ca, *cert, *key, *crl; /* paths, for tls_ctx_reload */
	char *alpn;
	unsigned char alpn_wire[256]; /* length and name, as ALPN lists are encoded */
	unsigned alpn_wire_len;
	char *root;                       /* sent along for strangers; NULL: none are let in */
	unsigned char stranger_wire[256]; /* their ALPN protocol */
	unsigned stranger_wire_len;
	bool pinned; /* the server is known by its root's fingerprint alone */
	uint8_t fingerprint[32];
	SSL_CTX *ssl_ctx;
};

/* --- loading files --- */

/* The oldest entry of OpenSSL's error queue, which is nearest to the cause; empties the queue. */
static enum ls_rc
file_error(struct ls_err *err, const char *what, const char *path)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);

	ERR_clear_error();
	if (code != 0 && ERR_SYSTEM_ERROR(code)) {
		ls_err_sys(err, ERR_GET_REASON(code), "%s %s", what, path);
		if (err != NULL)
			err->rc = LS_E_TLS;
		return LS_E_TLS;
	}
	return ls_err_set(err, LS_E_TLS, "%s %s: %s", what, path, reason != NULL ? reason : "not usable");
}

/* A passphrase prompt would hang a daemon: encrypted keys are not supported. */
static int
no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

static enum ls_rc
load_key(SSL_CTX *ssl_ctx, const char *path, struct ls_err *err)
{
	struct stat st;
	EVP_PKEY *key = NULL;
	enum ls_rc rc = LS_OK;
	FILE *file = fopen(path, "re");

	if (file == NULL || fstat(fileno(file), &st) != 0) {
		rc = ls_err_sys(err, errno, "private key %s", path);
		goto out;
	}
	if ((st.st_mode & S_IRWXO) != 0) {
		rc = ls_err_set(err, LS_E_TLS, "private key %s: mode %04o lets everybody in, use 0600 or 0640", path,
		    (unsigned)(st.st_mode & 07777));
		goto out;
	}
	key = PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);
	if (key == NULL || SSL_CTX_use_PrivateKey(ssl_ctx, key) != 1)
		rc = file_error(err, "private key", path);
out:
	EVP_PKEY_free(key);
	if (file != NULL)
		fclose(file);
	if (rc == LS_E_SYS && err != NULL)
		err->rc = LS_E_TLS;
	return rc == LS_OK ? LS_OK : LS_E_TLS;
}

static enum ls_rc
load_crl(SSL_CTX *ssl_ctx, const char *path, struct ls_err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ssl_ctx);
	X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

	if (lookup == NULL || X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) < 1)
		return file_error(err, "revocation list", path);
	X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
	return LS_OK;
}

static enum ls_rc
send_root(SSL_CTX *ssl_ctx, const char *path, struct ls_err *err)
{
	FILE *file = fopen(path, "re");
	X509 *root = file != NULL ? PEM_read_X509(file, NULL, no_passphrase, NULL) : NULL;
	bool ok = root != NULL && SSL_CTX_add1_chain_cert(ssl_ctx, root) == 1;

	X509_free(root);
	if (file != NULL)
		fclose(file);
	return ok ? LS_OK : file_error(err, "root certificate", path);
}

static enum ls_rc
load_files(const struct tls_ctx *ctx, SSL_CTX *ssl_ctx, struct ls_err *err)
{
	ERR_clear_error();
	if (ctx->pinned)
		return LS_OK;
	if (SSL_CTX_load_verify_file(ssl_ctx, ctx->ca) != 1)
		return file_error(err, "CA certificate", ctx->ca);
	/* The key first: in the other order OpenSSL answers a pair that does not match with "key values mismatch". */
	if (load_key(ssl_ctx, ctx->key, err) != LS_OK)
		return LS_E_TLS;
	if (SSL_CTX_use_certificate_chain_file(ssl_ctx, ctx->cert) != 1)
		return file_error(err, "certificate", ctx->cert);
	if (ctx->side == TLS_WEB) /* browsers offer only certificates of these */
		SSL_CTX_set_client_CA_list(ssl_ctx, SSL_load_client_CA_file(ctx->ca));
	if (SSL_CTX_check_private_key(ssl_ctx) != 1) {
		ERR_clear_error();
		return ls_err_set(
		    err, LS_E_TLS, "private key %s does not belong to certificate %s", ctx->key, ctx->cert);
	}
	if (ctx->root != NULL && send_root(ssl_ctx, ctx->root, err) != LS_OK)
		return LS_E_TLS;
	if (ctx->crl != NULL)
		return load_crl(ssl_ctx, ctx->crl, err);
	return LS_OK;
}

/* --- contexts --- */

/* Server: takes our protocol if the client offers it. A client that offers none does not come here: tls_ctx_check_peer. */
static int
select_alpn(
    SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in, unsigned in_len, void *arg)
{
	const struct tls_ctx *ctx = arg;
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, out_len, ctx->alpn_wire, ctx->alpn_wire_len, in, in_len) ==
	    OPENSSL_NPN_NEGOTIATED) {
		*out = chosen;
		return SSL_TLSEXT_ERR_OK;
	}
	if (ctx->root == NULL ||
	    SSL_select_next_proto(&chosen, out_len, ctx->stranger_wire, ctx->stranger_wire_len, in, in_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	/* Before the request for a certificate is sent: a stranger is not asked for one, and cannot say anything as somebody. */
	SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* Client, pinned: the server's chain must hold the root that we know, and hold up to it. */
static int
verify_pinned(X509_STORE_CTX *given, void *arg)
{
	const struct tls_ctx *ctx = arg;
	STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(given);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	int error = X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;

	for (int i = 0; store != NULL && sent != NULL && i < sk_X509_num(sent); i++) {
		unsigned char hash[EVP_MAX_MD_SIZE];

		if (X509_digest(sk_X509_value(sent, i), EVP_sha256(), hash, NULL) != 1 ||
		    memcmp(hash, ctx->fingerprint, sizeof(ctx->fingerprint)) != 0)
			continue;
		if (X509_STORE_add_cert(store, sk_X509_value(sent, i)) == 1)
			error = X509_V_OK;
	}
	if (error == X509_V_OK &&
	    (check == NULL || X509_STORE_CTX_init(check, store, X509_STORE_CTX_get0_cert(given), sent) != 1 ||
		X509_STORE_CTX_set_default(check, "ssl_server") != 1))
		error = X509_V_ERR_OUT_OF_MEM;
	if (error == X509_V_OK && X509_verify_cert(check) != 1)
		error = X509_STORE_CTX_get_error(check);
	X509_STORE_CTX_set_error(given, error);
	X509_STORE_CTX_free(check);
	X509_STORE_free(store);
	return error == X509_V_OK;
}

static bool
configure(struct tls_ctx *ctx, SSL_CTX *ssl_ctx)
{
	if (SSL_CTX_set_min_proto_version(ssl_ctx, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_max_proto_version(ssl_ctx, TLS1_3_VERSION) != 1)
		return false;
	SSL_CTX_set_verify(
	    ssl_ctx, SSL_VERIFY_PEER | (ctx->side == TLS_WEB ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT), NULL);
	/* Tickets cost a third of a handshake and nothing here resumes sessions. */
	if (SSL_CTX_set_num_tickets(ssl_ctx, 0) != 1)
		return false;
	SSL_CTX_set_session_cache_mode(ssl_ctx, SSL_SESS_CACHE_OFF);
	/* Buffers are released between records: 2,000 idle agents shall not cost 34 KB each. */
	SSL_CTX_set_mode(
	    ssl_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	if (ctx->pinned)
		SSL_CTX_set_cert_verify_callback(ssl_ctx, verify_pinned, ctx);
	if (ctx->side == TLS_CLIENT)
		return SSL_CTX_set_alpn_protos(ssl_ctx, ctx->alpn_wire, ctx->alpn_wire_len) == 0;
	SSL_CTX_set_alpn_select_cb(ssl_ctx, select_alpn, ctx);
	return true;
}

static enum ls_rc
build(struct tls_ctx *ctx, SSL_CTX **out, struct ls_err *err)
{
	SSL_CTX *ssl_ctx = SSL_CTX_new(ctx->side == TLS_CLIENT ? TLS_client_method() : TLS_server_method());

	if (ssl_ctx == NULL || !configure(ctx, ssl_ctx)) {
		SSL_CTX_free(ssl_ctx);
		ERR_clear_error();
		return ls_err_set(err, LS_E_TLS, "OpenSSL offers no usable TLS 1.3 context");
	}
	if (load_files(ctx, ssl_ctx, err) != LS_OK) {
		SSL_CTX_free(ssl_ctx);
		return LS_E_TLS;
	}
	*out = ssl_ctx;
	return LS_OK;
}

/* The length, then the name; wire: 256 bytes. */
static enum ls_rc
set_alpn(const char *alpn, unsigned char *wire, unsigned *wire_len, struct ls_err *err)
{
	size_t len = strlen(alpn);

	if (len == 0 || len > 255)
		return ls_err_set(err, LS_E_INVALID, "an ALPN protocol has 1 to 255 bytes");
	wire[0] = (unsigned char)len;
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): on the wire it has a length and no end */
	memcpy(wire + 1, alpn, len);
	*wire_len = (unsigned)len + 1;
	return LS_OK;
}

enum ls_rc
tls_ctx_new(
    enum tls_side side, const struct tls_files *files, const char *alpn, struct tls_ctx **out, struct ls_err *err)
{
	if (files->ca == NULL || files->cert == NULL || files->key == NULL)
		return ls_err_set(err, LS_E_TLS, "TLS needs a CA certificate, a certificate and a private key");

	struct tls_ctx *ctx = ls_calloc(1, sizeof(*ctx));
	ctx->refs = 1;
	ctx->side = side;
	ctx->ca = ls_strdup(files->ca);
	ctx->cert = ls_strdup(files->cert);
	ctx->key = ls_strdup(files->key);
	ctx->crl = ls_strdup(files->crl);
	ctx->alpn = ls_strdup(alpn);
	enum ls_rc rc = set_alpn(alpn, ctx->alpn_wire, &ctx->alpn_wire_len, err);
	if (rc == LS_OK)
		rc = build(ctx, &ctx->ssl_ctx, err);
	if (rc != LS_OK) {
		tls_ctx_free(ctx);
		return rc;
	}
	*out = ctx;
	return LS_OK;
}

enum ls_rc
tls_ctx_admit_strangers(struct tls_ctx *ctx, const char *alpn, const char *root_file, struct ls_err *err)
{
	if (set_alpn(alpn, ctx->stranger_wire, &ctx->stranger_wire_len, err) != LS_OK)
		return LS_E_TLS;
	ctx->root = ls_strdup(root_file);
	return tls_ctx_reload(ctx, err);
}

enum ls_rc
tls_ctx_new_pinned(const uint8_t fingerprint[32], const char *alpn, struct tls_ctx **out, struct ls_err *err)
{
	struct tls_ctx *ctx = ls_calloc(1, sizeof(*ctx));

	ctx->refs = 1;
	ctx->side = TLS_CLIENT;
	ctx->pinned = true;
	memcpy(ctx->fingerprint, fingerprint, sizeof(ctx->fingerprint));
	ctx->alpn = ls_strdup(alpn);
	enum ls_rc rc = set_alpn(alpn, ctx->alpn_wire, &ctx->alpn_wire_len, err);
	if (rc == LS_OK)
		rc = build(ctx, &ctx->ssl_ctx, err);
	if (rc != LS_OK) {
		tls_ctx_free(ctx);
		return LS_E_TLS;
	}
	*out = ctx;
	return LS_OK;
}

void
tls_ctx_free(struct tls_ctx *ctx)
{
	if (ctx == NULL || --ctx->refs > 0)
		return;
	SSL_CTX_free(ctx->ssl_ctx);
	free(ctx->ca);
	free(ctx->cert);
	free(ctx->key);
	free(ctx->crl);
	free(ctx->alpn);
	free(ctx->root);
	free(ctx);
}

struct tls_ctx *
tls_ctx_ref(struct tls_ctx *ctx)
{
	ctx->refs++;
	return ctx;
}

enum ls_rc
tls_ctx_reload(struct tls_ctx *ctx, struct ls_err *err)
{
	SSL_CTX *fresh = NULL;

	if (build(ctx, &fresh, err) != LS_OK)
		return LS_E_TLS;
	SSL_CTX_free(ctx->ssl_ctx); /* connections hold their own reference */
	ctx->ssl_ctx = fresh;
	return LS_OK;
}

/* --- connections --- */

SSL *
tls_ctx_new_ssl(struct tls_ctx *ctx)
{
	SSL *ssl = SSL_new(ctx->ssl_ctx);

	if (ssl == NULL)
		return NULL;
	if (ctx->side == TLS_CLIENT)
		SSL_set_connect_state(ssl);
	else
		SSL_set_accept_state(ssl);
	return ssl;
}

enum ls_rc
tls_ctx_check_peer(const struct tls_ctx *ctx, SSL *ssl, struct identity *out, struct ls_err *err)
{
	const unsigned char *alpn;
	unsigned alpn_len;
	X509 *cert = SSL_get0_peer_certificate(ssl);

	if (ctx->side == TLS_WEB && cert == NULL) {
		*out = (struct identity){ .role = ROLE_NONE };
		return LS_OK;
	}
	SSL_get0_alpn_selected(ssl, &alpn, &alpn_len);
	if (ctx->root != NULL && alpn_len + 1 == ctx->stranger_wire_len &&
	    memcmp(alpn, ctx->stranger_wire + 1, alpn_len) == 0) {
		*out = (struct identity){ .role = ROLE_NONE };
		return LS_OK;
	}
	if (ctx->side != TLS_WEB &&
	    (alpn_len + 1 != ctx->alpn_wire_len || memcmp(alpn, ctx->alpn_wire + 1, alpn_len) != 0))
		return ls_err_set(err, LS_E_TLS, "no common protocol: the peer does not offer %s", ctx->alpn);
	if (cert == NULL || SSL_get_verify_result(ssl) != X509_V_OK)
		return ls_err_set(err, LS_E_TLS, "the peer has no valid certificate");
	return identity_from_x509(cert, out, err);
}

enum ls_rc
tls_ctx_recheck(const struct tls_ctx *ctx, SSL *ssl, struct ls_err *err)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	enum ls_rc rc = LS_OK;

	if (cert == NULL)
		goto out;
	if (check == NULL ||
	    X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ctx->ssl_ctx), cert, SSL_get_peer_cert_chain(ssl)) != 1) {
		ERR_clear_error();
		rc = ls_err_set(err, LS_E_TLS, "the peer's certificate cannot be checked");
		goto out;
	}
	X509_STORE_CTX_set_flags(check, X509_V_FLAG_NO_CHECK_TIME);
	if (X509_verify_cert(check) != 1)
		rc = ls_err_set(err, LS_E_TLS, "the peer's certificate is no longer accepted: %s",
		    X509_verify_cert_error_string(X509_STORE_CTX_get_error(check)));
	ERR_clear_error();
out:
	X509_STORE_CTX_free(check);
	return rc;
}

const char *
tls_library(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}
