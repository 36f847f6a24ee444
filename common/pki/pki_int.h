/*
 * Innards of common/pki: making and reading certificates (pki_x509.c), writing files whole (pki_file.c).
 */
#ifndef LS_COMMON_PKI_PKI_INT_H
#define LS_COMMON_PKI_PKI_INT_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/pki/identity.h"

/* --- pki_x509.c --- */

/* The sentence, then why OpenSSL says so; empties its queue of errors. Returns LS_E_TLS. */
enum ls_rc pki_err(struct ls_err *err, const char *fmt, ...) LS_PRINTF(2, 3);

/* New key, P-256. *out: EVP_PKEY_free. */
enum ls_rc pki_make_key(EVP_PKEY **out, struct ls_err *err) LS_MUST_CHECK;

/* A self-signed root, and a certificate signed by one. *out: X509_free. */
enum ls_rc pki_make_root(
    EVP_PKEY *key, const char *common_name, unsigned days, X509 **out, struct ls_err *err) LS_MUST_CHECK;
enum ls_rc pki_make_leaf(EVP_PKEY *key, const struct identity *id, unsigned days, X509 *root, EVP_PKEY *root_key,
    X509 **out, struct ls_err *err) LS_MUST_CHECK;

/* Errors: LS_E_NOTFOUND, LS_E_SYS, LS_E_TLS. Encrypted keys are refused, nobody is asked for a password. */
enum ls_rc pki_read_cert(const char *path, X509 **out, struct ls_err *err) LS_MUST_CHECK;
enum ls_rc pki_read_key(const char *path, EVP_PKEY **out, struct ls_err *err) LS_MUST_CHECK;

/* Seconds since the epoch. */
enum ls_rc pki_cert_validity(
    const X509 *cert, int64_t *not_before, int64_t *not_after, struct ls_err *err) LS_MUST_CHECK;

/* Seconds since the epoch as a file of ours has them. False: no number, or out of range. */
bool pki_parse_time(const char *text, int64_t *out);

/* Lower-case hexadecimal into buf; returns buf. */
const char *pki_cert_serial(const X509 *cert, char *buf, size_t len);

/* PEM of both on the heap. The key's text is to be freed with pki_wipe. */
enum ls_rc pki_cert_pem(const X509 *cert, char **out, size_t *out_len, struct ls_err *err) LS_MUST_CHECK;
enum ls_rc pki_key_pem(const EVP_PKEY *key, char **out, size_t *out_len, struct ls_err *err) LS_MUST_CHECK;
void pki_wipe(char *text, size_t len); /* NULL is allowed */

/* --- pki.c --- */

/* The root and its key, which must belong together and still be valid. On error nothing is left to free. */
enum ls_rc pki_load_root(const char *dir, X509 **out_cert, EVP_PKEY **out_key, struct ls_err *err) LS_MUST_CHECK;

/* --- pki_issued.c --- */

/* Adds a line to DIR/issued. Errors: LS_E_SYS, LS_E_LIMIT. */
enum ls_rc pki_issued_add(
    const char *dir, const struct identity *id, const X509 *cert, struct ls_err *err) LS_MUST_CHECK;

/* The serial numbers (hexadecimal) of id's certificates that had not ended at now; one of a list, the last one has an empty text. */
struct pki_serial {
	char text[64];
};

/* *out: heap. From DIR/issued and the certificate that lies in dir now. Errors: LS_E_NOTFOUND: none was ever issued; LS_E_SYS. */
enum ls_rc pki_issued_find(
    const char *dir, const struct identity *id, int64_t now, struct pki_serial **out, struct ls_err *err) LS_MUST_CHECK;

/* --- pki_crl.c --- */

/* The list in dir, or NULL where there is none. *out: X509_CRL_free. */
enum ls_rc pki_read_crl(const char *dir, X509_CRL **out, struct ls_err *err) LS_MUST_CHECK;

/* Has crl (NULL: no) that serial number (hexadecimal)? */
bool pki_crl_has(X509_CRL *crl, const char *serial);

/* --- pki_file.c --- */

#define PKI_PATH_MAX 1024

/* A file that is written and flushed beside its place, not yet there. All zero: nothing. */
struct pki_staged {
	char path[PKI_PATH_MAX];
	char temp[PKI_PATH_MAX + 16];
};

/* dir/name into buf. Errors: LS_E_LIMIT. */
enum ls_rc pki_path(char buf[PKI_PATH_MAX], const char *dir, const char *name, struct ls_err *err) LS_MUST_CHECK;

/* dir/<role>-<name>.crt, the certificate of id, into buf. Errors: LS_E_LIMIT. */
enum ls_rc pki_cert_path(
    char buf[PKI_PATH_MAX], const char *dir, const struct identity *id, struct ls_err *err) LS_MUST_CHECK;

enum ls_rc pki_stage(struct pki_staged *s, const char *path, mode_t mode, const char *text, size_t len,
    struct ls_err *err) LS_MUST_CHECK;

/* Puts it into its place. Errors: LS_E_EXISTS when something is there and replace is false, LS_E_SYS. */
enum ls_rc pki_publish(struct pki_staged *s, bool replace, struct ls_err *err) LS_MUST_CHECK;

/* Removes the written file, unless it was published. */
void pki_discard(struct pki_staged *s);

/* Flushes names of dir. */
enum ls_rc pki_sync_dir(const char *dir, struct ls_err *err) LS_MUST_CHECK;

#endif
