/*
 * A whole system on this machine for one run: lockstepd and N agents as child processes on loopback, with certificates made
 * for the occasion and real TLS. The same programs and the same way as on a cluster.
 */
#ifndef LS_COORDINATOR_CLI_LOCAL_H
#define LS_COORDINATOR_CLI_LOCAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

#define LOCAL_NODES_MAX 64

struct local;

/*
 * Starts lockstepd and count agents "node1"... that may work below path (absolute, there, no symbolic links). Store:
 * ${XDG_STATE_HOME:-~/.local/state}/lockstep; when another local run uses it, it is waited for, 10 s at most. All else is
 * in a directory that local_stop removes. Errors: LS_E_SYS, LS_E_STATE when the store is taken or a program does not get
 * ready (the sentence holds the end of its log).
 */
enum ls_rc local_start(size_t count, const char *path, struct local **out, struct ls_err *err) LS_MUST_CHECK;

/* Ends all processes (SIGTERM, after 15 s SIGKILL) and removes the directory. show_logs: their ends go to standard error. NULL-safe. */
void local_stop(struct local *local, bool show_logs);

/* Where this lockstepd listens for operators. Borrowed. */
const char *local_address(const struct local *local);

/* Has any of the processes ended, now or before? arg is the struct local. */
bool local_child_ended(void *arg);

#endif
