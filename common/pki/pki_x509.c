#include <errno.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/mem.h"
#include "common/pki/pki_int.h"

#define SERIAL_BYTES     16
#define BACKDATE_SECONDS 300

enum ls_rc
pki_err(struct ls_err *err, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);

	const char *why = ERR_reason_error_string(ERR_peek_last_error());
	ERR_clear_error();
	return ls_err_set(err, LS_E_TLS, "%s: %s", what, why != NULL ? why : "OpenSSL gives no reason");
}

enum ls_rc
pki_make_key(EVP_PKEY **out, struct ls_err *err)
{
	*out = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	return *out != NULL ? LS_OK : pki_err(err, "cannot make a key");
}

/* --- making certificates --------------------------------------------------------------------------------------------- */

struct extension {
	int nid;
	const char *value; /* as in openssl.cnf */
};

static const struct extension root_extensions[] = {
	{ NID_basic_constraints, "critical,CA:TRUE,pathlen:0" },
	{ NID_key_usage, "critical,keyCertSign,cRLSign" },
	{ NID_subject_key_identifier, "hash" },
};

/* Each side of a connection can be anybody's: agents call, a relay is called. The role says who may do what. */
static const struct extension leaf_extensions[] = {
	{ NID_basic_constraints, "critical,CA:FALSE" },
	{ NID_key_usage, "critical,digitalSignature" },
	{ NID_ext_key_usage, "serverAuth,clientAuth" },
	{ NID_subject_key_identifier, "hash" },
	{ NID_authority_key_identifier, "keyid:always" },
};

static bool
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);

	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	bool ok = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return ok;
}

static bool
add_extensions(X509 *cert, X509 *issuer, const struct extension *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!add_extension(cert, issuer, list[i].nid, list[i].value))
			return false;
	return true;
}

/* Random, so that no two roots or renewals share one, and positive. */
static bool
set_serial(X509 *cert)
{
	unsigned char bytes[SERIAL_BYTES];

	if (RAND_bytes(bytes, (int)sizeof(bytes)) != 1)
		return false;
	bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40); /* always the same length */

	BIGNUM *number = BN_bin2bn(bytes, (int)sizeof(bytes), NULL);
	bool ok = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
	BN_free(number);
	return ok;
}

static bool
set_subject(X509 *cert, const char *common_name)
{
	return X509_NAME_add_entry_by_NID(X509_get_subject_name(cert), NID_commonName, MBSTRING_UTF8,
		   (const unsigned char *)common_name, -1, -1, 0) == 1;
}

static bool
set_validity(X509 *cert, unsigned days)
{
	return X509_gmtime_adj(X509_getm_notBefore(cert), -BACKDATE_SECONDS) != NULL &&
	    X509_time_adj_ex(X509_getm_notAfter(cert), (int)days, 0, NULL) != NULL;
}

/* What root and leaf have in common; issuer NULL: itself. */
static X509 *
new_cert(EVP_PKEY *key, const char *common_name, unsigned days, X509 *issuer)
{
	X509 *cert = X509_new();

	if (cert == NULL)
		return NULL;
	if (X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) && set_subject(cert, common_name) &&
	    set_validity(cert, days) && X509_set_pubkey(cert, key) == 1 &&
	    X509_set_issuer_name(cert, X509_get_subject_name(issuer != NULL ? issuer : cert)) == 1)
		return cert;
	X509_free(cert);
	return NULL;
}

enum ls_rc
pki_make_root(EVP_PKEY *key, const char *common_name, unsigned days, X509 **out, struct ls_err *err)
{
	X509 *cert = new_cert(key, common_name, days, NULL);

	if (cert != NULL && add_extensions(cert, cert, root_extensions, ARRAY_LEN(root_extensions)) &&
	    X509_sign(cert, key, EVP_sha256()) > 0) {
		*out = cert;
		return LS_OK;
	}
	X509_free(cert);
	return pki_err(err, "cannot make the root certificate");
}

/* A certificate that outlives its root is of no use and misleads. */
static bool
end_with_root(X509 *cert, const X509 *root)
{
	if (ASN1_TIME_compare(X509_get0_notAfter(cert), X509_get0_notAfter(root)) <= 0)
		return true;
	return X509_set1_notAfter(cert, X509_get0_notAfter(root)) == 1;
}

enum ls_rc
pki_make_leaf(EVP_PKEY *key, const struct identity *id, unsigned days, X509 *root, EVP_PKEY *root_key, X509 **out,
    struct ls_err *err)
{
	char uri[128];
	char names[160];
	X509 *cert = new_cert(key, id->name, days, root);

