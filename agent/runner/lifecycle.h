/*
 * The life of a runner as a table: what it is doing, what may happen to it then. Data only; runner.c raises the events and acts.
 */
#ifndef LS_AGENT_RUNNER_LIFECYCLE_H
#define LS_AGENT_RUNNER_LIFECYCLE_H

#include "common/base/fsm.h"

enum runner_state {
	RUNNER_NEW = 0,    /* no assignment yet */
	RUNNER_REFUSED,    /* refused it; nothing of it is on the volume */
	RUNNER_READY,      /* has its directory; no workers */
	RUNNER_VERIFYING,  /* looks for the other nodes' tokens */
	RUNNER_ARMING,     /* the engine gets ready, on the task's thread */
	RUNNER_UNARMING,   /* the same, but nobody wants it any more */
	RUNNER_EMPTYING,   /* armed; caches are emptied: the task's thread flushes, the root helper works */
	RUNNER_UNEMPTYING, /* the same, but nobody wants it any more */
	RUNNER_PARKED,     /* workers wait to be told the instant */
	RUNNER_SET,        /* workers were told: they wait for it or are at work */
	RUNNER_STOPPING,   /* workers were asked to leave */
	RUNNER_FLUSHING,   /* workers have left; the untimed flush, on the task's thread */
	RUNNER_STATE_COUNT
};

enum runner_event {
	RUNNER_EV_ASSIGNED = 0,
	RUNNER_EV_REFUSED,
	RUNNER_EV_VERIFY,
	RUNNER_EV_VERIFIED,
	RUNNER_EV_ARM,
	RUNNER_EV_ARMED,
	RUNNER_EV_FULL, /* armed, and caches are to be emptied now */
	RUNNER_EV_EMPTIED,
	RUNNER_EV_REMOUNTED, /* emptied; the files have to be opened again */
	RUNNER_EV_ARM_FAILED,
	RUNNER_EV_GO,
	RUNNER_EV_GO_PAST,   /* told an instant that has passed */
	RUNNER_EV_STARTED,   /* all left; they had started and came to their end */
	RUNNER_EV_CUT,       /* all left; they had started and were stopped */
	RUNNER_EV_MISSED,    /* all left; none had started, for want of a commit or of time */
	RUNNER_EV_UNSTARTED, /* all left before the instant, stopped */
	RUNNER_EV_FLUSHED,
	RUNNER_EV_STOP, /* void, abort, finish, the agent's end, SIGTERM */
	RUNNER_EVENT_COUNT
};

enum runner_action {
	RUNNER_ACT_NONE = 0,
	RUNNER_ACT_PREPARED,
	RUNNER_ACT_REFUSED,
	RUNNER_ACT_VERIFIED,
	RUNNER_ACT_ARM,
	RUNNER_ACT_EMPTY,
	RUNNER_ACT_UNEMPTY,
	RUNNER_ACT_ARMED,
	RUNNER_ACT_FAILED,
	RUNNER_ACT_GO,
	RUNNER_ACT_STOP,
	RUNNER_ACT_FLUSH,
	RUNNER_ACT_MISSED,
	RUNNER_ACT_DONE,   /* phase-done, then what was put off */
	RUNNER_ACT_SETTLE, /* what was put off until the workers stand still */
	RUNNER_ACTION_COUNT
};

extern const struct fsm_def runner_lifecycle;

#endif
