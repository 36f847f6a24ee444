/* Certificate requests: made and checked by a node, signed by the authority. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/pki/identity_x509.h"
#include "common/pki/pki.h"
#include "common/pki/pki_enroll.h"
#include "common/pki/pki_int.h"

/* --- the node's side --- */

static enum ls_rc
request_pem(EVP_PKEY *key, char **out, struct ls_err *err)
{
	X509_REQ *req = X509_REQ_new();
	BIO *bio = BIO_new(BIO_s_mem());
	char *data = NULL;
	long len = 0;

	if (req != NULL && bio != NULL && X509_REQ_set_version(req, X509_REQ_VERSION_1) == 1 &&
	    X509_REQ_set_pubkey(req, key) == 1 && X509_REQ_sign(req, key, EVP_sha256()) > 0 &&
	    PEM_write_bio_X509_REQ(bio, req) == 1)
		len = BIO_get_mem_data(bio, &data);
	if (len > 0)
		*out = ls_strndup(data, (size_t)len);
	BIO_free(bio);
	X509_REQ_free(req);
	return len > 0 ? LS_OK : pki_err(err, "cannot make a certificate request");
}

enum ls_rc
pki_request_new(struct pki_request *out, struct ls_err *err)
{
	EVP_PKEY *key = NULL;
	struct pki_request req = { 0 };
	enum ls_rc rc = pki_make_key(&key, err);

	if (rc == LS_OK)
		rc = pki_key_pem(key, &req.key, &req.key_len, err);
	if (rc == LS_OK)
		rc = request_pem(key, &req.request, err);
	EVP_PKEY_free(key);
	if (rc == LS_OK)
		*out = req;
	else
		pki_request_fini(&req);
	return rc;
}

void
pki_request_fini(struct pki_request *req)
{
	pki_wipe(req->key, req->key_len);
	free(req->request);
	*req = (struct pki_request){ 0 };
}

static X509 *
cert_from_text(const char *text)
{
	size_t len = strlen(text);
	BIO *bio = len <= PKI_PEM_MAX ? BIO_new_mem_buf(text, (int)len) : NULL;
	X509 *cert = bio != NULL ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	return cert;
}

static enum ls_rc
check_fingerprint(X509 *root, const uint8_t *fingerprint, struct ls_err *err)
{
	unsigned char hash[EVP_MAX_MD_SIZE];

	if (fingerprint == NULL)
		return LS_OK;
	if (X509_digest(root, EVP_sha256(), hash, NULL) == 1 && memcmp(hash, fingerprint, PKI_FINGERPRINT_BYTES) == 0)
		return LS_OK;
	return ls_err_set(err, LS_E_TLS, "the root certificate that was sent is not the one that the token names");
}

static enum ls_rc
check_key(const struct pki_request *req, X509 *cert, struct ls_err *err)
{
	BIO *bio = BIO_new_mem_buf(req->key, (int)req->key_len);
	EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	bool ok = key != NULL && X509_check_private_key(cert, key) == 1;

	EVP_PKEY_free(key);
	BIO_free(bio);
	return ok ? LS_OK : pki_err(err, "the certificate that was sent is not for the key of this node");
}

static enum ls_rc
check_signed(X509 *cert, X509 *root, struct ls_err *err)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	bool ready = store != NULL && ctx != NULL && X509_STORE_add_cert(store, root) == 1 &&
	    X509_STORE_CTX_init(ctx, store, cert, NULL) == 1;
	enum ls_rc rc = LS_OK;

	if (!ready)
		rc = pki_err(err, "cannot check the certificate");
	else if (X509_verify_cert(ctx) != 1)
		rc = ls_err_set(err, LS_E_TLS, "the certificate that was sent does not hold: %s",
		    X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return rc;
}

enum ls_rc
pki_request_check(const struct pki_request *req, const char *cert_text, const char *ca_text, const uint8_t *fingerprint,
    const char *name, struct identity *id, struct ls_err *err)
{
	X509 *cert = cert_from_text(cert_text);
	X509 *root = cert_from_text(ca_text);
	struct identity found = { 0 };
	enum ls_rc rc = LS_OK;

	if (cert == NULL || root == NULL)
		rc = pki_err(err, "what was sent is no certificate");
	if (rc == LS_OK)
		rc = check_fingerprint(root, fingerprint, err);
	if (rc == LS_OK)
		rc = check_signed(cert, root, err);
	if (rc == LS_OK)
		rc = check_key(req, cert, err);
	if (rc == LS_OK)
		rc = identity_from_x509(cert, &found, err);
	if (rc == LS_OK && (found.role != ROLE_AGENT || (name != NULL && strcmp(name, found.name) != 0)))
		rc = ls_err_set(err, LS_E_TLS, "the certificate that was sent is for %s %s",
		    identity_role_names[found.role], found.name);
	if (rc == LS_OK)
		*id = found;
	X509_free(cert);
	X509_free(root);
	return rc;
}

