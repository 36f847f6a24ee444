/*
 * lockstepd as a whole: everything is made in order and ended in reverse.
 */
#ifndef LS_COORDINATOR_DAEMON_SERVER_H
#define LS_COORDINATOR_DAEMON_SERVER_H

#include "coordinator/daemon/daemon_int.h"

/*
 * Store, TLS, loop, listeners; takes up what an earlier lockstepd left. config is borrowed. On error nothing is left.
 */
enum ls_rc server_open(const struct lockstepd_config *config, struct daemon **out, struct ls_err *err) LS_MUST_CHECK;

/* Runs until SIGTERM or SIGINT. ready_fd: one line with the addresses goes there, then it is closed; -1: none. */
enum ls_rc server_run(struct daemon *d, int ready_fd, struct ls_err *err) LS_MUST_CHECK;

/* Runs in progress stay in the store as they are. NULL-safe. */
void server_close(struct daemon *d);

#endif
