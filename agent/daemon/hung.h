/*
 * Runners that were killed and are still there: they hang in a call of the kernel, on a volume that gives no answer. They are
 * watched until they are gone, and told to the coordinator (message "hung") until then, so that nobody has to wonder what holds
 * a volume or a machine.
 */
#ifndef LS_AGENT_DAEMON_HUNG_H
#define LS_AGENT_DAEMON_HUNG_H

#include "agent/daemon/runner_link.h"

#define HUNG_AFTER_NS NS_PER_S /* from SIGKILL to being told */

struct hung;

/* The list of those that are told has changed. */
typedef void (*hung_changed_fn)(void *arg);

/* The runner is gone at last; run is borrowed for the call. */
typedef void (*hung_gone_fn)(const char *run, void *arg);

/* hung_free forgets those that still hang: they are left to themselves. NULL-safe. */
struct hung *hung_new(struct loop *loop, hung_changed_fn changed, void *arg);
void hung_free(struct hung *hung);

/*
 * Takes the runner over and kills it; gone (may be NULL) is called when it is no more, perhaps at once. stall: where a worker of it
 * was seen to stand still, or NULL; borrowed.
 */
void hung_take(
    struct hung *hung, struct runner *runner, const char *run, const struct stall *stall, hung_gone_fn gone, void *arg);

/* The message about those that hang now; its strings are borrowed until the next call of this module, its list is freed by the caller. */
struct msg_hung hung_message(const struct hung *hung);

#endif
