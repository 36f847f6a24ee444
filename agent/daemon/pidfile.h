/*
 * <spool>/agent.pid: keeps a second agent off the same spool, and tells `lockstep-agent stop` whom to signal.
 */
#ifndef LS_AGENT_DAEMON_PIDFILE_H
#define LS_AGENT_DAEMON_PIDFILE_H

#include <sys/types.h>

#include "common/base/err.h"

/*
 * Makes dir (mode 0700) if need be, locks the file (flock) and writes this process's number into it. *out_fd holds the lock
 * until closed. Errors: LS_E_EXISTS when another agent has it, LS_E_SYS.
 */
enum ls_rc pidfile_lock(const char *dir, int *out_fd, struct ls_err *err) LS_MUST_CHECK;

/* Signals the agent that holds the lock. Errors: LS_E_NOTFOUND when there is none, LS_E_SYS. */
enum ls_rc pidfile_signal(const char *dir, int sig, pid_t *out_pid, struct ls_err *err) LS_MUST_CHECK;

#endif
