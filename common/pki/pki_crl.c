/*
 * DIR/ca.crl: what was revoked (RFC 5280, section 5). It names the root's end as its next update: it is written anew at each
 * revocation, not by the calendar, and must not go stale by itself.
 */
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/pki/pki_enroll.h"
#include "common/pki/pki_int.h"

static const char file_name[] = "ca.crl";

enum ls_rc
pki_read_crl(const char *dir, X509_CRL **out, struct ls_err *err)
{
	char path[PKI_PATH_MAX];
	enum ls_rc rc = pki_path(path, dir, file_name, err);

	*out = NULL;
	if (rc != LS_OK)
		return rc;
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return errno == ENOENT ? LS_OK : ls_err_sys(err, errno, "%s: open", path);
	*out = PEM_read_X509_CRL(f, NULL, NULL, NULL);
	fclose(f);
	return *out != NULL ? LS_OK : pki_err(err, "%s is not a revocation list in PEM", path);
}

static ASN1_INTEGER *
serial_number(const char *hex)
{
	BIGNUM *number = NULL;
	ASN1_INTEGER *serial = BN_hex2bn(&number, hex) != 0 ? BN_to_ASN1_INTEGER(number, NULL) : NULL;

	BN_free(number);
	return serial;
}

/* Takes serial over. */
static bool
add_revoked(X509_CRL *crl, ASN1_INTEGER *serial, const ASN1_TIME *when)
{
	X509_REVOKED *entry = X509_REVOKED_new();
	bool ok = entry != NULL && serial != NULL && X509_REVOKED_set_serialNumber(entry, serial) == 1 &&
	    X509_REVOKED_set_revocationDate(entry, (ASN1_TIME *)(uintptr_t)when) == 1 &&
	    X509_CRL_add0_revoked(crl, entry) == 1;

	if (!ok)
		X509_REVOKED_free(entry);
	ASN1_INTEGER_free(serial);
	return ok;
}

static bool
copy_revoked(X509_CRL *to, X509_CRL *from)
{
	STACK_OF(X509_REVOKED) *list = from != NULL ? X509_CRL_get_REVOKED(from) : NULL;

	for (int i = 0; list != NULL && i < sk_X509_REVOKED_num(list); i++) {
		const X509_REVOKED *old = sk_X509_REVOKED_value(list, i);

		if (!add_revoked(to, ASN1_INTEGER_dup(X509_REVOKED_get0_serialNumber(old)),
			X509_REVOKED_get0_revocationDate(old)))
			return false;
	}
	return true;
}

/* The number of the list: one more than the last one's. */
static bool
set_number(X509_CRL *to, const X509_CRL *from)
{
	ASN1_INTEGER *old = from != NULL ? X509_CRL_get_ext_d2i(from, NID_crl_number, NULL, NULL) : NULL;
	ASN1_INTEGER *number = ASN1_INTEGER_new();
	bool ok = number != NULL && ASN1_INTEGER_set_int64(number, old != NULL ? ASN1_INTEGER_get(old) + 1 : 1) == 1 &&
	    X509_CRL_add1_ext_i2d(to, NID_crl_number, number, 0, 0) == 1;

	ASN1_INTEGER_free(number);
	ASN1_INTEGER_free(old);
	return ok;
}

static enum ls_rc
write_crl(const char *dir, const char *path, X509_CRL *crl, struct ls_err *err)
{
	struct pki_staged file = { 0 };
	BIO *bio = BIO_new(BIO_s_mem());
	char *data = NULL;
	long len = bio != NULL && PEM_write_bio_X509_CRL(bio, crl) == 1 ? BIO_get_mem_data(bio, &data) : 0;
	enum ls_rc rc = len > 0 ? LS_OK : pki_err(err, "cannot write the revocation list");

	if (rc == LS_OK)
		rc = pki_stage(&file, path, 0644, data, (size_t)len, err);
	if (rc == LS_OK)
		rc = pki_publish(&file, true, err);
	pki_discard(&file);
	BIO_free(bio);
	return rc == LS_OK ? pki_sync_dir(dir, err) : rc;
}

bool
pki_crl_has(X509_CRL *crl, const char *serial)
{
	ASN1_INTEGER *number = crl != NULL ? serial_number(serial) : NULL;
	X509_REVOKED *entry = NULL;
	bool found = number != NULL && X509_CRL_get0_by_serial(crl, &entry, number) == 1;

	ASN1_INTEGER_free(number);
	return found;
}

static X509_CRL *
make_crl(X509 *root, EVP_PKEY *key, X509_CRL *old, const struct pki_serial *serials, size_t *count)
{
	ASN1_TIME *now = ASN1_TIME_set(NULL, time(NULL));
	X509_CRL *crl = X509_CRL_new();
	bool ok = now != NULL && crl != NULL && X509_CRL_set_version(crl, X509_CRL_VERSION_2) == 1 &&
	    X509_CRL_set_issuer_name(crl, X509_get_subject_name(root)) == 1 &&
	    X509_CRL_set1_lastUpdate(crl, now) == 1 && X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(root)) == 1 &&
	    set_number(crl, old) && copy_revoked(crl, old);

	for (; ok && serials != NULL && serials->text[0] != '\0'; serials++) {
		if (pki_crl_has(old, serials->text))
			continue;
		ok = add_revoked(crl, serial_number(serials->text), now);
		(*count)++;
	}
	if (!ok || X509_CRL_sort(crl) != 1 || X509_CRL_sign(crl, key, EVP_sha256()) <= 0) {
		X509_CRL_free(crl);
		crl = NULL;
	}
	ASN1_TIME_free(now);
	return crl;
}

/* A list with serials (NULL: none) besides those that it has. */
static enum ls_rc
renew_crl(const char *dir, const char *path, const struct pki_serial *serials, size_t *count, struct ls_err *err)
{
	X509 *root = NULL;
	EVP_PKEY *key = NULL;
	X509_CRL *old = NULL, *crl = NULL;
	enum ls_rc rc = pki_load_root(dir, &root, &key, err);

	if (rc == LS_OK)
		rc = pki_read_crl(dir, &old, err);
	if (rc == LS_OK && (crl = make_crl(root, key, old, serials, count)) == NULL)
		rc = pki_err(err, "cannot make a revocation list");
	if (rc == LS_OK)
		rc = write_crl(dir, path, crl, err);
	X509_CRL_free(crl);
	X509_CRL_free(old);
	X509_free(root);
	EVP_PKEY_free(key);
	return rc;
}

enum ls_rc
pki_revoke(const char *dir, const struct identity *id, size_t *count, struct ls_err *err)
{
	char path[PKI_PATH_MAX];
	struct pki_serial *serials = NULL;
	enum ls_rc rc = pki_path(path, dir, file_name, err);

	*count = 0;
	if (rc == LS_OK)
		rc = pki_issued_find(dir, id, (int64_t)time(NULL), &serials, err);
	if (rc == LS_OK)
		rc = renew_crl(dir, path, serials, count, err);
	free(serials);
	return rc;
}

enum ls_rc
pki_crl_ensure(const char *dir, char *path, struct ls_err *err)
{
	size_t count = 0;
	enum ls_rc rc = pki_path(path, dir, file_name, err);

	if (rc != LS_OK || access(path, F_OK) == 0)
		return rc;
	return renew_crl(dir, path, NULL, &count, err);
}