	snprintf(names, sizeof(names), "URI:%s", identity_uri(id, uri, sizeof(uri)));
	if (cert != NULL && end_with_root(cert, root) &&
	    add_extensions(cert, root, leaf_extensions, ARRAY_LEN(leaf_extensions)) &&
	    add_extension(cert, root, NID_subject_alt_name, names) && X509_sign(cert, root_key, EVP_sha256()) > 0) {
		*out = cert;
		return LS_OK;
	}
	X509_free(cert);
	return pki_err(err, "cannot make the certificate of %s", id->name);
}

/* --- reading --------------------------------------------------------------------------------------------------------- */

static enum ls_rc
open_file(const char *path, FILE **out, struct ls_err *err)
{
	*out = fopen(path, "re");
	if (*out != NULL)
		return LS_OK;
	if (errno == ENOENT)
		return ls_err_set(err, LS_E_NOTFOUND, "%s does not exist", path);
	return ls_err_sys(err, errno, "%s: open", path);
}

/* Without one OpenSSL would ask on the terminal. */
static int
no_password(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

enum ls_rc
pki_read_cert(const char *path, X509 **out, struct ls_err *err)
{
	FILE *f;
	enum ls_rc rc = open_file(path, &f, err);

	if (rc != LS_OK)
		return rc;
	*out = PEM_read_X509(f, NULL, no_password, NULL);
	fclose(f);
	return *out != NULL ? LS_OK : pki_err(err, "%s is not a certificate in PEM", path);
}

enum ls_rc
pki_read_key(const char *path, EVP_PKEY **out, struct ls_err *err)
{
	FILE *f;
	enum ls_rc rc = open_file(path, &f, err);

	if (rc != LS_OK)
		return rc;
	*out = PEM_read_PrivateKey(f, NULL, no_password, NULL);
	fclose(f);
	return *out != NULL ? LS_OK : pki_err(err, "%s is not a private key in PEM without a password", path);
}

static bool
to_epoch(const ASN1_TIME *t, int64_t *out)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1)
		return false;
	*out = (int64_t)timegm(&tm);
	return true;
}

enum ls_rc
pki_cert_validity(const X509 *cert, int64_t *not_before, int64_t *not_after, struct ls_err *err)
{
	int64_t from, until;

	if (!to_epoch(X509_get0_notBefore(cert), &from) || !to_epoch(X509_get0_notAfter(cert), &until))
		return pki_err(err, "certificate has no valid dates");
	*not_before = from;
	*not_after = until;
	return LS_OK;
}

bool
pki_parse_time(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

const char *
pki_cert_serial(const X509 *cert, char *buf, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const ASN1_INTEGER *serial = X509_get0_serialNumber(cert);
	const unsigned char *bytes = ASN1_STRING_get0_data(serial);
	size_t n = 0;

	for (int i = 0; i < ASN1_STRING_length(serial) && n + 2 < len; i++) {
		buf[n++] = digits[bytes[i] >> 4];
		buf[n++] = digits[bytes[i] & 15];
	}
	buf[n] = '\0';
	return buf;
}

/* --- PEM text -------------------------------------------------------------------------------------------------------- */

/* The content of a memory BIO on the heap; frees the BIO. ok: whether writing it went well. */
static enum ls_rc
take_bio(BIO *bio, bool ok, char **out, size_t *out_len, struct ls_err *err)
{
	char *data = NULL;
	long len = bio != NULL && ok ? BIO_get_mem_data(bio, &data) : 0;

	if (len <= 0) {
		BIO_free(bio);
		return pki_err(err, "cannot write PEM");
	}
	*out = ls_strndup(data, (size_t)len);
	*out_len = (size_t)len;
	OPENSSL_cleanse(data, (size_t)len);
	BIO_free(bio);
	return LS_OK;
}

enum ls_rc
pki_cert_pem(const X509 *cert, char **out, size_t *out_len, struct ls_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());

	return take_bio(bio, bio != NULL && PEM_write_bio_X509(bio, cert) == 1, out, out_len, err);
}

enum ls_rc
pki_key_pem(const EVP_PKEY *key, char **out, size_t *out_len, struct ls_err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());

	return take_bio(bio, bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1,
	    out, out_len, err);
}

void
pki_wipe(char *text, size_t len)
{
	if (text != NULL)
		OPENSSL_cleanse(text, len);
	free(text);
}
