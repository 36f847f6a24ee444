/*
 * From a frame to the function that handles its message: one table.
 */
#ifndef LS_COORDINATOR_DAEMON_DISPATCH_H
#define LS_COORDINATOR_DAEMON_DISPATCH_H

#include "coordinator/daemon/session.h"
#include "proto/codec/msg.h"

/*
 * Handles a message whose sender was in a state that the table allows. body: struct msg_<id>, freed afterwards; a handler may take
 * members out. A failure ends the session, with the sentence to the peer. A handler that ended the session itself returns LS_OK.
 */
typedef enum ls_rc (*dispatch_fn)(struct session *s, void *body, struct ls_mono received, struct ls_err *err);

struct dispatch_row {
	enum msg_type type;
	unsigned states; /* enum session_state */
	dispatch_fn handle;
};

/* Decodes, checks and handles; ends the session when something is wrong. */
void dispatch_frame(struct session *s, const char *text, size_t len, struct ls_mono received);

/* The row of a type, or NULL when lockstepd does not take it. */
const struct dispatch_row *dispatch_find(enum msg_type type);

#endif
