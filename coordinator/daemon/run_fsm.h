/*
 * The lifecycle of a run as a table. The table is data; run.c counts, raises events and acts. Pure.
 */
#ifndef LS_COORDINATOR_DAEMON_RUN_FSM_H
#define LS_COORDINATOR_DAEMON_RUN_FSM_H

#include <stdbool.h>

#include "common/base/fsm.h"
#include "proto/model/results.h"

/* Finer than enum run_state, which operators see. RUN_STAGE(ID, "name", run_state) */
#define RUN_STAGES(X)                                                                                                  \
	X(QUEUED, "queued", RUN_QUEUED)   /* its turn has not come */                                                  \
	X(WAITING, "waiting", RUN_QUEUED) /* for nodes to connect */                                                   \
	X(ASSIGNING, "assigning", RUN_PREPARING)                                                                       \
	X(VERIFYING, "verifying", RUN_PREPARING) /* is it one volume? */                                               \
	X(LAYING, "laying out", RUN_ARMING)      /* files that another node will use, each by its owner */             \
	X(ARMING, "arming", RUN_ARMING)                                                                                \
	X(SETTING, "setting", RUN_SETTING)                                                                             \
	X(RUNNING, "running", RUN_RUNNING)                                                                             \
	X(COLLECTING, "collecting", RUN_COLLECTING) /* all results came, not all stored */                             \
	X(VOIDING, "voiding", RUN_ARMING)           /* an attempt is taken back */                                     \
	X(STOPPING, "stopping", RUN_FINISHING)      /* abort sent, results still come */                               \
	X(CLEANING, "cleaning", RUN_FINISHING)      /* finish sent */                                                  \
	X(RESUMING, "resuming", RUN_PREPARING)      /* after a restart: nodes come back */                             \
	X(ENDED, "ended", RUN_FINISHED)

enum run_stage {
#define X(ID, name, state) STAGE_##ID,
	RUN_STAGES(X)
#undef X
	    STAGE_COUNT
};

#define RUN_EVENTS(X)                                                                                                  \
	X(TURN, "its turn")                                                                                            \
	X(NODES_READY, "nodes ready")                                                                                  \
	X(REFUSED, "refused")                                                                                          \
	X(ALL_PREPARED, "all prepared")                                                                                \
	X(ALL_VERIFIED, "all verified")                                                                                \
	X(ALL_LAID, "all laid out") /* or nothing to be */                                                             \
	X(CHECKED, "checked")       /* preflight only: that was all */                                                 \
	X(ALL_ARMED, "all armed")   /* and their clocks measured */                                                    \
	X(ALL_SET, "all set")       /* in time */                                                                      \
	X(SET_LATE, "set late")     /* all set, but the instant is too near */                                         \
	X(MISSED, "missed")         /* a node did not start */                                                         \
	X(ALL_VOIDED, "all voided")                                                                                    \
	X(ATTEMPTS_OUT, "attempts used up")                                                                            \
	X(ALL_RECEIVED, "all received")                                                                                \
	X(STORED_MORE, "stored, phases left")                                                                          \
	X(STORED_LAST, "stored, last phase")                                                                           \
	X(STORED_FAILED, "stored, a node failed")                                                                      \
	X(NODE_FAILED, "node failed")                                                                                  \
	X(LOST_STOP, "node lost")            /* policy abort */                                                        \
	X(LOST_GO_ON, "node lost, going on") /* policy continue */                                                     \
	X(CANCEL, "cancelled")                                                                                         \
	X(DEADLINE, "deadline")                                                                                        \
	X(STORE_FAILED, "store failed")                                                                                \
	X(ALL_STOPPED, "all stopped")                                                                                  \
	X(ALL_CLEAN, "all clean")                                                                                      \
	X(BACK_PREPARE, "nodes back before a phase")                                                                   \
	X(BACK_ARM, "nodes back before a start")                                                                       \
	X(BACK_RUN, "nodes back in a phase")                                                                           \
	X(BACK_CLEAN, "nodes back at the end")

enum run_event {
#define X(ID, name) EV_##ID,
	RUN_EVENTS(X)
#undef X
	    EV_COUNT
};

enum run_action {
	ACT_NONE = 0,
	ACT_WAIT, /* are the nodes there? */
	ACT_ASSIGN,
	ACT_VERIFY,
	ACT_LAY, /* the present phase and attempt */
	ACT_ARM,
	ACT_GO,
	ACT_COMMIT,
	ACT_AWAIT, /* after a restart: results of a phase that was committed */
	ACT_VOID,
	ACT_RETRY, /* the next attempt */
	ACT_COLLECT,
	ACT_NEXT, /* the next phase */
	ACT_STOP,
	ACT_CLEAN,
	ACT_RECOUNT, /* somebody is not waited for any more: is it complete now? */
	ACT_END,
	ACT_COUNT
};

extern const struct fsm_def run_fsm;

/* What operators see of a stage; STAGE_ENDED has no state of its own (the verdict counts). */
enum run_state run_stage_state(enum run_stage stage);

#endif
