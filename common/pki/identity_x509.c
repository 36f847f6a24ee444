#include "common/pki/identity_x509.h"

#include <string.h>
#include <strings.h>

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#define IDENTITY_SCHEME "lockstep:"

/* Copies a lockstep URI out of name into buf; false when name is something else. NUL bytes inside would fool strcmp. */
static bool
lockstep_uri(const GENERAL_NAME *name, char *buf, size_t len, bool *broken)
{
	if (name->type != GEN_URI)
		return false;

	const ASN1_IA5STRING *uri = name->d.uniformResourceIdentifier;
	const unsigned char *data = ASN1_STRING_get0_data(uri);
	size_t n = (size_t)ASN1_STRING_length(uri);

	if (n < strlen(IDENTITY_SCHEME) ||
	    strncasecmp((const char *)data, IDENTITY_SCHEME, strlen(IDENTITY_SCHEME)) != 0)
		return false;
	if (n >= len || memchr(data, '\0', n) != NULL) {
		*broken = true;
		return true;
	}
	memcpy(buf, data, n);
	buf[n] = '\0';
	return true;
}

enum ls_rc
identity_from_x509(struct x509_st *cert, struct identity *out, struct ls_err *err)
{
	char uri[256] = "";
	bool broken = false;
	int found = 0;

	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
		if (lockstep_uri(sk_GENERAL_NAME_value(names, i), uri, sizeof(uri), &broken))
			found++;
	GENERAL_NAMES_free(names);
	ERR_clear_error(); /* what an unreadable extension left there would be taken for the connection's */

	if (found == 0)
		return ls_err_set(err, LS_E_TLS, "the certificate has no lockstep:// name");
	if (found > 1)
		return ls_err_set(err, LS_E_TLS, "the certificate has %d lockstep:// names instead of one", found);
	if (broken)
		return ls_err_set(err, LS_E_TLS, "the certificate's lockstep:// name is too long or contains a NUL");
	if (identity_parse_uri(uri, out, err) != LS_OK) {
		ls_err_wrap(err, "certificate");
		if (err != NULL)
			err->rc = LS_E_TLS;
		return LS_E_TLS;
	}
	return LS_OK;
}
