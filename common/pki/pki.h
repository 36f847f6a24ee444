/*
 * A small certificate authority: makes a root, issues certificates with a role, keeps them in a directory.
 *
 *	DIR/ca.crt DIR/ca.key      the root (ECDSA P-256)
 *	DIR/<role>-<name>.crt .key what it issued
 * Keys have mode 0600. Files are written whole or not at all.
 */
#ifndef LS_COMMON_PKI_PKI_H
#define LS_COMMON_PKI_PKI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/pki/identity.h"

/* Makes dir (mode 0700) if need be and a root in it. Errors: LS_E_EXISTS when there is one. days: validity. */
enum ls_rc pki_init(const char *dir, const char *common_name, unsigned days, struct ls_err *err) LS_MUST_CHECK;

/* Issues key and certificate. Errors: LS_E_EXISTS when those files are there and renew is false; LS_E_NOTFOUND without a root. */
enum ls_rc pki_issue(const char *dir, const struct identity *id, unsigned days, bool renew, struct ls_err *err) LS_MUST_CHECK;

struct pki_entry {
	struct identity id;	/* role NONE: the root */
	char path[1024];	/* the certificate */
	char serial[64];	/* hexadecimal */
	int64_t not_before, not_after; /* seconds since the epoch */
};

/* All certificates in dir, the root first, then by role and name. *out is heap, the caller frees it. */
enum ls_rc pki_list(const char *dir, struct pki_entry **out, size_t *out_count, struct ls_err *err) LS_MUST_CHECK;

#endif
