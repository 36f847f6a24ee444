/*
 * Removes what a dead runner left on the volume, with another runner (assign.clean_only) that has a deadline like the first.
 */
#ifndef LS_AGENT_DAEMON_CLEANER_H
#define LS_AGENT_DAEMON_CLEANER_H

#include "agent/daemon/config.h"
#include "agent/daemon/runner_link.h"
#include "common/base/err.h"
#include "common/net/loop.h"
#include "proto/codec/msg.h"

struct cleaner;

/*
 * It is over. left: what is still there, borrowed for the call; failure: why the cleaner did not come to its end, or NULL.
 * Called once, not before cleaner_start has returned. The owner ends the cleaner with cleaner_free (also from here).
 */
typedef void (*cleaner_done_fn)(char *const *left, size_t left_count, const char *failure, void *arg);

/* assign: of the run; borrowed for the call. config: borrowed. Errors: LS_E_SYS, LS_E_NOMEM. */
enum ls_rc cleaner_start(struct loop *loop, const struct agent_config *config, const struct msg_assign *assign,
    cleaner_done_fn done, void *arg, struct cleaner **out, struct ls_err *err) LS_MUST_CHECK;

/* After a failure: the runner if it is still there (it may hang in the kernel), which is the caller's then; else NULL. */
struct runner *cleaner_take_runner(struct cleaner *c);

/* Kills a cleaner that is still at work. NULL-safe. */
void cleaner_free(struct cleaner *c);

#endif
