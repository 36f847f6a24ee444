/*
 * Who a certificate says its owner is: a role and a name, in a URI subject alternative name:
 *	lockstep://coordinator/NAME   lockstep://agent/NAME   lockstep://operator/NAME
 * Exactly one such URI must be there. Names: 1 to 63 of A-Z a-z 0-9 . _ -, not beginning with . or -.
 */
#ifndef LS_COMMON_PKI_IDENTITY_H
#define LS_COMMON_PKI_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define IDENTITY_NAME_MAX 63

enum identity_role {
	ROLE_NONE = 0,
	ROLE_COORDINATOR,
	ROLE_AGENT,
	ROLE_OPERATOR,
};

extern const char *const identity_role_names[]; /* "none", "coordinator", ...; NULL-terminated */

struct identity {
	enum identity_role role;
	char name[IDENTITY_NAME_MAX + 1];
};

/* 1 to IDENTITY_NAME_MAX of A-Z a-z 0-9 . _ -, neither . nor - in front: a name is also a part of file names. Pure. */
bool identity_name_valid(const char *name);

/* From the URI; out is untouched on error. Errors: LS_E_INVALID. Pure. */
enum ls_rc identity_parse_uri(const char *uri, struct identity *out, struct ls_err *err) LS_MUST_CHECK;

/* The URI into buf (128 bytes are enough); returns buf. */
const char *identity_uri(const struct identity *id, char *buf, size_t len);

/* From a certificate file (PEM, the first one in it), also its validity (seconds since the epoch; may be NULL). Errors: LS_E_TLS. */
enum ls_rc identity_from_cert_file(
    const char *path, struct identity *out, int64_t *not_before, int64_t *not_after, struct ls_err *err) LS_MUST_CHECK;

#endif
