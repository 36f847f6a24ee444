/*
 * lockstepd's certificates while it runs: read again on SIGHUP and when the revocation list changes, so that who is revoked is
 * disconnected at once; its own certificate is renewed where it has the authority.
 */
#ifndef LS_COORDINATOR_DAEMON_CERTS_H
#define LS_COORDINATOR_DAEMON_CERTS_H

#include "coordinator/daemon/daemon_int.h"

struct certs;

/* Makes the TLS context of d from its configuration. Errors: as tls_ctx_new; the authority's directory. */
enum ls_rc certs_open(struct daemon *d, struct ls_err *err) LS_MUST_CHECK;

/* Begins to watch. */
void certs_watch(struct daemon *d);
void certs_close(struct daemon *d);

/* Reads all files again; sessions whose certificate is no longer let in are ended. */
void certs_read_again(struct daemon *d);

/* The list of revoked certificates in force; NULL: none. Borrowed. */
const char *certs_crl(const struct daemon *d);

#endif
