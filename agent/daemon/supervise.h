/*
 * The runner as a process: starts it with its two descriptors and says when and how it ended. What is said over the socket is
 * runner_link.h's.
 */
#ifndef LS_AGENT_DAEMON_SUPERVISE_H
#define LS_AGENT_DAEMON_SUPERVISE_H

#include <sys/types.h>

#include "common/base/err.h"
#include "common/net/loop.h"

#define RUNNER_LINK_FD 3 /* in the runner: a connected stream socket */
#define RUNNER_MAP_FD  4 /* in the runner: the shared mapping */

struct child;

/* The process is gone and reaped. how: "was killed by signal 9", "exited with status 1"; borrowed for the call. */
typedef void (*child_exit_fn)(const char *how, void *arg);

/*
 * Starts program in a process group of its own, without arguments, with link_fd and map_fd as 3 and 4 and nothing else but
 * 0, 1 and 2. Both stay the caller's. Errors: LS_E_SYS, the sentence names the program.
 */
enum ls_rc child_start(struct loop *loop, const char *program, int link_fd, int map_fd, child_exit_fn on_exit,
    void *arg, struct child **out, struct ls_err *err) LS_MUST_CHECK;

pid_t child_pid(const struct child *child);      /* 0 once it is reaped */
void child_signal(struct child *child, int sig); /* harmless when it is gone */

/* No more calls; a process that still lives is left to itself, and is reaped only when this one ends. NULL-safe. */
void child_free(struct child *child);

#endif
