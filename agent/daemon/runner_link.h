/*
 * The runner as the agent sees it: a process, and the frames to and from it over a socketpair.
 */
#ifndef LS_AGENT_DAEMON_RUNNER_LINK_H
#define LS_AGENT_DAEMON_RUNNER_LINK_H

#include <sys/types.h>

#include "agent/shm/counters.h"
#include "common/base/err.h"
#include "common/net/loop.h"
#include "proto/codec/msg.h"

struct runner;

struct runner_events {
	/* One message; borrowed for the call. */
	void (*on_message)(const struct msg *msg, void *arg);

	/*
	 * The process is gone and all it had said has been delivered. how: "was killed by signal 9" and the like. Called once;
	 * not after runner_free.
	 */
	void (*on_exit)(const char *how, void *arg);
};

/* Starts the program. map is borrowed for the call. Errors: LS_E_SYS. */
enum ls_rc runner_start(struct loop *loop, const char *program, struct shm_map *map, const struct runner_events *events,
    void *arg, struct runner **out, struct ls_err *err) LS_MUST_CHECK;

/* body: struct msg_<id>. Harmless when the runner is gone. */
void runner_send(struct runner *r, enum msg_type type, const void *body);

pid_t runner_pid(const struct runner *r); /* 0: gone */
void runner_kill(struct runner *r);       /* SIGKILL; on_exit follows unless it hangs in the kernel */

/*
 * The owner gives it up: SIGKILL, no more events. When the process is gone at last, on_gone(arg) is called (may be NULL) and
 * the runner frees itself.
 */
void runner_abandon(struct runner *r, loop_fn on_gone, void *arg);

/* Closes its socket, on which it cleans up and ends by itself, and forgets it. NULL-safe, also from its own events. */
void runner_free(struct runner *r);

#endif
