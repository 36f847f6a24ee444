/*
 * The identity (common/pki/identity.h) that a certificate carries, for those who hold an OpenSSL object: common/net after a
 * handshake, common/pki for files. Everybody else uses identity.h, which needs no OpenSSL.
 */
#ifndef LS_COMMON_PKI_IDENTITY_X509_H
#define LS_COMMON_PKI_IDENTITY_X509_H

#include "common/base/err.h"
#include "common/pki/identity.h"

struct x509_st; /* OpenSSL's X509 */

/*
 * The role and name in cert's subject alternative names. cert is borrowed. Exactly one URI that begins with "lockstep:" must
 * be there; others are ignored. Whether the certificate can be trusted is not looked at: that is the handshake's part.
 * Errors: LS_E_TLS. out untouched on error. Any thread.
 */
enum ls_rc identity_from_x509(struct x509_st *cert, struct identity *out, struct ls_err *err) LS_MUST_CHECK;

#endif
