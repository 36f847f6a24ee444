/*
 * Runs a program of the system as root: no shell, a fixed environment, a time limit, what it says on standard error kept short.
 */
#ifndef LS_AGENT_HELPER_COMMAND_H
#define LS_AGENT_HELPER_COMMAND_H

#include <stdint.h>

#include "common/base/err.h"

/*
 * argv: as for execv, argv[0] a name to be found in /usr/bin, /bin, /usr/sbin, /sbin. It is killed when the time is over; one that
 * hangs in the kernel even then is left. Errors: LS_E_NOTFOUND, LS_E_SYS, LS_E_TIMEOUT, LS_E_STATE (its status was not 0; the
 * sentence has what it said).
 */
enum ls_rc command_run(const char *const *argv, int64_t timeout_ns, struct ls_err *err) LS_MUST_CHECK;

#endif
