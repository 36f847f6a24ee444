/*
 * hello: who may connect as what.
 */
#ifndef LS_COORDINATOR_DAEMON_HELLO_H
#define LS_COORDINATOR_DAEMON_HELLO_H

#include "coordinator/daemon/session.h"

/* Handlers, see dispatch.h. */
enum ls_rc hello_on_hello(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc hello_on_error(struct session *s, void *body, struct ls_mono received, struct ls_err *err);

#endif
