#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "common/base/clock.h"
#include "common/net/tls_int.h"

/* What a peer's alert means to the one who has to do something about it (RFC 8446, section 6). */
static const struct {
	int alert;
	const char *text;
} alerts[] = {
	{ SSL_AD_BAD_CERTIFICATE, "the peer refused our certificate: it is bad" },
	{ SSL_AD_UNSUPPORTED_CERTIFICATE, "the peer refused our certificate: its kind or purpose does not fit" },
	{ SSL_AD_CERTIFICATE_REVOKED, "the peer refused our certificate: it has been revoked" },
	{ SSL_AD_CERTIFICATE_EXPIRED, "the peer refused our certificate: it has expired" },
	{ SSL_AD_CERTIFICATE_UNKNOWN, "the peer refused our certificate" },
	{ SSL_AD_UNKNOWN_CA, "the peer refused our certificate: it does not know the CA that issued it" },
	{ SSL_AD_DECRYPT_ERROR, "the peer refused our certificate: its signature is wrong" },
	{ TLS13_AD_CERTIFICATE_REQUIRED, "the peer demands a certificate" },
	{ SSL_AD_NO_APPLICATION_PROTOCOL, "no common protocol: the peer does not accept ours" },
	{ SSL_AD_PROTOCOL_VERSION, "the peer does not accept TLS 1.3" },
	{ SSL_AD_HANDSHAKE_FAILURE, "the peer found no common TLS parameters" },
};

static const char *
alert_text(unsigned long code)
{
	int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET;

	for (size_t i = 0; i < ARRAY_LEN(alerts); i++)
		if (alerts[i].alert == alert)
			return alerts[i].text;
	return NULL;
}

/* A certificate's time as people write it, UTC; "?" when it cannot be read. */
static const char *
format_time(const ASN1_TIME *t, char *buf, size_t len)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1 || strftime(buf, len, "%Y-%m-%dT%H:%MZ", &tm) == 0)
		snprintf(buf, len, "?");
	return buf;
}

/* Sets what with a certificate's dates and this machine's, as either may be what is wrong. */
static enum ls_rc
fail_with_dates(struct ls_err *err, const char *what, const X509 *cert)
{
	char from[40], to[40], now[40];

	return ls_err_set(err, LS_E_TLS, "%s: valid from %s to %s, and this machine's clock says %s", what,
	    format_time(X509_get0_notBefore(cert), from, sizeof(from)),
	    format_time(X509_get0_notAfter(cert), to, sizeof(to)), ls_wall_format(ls_wall_now(), now, sizeof(now)));
}

/* The peer's certificate, or one above it, that is out of its time; NULL: none is. */
static const X509 *
out_of_time(const SSL *ssl)
{
	STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);

	for (int i = 0; chain != NULL && i < sk_X509_num(chain); i++) {
		const X509 *cert = sk_X509_value(chain, i);

		if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0 ||
		    X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
			return cert;
	}
	return NULL;
}

static enum ls_rc
not_verified(const SSL *ssl, struct ls_err *err)
{
	long result = SSL_get_verify_result(ssl);
	bool time = result == X509_V_ERR_CERT_NOT_YET_VALID || result == X509_V_ERR_CERT_HAS_EXPIRED;
	const X509 *cert = time ? out_of_time(ssl) : NULL;
	char what[256];

	snprintf(
	    what, sizeof(what), "the peer's certificate is not accepted: %s", X509_verify_cert_error_string(result));
	return cert != NULL ? fail_with_dates(err, what, cert) : ls_err_set(err, LS_E_TLS, "%s", what);
}

/* The peer does not like ours: it may be a matter of time, which OpenSSL tells as "bad", too. */
static enum ls_rc
refused_by_peer(const SSL *ssl, unsigned long code, struct ls_err *err)
{
	int alert = ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET;
	const X509 *own = SSL_get_certificate(ssl);

	if (own != NULL && (alert == SSL_AD_CERTIFICATE_EXPIRED || alert == SSL_AD_BAD_CERTIFICATE))
		return fail_with_dates(err, alert_text(code), own);
	return ls_err_set(err, LS_E_TLS, "%s", alert_text(code));
}

static enum ls_rc
ssl_error(SSL *ssl, unsigned long code, struct ls_err *err)
{
	int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
	const char *text = ERR_reason_error_string(code);

	switch (reason) {
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return ls_err_set(err, LS_E_CLOSED, "the peer closed the connection without a TLS goodbye");
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
		return not_verified(ssl, err);
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
		return ls_err_set(err, LS_E_TLS, "the peer has no certificate");
	case SSL_R_NO_APPLICATION_PROTOCOL:
		return ls_err_set(err, LS_E_TLS, "no common protocol: the peer does not offer ours");
	case SSL_R_UNSUPPORTED_PROTOCOL:
		return ls_err_set(err, LS_E_TLS, "the peer does not speak TLS 1.3");
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		return ls_err_set(err, LS_E_TLS, "what the peer sends is not TLS (%s)", text != NULL ? text : "");
	default:
		break;
	}
	if (reason >= SSL_AD_REASON_OFFSET && alert_text(code) != NULL)
		return refused_by_peer(ssl, code, err);
	return ls_err_set(err, LS_E_TLS, "%s", text != NULL ? text : "TLS failed without saying why");
}

enum ls_rc
tls_error(SSL *ssl, int ret, int saved_errno, struct ls_err *err)
{
	int kind = SSL_get_error(ssl, ret);
	unsigned long code = ERR_peek_error();

	ERR_clear_error();
	if (code != 0 && !ERR_SYSTEM_ERROR(code))
		return ssl_error(ssl, code, err);
	if (kind == SSL_ERROR_SYSCALL && saved_errno != 0)
		return ls_err_sys(err, saved_errno, "socket");
	return ls_err_set(err, LS_E_CLOSED, "the peer closed the connection without a TLS goodbye");
}
