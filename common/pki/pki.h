/*
 * A small certificate authority: makes a root, issues certificates with a role, keeps them in a directory.
 *
 *	DIR/ca.crt DIR/ca.key      the root (ECDSA P-256)
 *	DIR/<role>-<name>.crt .key what it issued
 * Keys have mode 0600. Files are written whole or not at all. Certificates are valid from five minutes before their making,
 * so that a machine whose clock is a little behind accepts them, and serve for both sides of a connection.
 */
#ifndef LS_COMMON_PKI_PKI_H
#define LS_COMMON_PKI_PKI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/pki/identity.h"

#define PKI_DAYS_MAX 36500

/*
 * Makes dir (mode 0700, its parent must be there) if need be and a root in it. common_name: 1 to 64 bytes of UTF-8. days:
 * validity, 1 to PKI_DAYS_MAX. Errors: LS_E_EXISTS when there is one, LS_E_INVALID, LS_E_RANGE, LS_E_SYS, LS_E_TLS.
 */
enum ls_rc pki_init(const char *dir, const char *common_name, unsigned days, struct ls_err *err) LS_MUST_CHECK;

/*
 * Issues a new key and its certificate; renew replaces what is there. The certificate ends with the root at the latest.
 * Errors: LS_E_EXISTS when those files are there and renew is false; LS_E_NOTFOUND without a root; LS_E_STATE when the
 * root has ended; LS_E_INVALID, LS_E_RANGE, LS_E_SYS, LS_E_TLS.
 */
enum ls_rc pki_issue(
    const char *dir, const struct identity *id, unsigned days, bool renew, struct ls_err *err) LS_MUST_CHECK;

struct pki_entry {
	struct identity id;            /* role NONE: the root */
	char path[1024];               /* the certificate */
	char serial[64];               /* hexadecimal */
	int64_t not_before, not_after; /* seconds since the epoch */
	bool revoked;                  /* DIR/ca.crl has it */
};

/*
 * The root and all certificates named <role>-<name>.crt in dir, the root first, then by role and name. The newest of each owner. *out is heap, the
 * caller frees it. Errors: LS_E_NOTFOUND without dir, LS_E_TLS for a file that is not what its name says, LS_E_SYS.
 */
enum ls_rc pki_list(const char *dir, struct pki_entry **out, size_t *out_count, struct ls_err *err) LS_MUST_CHECK;

#endif
