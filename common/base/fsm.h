/*
 * Lifecycles as plain tables: state, event, next state, action. The table is data; the owner counts, raises events and
 * acts. No guards: what decides between two edges is two events.
 */
#ifndef LS_COMMON_BASE_FSM_H
#define LS_COMMON_BASE_FSM_H

#include <stddef.h>

#include "common/base/defs.h"

struct fsm_edge {
	int from;
	int event;
	int to;
	int action;
};

struct fsm_def {
	const char *name;
	const struct fsm_edge *edges;
	size_t edge_count;
	const char *const *state_names; /* indexed by state */
	size_t state_count;
	const char *const *event_names; /* indexed by event */
	size_t event_count;
};

/* The edge for state and event, borrowed from the table, or NULL when there is none. Pure, any thread. */
const struct fsm_edge *fsm_find(const struct fsm_def *def, int state, int event);

#endif