enum ls_rc
pki_request_store(const struct pki_request *req, const char *cert, const char *ca, const char *key_path,
    const char *cert_path, const char *ca_path, struct ls_err *err)
{
	struct pki_staged key_file = { 0 }, cert_file = { 0 }, ca_file = { 0 };
	enum ls_rc rc = pki_stage(&key_file, key_path, 0600, req->key, req->key_len, err);

	if (rc == LS_OK)
		rc = pki_stage(&cert_file, cert_path, 0644, cert, strlen(cert), err);
	if (rc == LS_OK && ca != NULL)
		rc = pki_stage(&ca_file, ca_path, 0644, ca, strlen(ca), err);
	if (rc == LS_OK && ca != NULL)
		rc = pki_publish(&ca_file, true, err);
	if (rc == LS_OK)
		rc = pki_publish(&key_file, true, err);
	if (rc == LS_OK)
		rc = pki_publish(&cert_file, true, err);
	pki_discard(&key_file);
	pki_discard(&cert_file);
	pki_discard(&ca_file);
	return rc;
}

/* --- the authority's side --- */

/* The request's public key if the request is in order: its own signature shows that the sender has the private one. */
static enum ls_rc
request_key(const char *text, EVP_PKEY **out, struct ls_err *err)
{
	size_t len = strlen(text);
	BIO *bio = len <= PKI_PEM_MAX ? BIO_new_mem_buf(text, (int)len) : NULL;
	X509_REQ *req = bio != NULL ? PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL) : NULL;
	EVP_PKEY *key = req != NULL ? X509_REQ_get_pubkey(req) : NULL;
	bool ok = key != NULL && X509_REQ_verify(req, key) == 1 && EVP_PKEY_get_security_bits(key) >= 112;

	X509_REQ_free(req);
	BIO_free(bio);
	if (!ok) {
		EVP_PKEY_free(key);
		pki_err(err, "this is no certificate request that can be signed");
		return ls_err_set(err, LS_E_INVALID, "this is no certificate request that can be signed");
	}
	*out = key;
	return LS_OK;
}

enum ls_rc
pki_request_valid(const char *text, struct ls_err *err)
{
	EVP_PKEY *key = NULL;
	enum ls_rc rc = request_key(text, &key, err);

	EVP_PKEY_free(key);
	return rc;
}

/* What is known of an issued certificate: the list that revocation goes by, and the file that "pki list" shows. */
static enum ls_rc
keep(const char *dir, const struct identity *id, const X509 *cert, const char *text, struct ls_err *err)
{
	struct pki_staged file = { 0 };
	char path[PKI_PATH_MAX];

	enum ls_rc rc = pki_issued_add(dir, id, cert, err);
	if (rc == LS_OK)
		rc = pki_cert_path(path, dir, id, err);
	if (rc == LS_OK)
		rc = pki_stage(&file, path, 0644, text, strlen(text), err);
	if (rc == LS_OK)
		rc = pki_publish(&file, true, err);
	pki_discard(&file);
	return rc == LS_OK ? pki_sync_dir(dir, err) : rc;
}

enum ls_rc
pki_sign(const char *dir, const char *request, const struct identity *id, unsigned days, char **cert_out, char **ca_out,
    struct ls_err *err)
{
	X509 *root = NULL, *cert = NULL;
	EVP_PKEY *root_key = NULL, *key = NULL;
	char *cert_text = NULL, *ca_text = NULL;
	size_t len;

	if (id->role <= ROLE_NONE || id->role > ROLE_OPERATOR || !identity_name_valid(id->name))
		return ls_err_set(err, LS_E_INVALID, "a certificate needs a role and a name");
	if (days < 1 || days > PKI_DAYS_MAX)
		return ls_err_set(err, LS_E_RANGE, "%u days of validity: must be 1 to %d", days, PKI_DAYS_MAX);
	enum ls_rc rc = request_key(request, &key, err);
	if (rc == LS_OK)
		rc = pki_load_root(dir, &root, &root_key, err);
	if (rc == LS_OK)
		rc = pki_make_leaf(key, id, days, root, root_key, &cert, err);
	if (rc == LS_OK)
		rc = pki_cert_pem(cert, &cert_text, &len, err);
	if (rc == LS_OK)
		rc = pki_cert_pem(root, &ca_text, &len, err);
	if (rc == LS_OK)
		rc = keep(dir, id, cert, cert_text, err);
	if (rc == LS_OK) {
		*cert_out = cert_text;
		*ca_out = ca_text;
		cert_text = ca_text = NULL;
	}
	free(cert_text);
	free(ca_text);
	X509_free(cert);
	X509_free(root);
	EVP_PKEY_free(key);
	EVP_PKEY_free(root_key);
	return rc;
}
