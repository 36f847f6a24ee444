/*
 * Enrolment: a node gets its certificate without its key ever leaving it, by a one-time token. Renewal and revocation, which need
 * the same. In the authority's directory (common/pki/pki.h) stand for this:
 *
 *	DIR/tokens/<SHA-256 of the secret>	a token that nobody has used yet: "NODE EXPIRES\n", seconds since the epoch
 *	DIR/issued				a line per certificate: "SERIAL NOT_AFTER ROLE NAME\n"; revocation goes by it
 *	DIR/ca.crl				what was revoked
 *
 * A token's text is "ls1-" and 64 characters of base64url (RFC 4648, section 5): the SHA-256 of the root certificate (DER), by which the
 * node knows that it talks to the right coordinator, and 16 random bytes, by which the coordinator knows the node. Any thread.
 */
#ifndef LS_COMMON_PKI_PKI_ENROLL_H
#define LS_COMMON_PKI_PKI_ENROLL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/pki/identity.h"

#define PKI_FINGERPRINT_BYTES 32
#define PKI_SECRET_BYTES      16
#define PKI_TOKEN_LEN         68
#define PKI_PEM_MAX           8192 /* bytes of a certificate or request that are looked at */

struct pki_token {
	uint8_t fingerprint[PKI_FINGERPRINT_BYTES]; /* SHA-256 of the root */
	uint8_t secret[PKI_SECRET_BYTES];
};

/* Errors: LS_E_INVALID when text is no token. */
enum ls_rc pki_token_parse(const char *text, struct pki_token *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * Makes a token with which node can enroll once within valid_s seconds, and removes what has expired. expires: seconds since the
 * epoch. Errors: LS_E_INVALID (name), LS_E_NOTFOUND without a root, LS_E_TLS, LS_E_SYS.
 */
enum ls_rc pki_token_new(const char *dir, const char *node, int64_t valid_s, char out[PKI_TOKEN_LEN + 1],
    int64_t *expires, struct ls_err *err) LS_MUST_CHECK;

/* Uses up a token: the name of its node into node. Errors: LS_E_REFUSED when there is none such, or it has expired; LS_E_SYS. */
enum ls_rc pki_token_take(const char *dir, const uint8_t secret[PKI_SECRET_BYTES], char node[IDENTITY_NAME_MAX + 1],
    struct ls_err *err) LS_MUST_CHECK;

/* --- the node's side --- */

/* A new key and a request (PKCS #10) for it. */
struct pki_request {
	char *key; /* PEM */
	size_t key_len;
	char *request; /* PEM */
};

/* *out: end it with pki_request_fini. Errors: LS_E_TLS. */
enum ls_rc pki_request_new(struct pki_request *out, struct ls_err *err) LS_MUST_CHECK;
void pki_request_fini(struct pki_request *req); /* wipes the key */

/*
 * Is cert the answer to req: of its key, for role agent and name (NULL: any; the name found goes to id), signed by the root ca? fingerprint
 * NULL: ca is believed. Errors: LS_E_TLS.
 */
enum ls_rc pki_request_check(const struct pki_request *req, const char *cert, const char *ca,
    const uint8_t *fingerprint, const char *name, struct identity *id, struct ls_err *err) LS_MUST_CHECK;

/* Writes key, certificate and root (NULL: not that) to those paths, each whole, the certificate last. Errors: LS_E_SYS, LS_E_LIMIT. */
enum ls_rc pki_request_store(const struct pki_request *req, const char *cert, const char *ca, const char *key_path,
    const char *cert_path, const char *ca_path, struct ls_err *err) LS_MUST_CHECK;

/* --- the authority's side --- */

/* Is text a request that is signed by its own key, on a curve that we use? Errors: LS_E_INVALID. */
enum ls_rc pki_request_valid(const char *text, struct ls_err *err) LS_MUST_CHECK;

/*
 * Signs a request for id, whatever the request says about itself, and keeps the certificate as DIR/<role>-<name>.crt. *cert, *ca: PEM, heap.
 * Errors: LS_E_INVALID, LS_E_RANGE, LS_E_NOTFOUND, LS_E_STATE, LS_E_SYS, LS_E_TLS.
 */
enum ls_rc pki_sign(const char *dir, const char *request, const struct identity *id, unsigned days, char **cert,
    char **ca, struct ls_err *err) LS_MUST_CHECK;

/*
 * Revokes every certificate of id that was issued from dir and has not ended; count: how many that were not revoked before. Errors:
 * LS_E_NOTFOUND when none was ever issued; LS_E_STATE, LS_E_SYS, LS_E_TLS.
 */
enum ls_rc pki_revoke(const char *dir, const struct identity *id, size_t *count, struct ls_err *err) LS_MUST_CHECK;

/* DIR/ca.crl exists, if need be as an empty list. path: 1024 bytes. Errors: as pki_revoke's. */
enum ls_rc pki_crl_ensure(const char *dir, char *path, struct ls_err *err) LS_MUST_CHECK;

#endif
