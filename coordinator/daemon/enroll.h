/*
 * Certificates over the wire: a node enrolls with a token, an agent renews its own, an operator makes tokens and removes nodes. Needs the
 * authority's directory (configuration key pki). What touches its files runs in the store's writer thread.
 */
#ifndef LS_COORDINATOR_DAEMON_ENROLL_H
#define LS_COORDINATOR_DAEMON_ENROLL_H

#include "coordinator/daemon/session.h"

/* Handlers, see dispatch.h. */
enum ls_rc enroll_on_enroll(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc enroll_on_renew(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc enroll_on_node_add(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc enroll_on_node_remove(struct session *s, void *body, struct ls_mono received, struct ls_err *err);

#endif
