/*
 * A node's life in a run, as a table. Pure data; run.c owns the state and does the actions.
 *
 * NODE_RUN_STATE(ID, "name"), NODE_RUN_EVENT(ID, "name"), NODE_RUN_ACTION(ID): below.
 */
#ifndef LS_AGENT_DAEMON_RUN_FSM_H
#define LS_AGENT_DAEMON_RUN_FSM_H

#include "common/base/fsm.h"

#define NODE_RUN_STATES(X)                                                                                             \
	X(STARTING, "starting")                                                                                        \
	X(READY, "ready")                                                                                              \
	X(VERIFYING, "verifying")                                                                                      \
	X(ARMING, "arming")                                                                                            \
	X(ARMED, "armed")                                                                                              \
	X(SETTING, "setting")                                                                                          \
	X(SET, "set")                                                                                                  \
	X(COMMITTED, "committed")                                                                                      \
	X(MISSED, "missed")                                                                                            \
	X(VOIDING, "voiding")                                                                                          \
	X(STOPPING, "stopping")                                                                                        \
	X(KILLING, "killing")                                                                                          \
	X(STOPPED, "stopped")                                                                                          \
	X(DEAD, "dead")                                                                                                \
	X(FINISHING, "finishing")                                                                                      \
	X(CLEANING, "cleaning")                                                                                        \
	X(GONE, "gone")

/* The first group comes from the runner or the clock, the second from the coordinator (or in its place: stop, finish). */
#define NODE_RUN_EVENTS(X)                                                                                             \
	X(PREPARED, "prepared")                                                                                        \
	X(REFUSED, "refused")                                                                                          \
	X(VERIFIED, "volume-verified")                                                                                 \
	X(UNCACHE, "uncache")                                                                                          \
	X(ARMED, "armed")                                                                                              \
	X(FAILED, "failed")                                                                                            \
	X(SET, "set")                                                                                                  \
	X(MISSED, "missed")                                                                                            \
	X(VOIDED, "voided")                                                                                            \
	X(DONE, "phase-done")                                                                                          \
	X(ABORTED, "aborted")                                                                                          \
	X(FINISHED, "finished")                                                                                        \
	X(DIED, "runner died")                                                                                         \
	X(DEADLINE, "deadline")                                                                                        \
	X(ASSIGN, "assign again")                                                                                      \
	X(VERIFY, "verify-volume")                                                                                     \
	X(ARM, "arm")                                                                                                  \
	X(ARM_AGAIN, "arm again")                                                                                      \
	X(ARM_ON, "arm after laying out")                                                                              \
	X(ARM_NEXT, "arm of a later attempt")                                                                          \
	X(GO, "go")                                                                                                    \
	X(COMMIT, "commit")                                                                                            \
	X(END_AT, "end-at")                                                                                            \
	X(VOID, "void")                                                                                                \
	X(STOP, "stop")                                                                                                \
	X(FINISH, "finish")

#define NODE_RUN_ACTIONS(X)                                                                                            \
	X(NONE)                                                                                                        \
	X(REPEAT) /* send the last state message again */                                                              \
	X(TELL_PREPARED)                                                                                               \
	X(TELL_REFUSED)                                                                                                \
	X(REFUSE_DIED) /* the runner died before it had looked at the volume */                                        \
	X(REFUSE_LATE) /* it did not answer in time */                                                                 \
	X(VERIFY)      /* hand on */                                                                                   \
	X(VERIFY_DEAD) /* the answer when there is no runner */                                                        \
	X(TELL_VERIFIED)                                                                                               \
	X(ARM)            /* hand on */                                                                                \
	X(ARM_LATER)      /* void first, arm when that is done */                                                      \
	X(ARM_IMPOSSIBLE) /* no runner, or stopped for good */                                                         \
	X(UNCACHE)        /* ask the root helper */                                                                    \
	X(UNCACHE_NOT)    /* answer that it is not wanted any more */                                                  \
	X(TELL_ARMED)                                                                                                  \
	X(TELL_FAILED)                                                                                                 \
	X(DIED)        /* the node cannot start the phase */                                                           \
	X(RESULT_DIED) /* what was done until then is the result */                                                    \
	X(GO)          /* hand on */                                                                                   \
	X(TELL_SET)                                                                                                    \
	X(COMMIT) /* into the mapping */                                                                               \
	X(END_AT) /* likewise */                                                                                       \
	X(TELL_MISSED)                                                                                                 \
	X(VOID) /* hand on, forget a result */                                                                         \
	X(TELL_VOIDED)                                                                                                 \
	X(RESULT)       /* make it from the mapping */                                                                 \
	X(STOP)         /* stop word, tell the runner */                                                               \
	X(STOPPED)      /* it stands still: result if a phase was on; aborted */                                       \
	X(STOPPED_DEAD) /* the same by its death */                                                                    \
	X(KILL)         /* it did not stop in time */                                                                  \
	X(GIVE_UP)      /* it hangs in the kernel */                                                                   \
	X(FINISH)       /* stop word, hand on */                                                                       \
	X(CLEAN)        /* start another runner for it */                                                              \
	X(TELL_FINISHED)                                                                                               \
	X(FINISH_LATE) /* kill it, tell what is left */                                                                \
	X(CLEAN_FAILED)

enum node_run_state {
#define X(ID, name) NR_##ID,
	NODE_RUN_STATES(X)
#undef X
	    NR_STATE_COUNT
};

enum node_run_event {
#define X(ID, name) NE_##ID,
	NODE_RUN_EVENTS(X)
#undef X
	    NE_EVENT_COUNT
};

enum node_run_action {
#define X(ID) NA_##ID,
	NODE_RUN_ACTIONS(X)
#undef X
	    NA_ACTION_COUNT
};

extern const struct fsm_def node_run_fsm;

#endif
