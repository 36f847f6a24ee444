/*
 * This node's part in one run: the runner, the shared mapping, the barrier's messages, the results. A state machine
 * (run_fsm.h); knows the coordinator only through its ports.
 */
#ifndef LS_AGENT_DAEMON_RUN_H
#define LS_AGENT_DAEMON_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/daemon/assignments.h"
#include "agent/daemon/config.h"
#include "common/base/err.h"
#include "common/net/loop.h"
#include "proto/codec/msg.h"

struct run;
struct runner;

struct run_ports {
	bool (*send)(const char *text, size_t len, void *arg); /* to the coordinator; false: not connected */
	size_t (*unsent)(void *arg);                           /* bytes that wait to be sent to it */
	uint64_t (*net_bytes)(void *arg);                      /* sent and received since the agent's start */
	void (*result)(const struct epoch *epoch, char *document, size_t len, void *arg); /* takes document over */
	void (*discard)(const struct epoch *epoch, void *arg); /* the attempt's result does not count */

	/* Files of that run are left: clean up. */
	void (*sweep)(const char *run, void *arg);

	/*
	 * The same once that runner, which is taken over and killed, is gone: it may hang in the kernel. stall: where a worker of
	 * it stood still, or NULL; borrowed.
	 */
	void (*abandon)(struct runner *runner, const char *run, const struct stall *stall, void *arg);

	void (*gone)(struct run *run, void *arg); /* the node is done with the run: free it, but not from here */
};

struct run_env {
	struct loop *loop;
	const struct agent_config *config;
	struct assignments *assignments;
	int64_t spin_ns;
	const struct node_facts *facts; /* of this node: which external programs there are */
	const struct run_ports *ports;
	void *arg; /* of the ports */
};

/*
 * Begins with an assign message, whose body is taken over on success (assign->body becomes NULL). What env refers to must
 * outlive the run. Errors: LS_E_REFUSED, LS_E_NOMEM, LS_E_SYS: nothing was begun.
 */
enum ls_rc run_new(const struct run_env *env, struct msg *assign, struct run **out, struct ls_err *err) LS_MUST_CHECK;

/* Kills a runner that still lives. NULL-safe. */
void run_free(struct run *run);

/* Borrowed as long as the run lives. */
const char *run_id(const struct run *run);

/*
 * A message of the coordinator about this run; borrowed. Stale epochs are counted and dropped. Errors: LS_E_PROTO when it has
 * no place in the present state.
 */
enum ls_rc run_message(struct run *run, const struct msg *msg, struct ls_err *err) LS_MUST_CHECK;

/* The connection to the coordinator is there (the last state message is sent again) or gone (orphan_time begins). */
void run_connected(struct run *run);
void run_disconnected(struct run *run);

/* Ends the load now, without being asked by the coordinator. Within 5 s the runner has stopped or is killed. */
void run_stop(struct run *run, const char *reason);

/* The agent ends: the same, and then the files are removed; gone is called. */
void run_quit(struct run *run);

/* Messages that were dropped because their epoch was not the present one. */
uint64_t run_stale(const struct run *run);

#endif
