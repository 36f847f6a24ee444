/*
 * The nodes that the coordinator has seen: connection, facts, clock. A node stays known when its connection goes.
 */
#ifndef LS_COORDINATOR_DAEMON_NODE_H
#define LS_COORDINATOR_DAEMON_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/clock.h"
#include "coordinator/daemon/clock_sync.h"
#include "proto/codec/msg.h"

struct session;
struct run;

struct node {
	char name[64];
	char address[128]; /* of the last connection */
	char instance[64]; /* of the agent's last start */
	char version[64], build[64];
	struct session *session; /* NULL: away */
	struct node_facts facts; /* without the volume, which belongs to a run */
	bool facts_known;
	struct clock_sync clock;
	struct msg_hung hung;   /* runners that hang there, as told by the present connection */
	struct ls_mono hung_at; /* since_ns of these is as of then */
	struct ls_mono heard;
	struct run *run; /* the active run that it takes part in, and its number there */
	size_t member;
};

struct registry {
	struct node **nodes; /* by name */
	size_t count;
	size_t max;
};

/* Empty, for at most so many names; registry_fini frees all records. */
void registry_init(struct registry *r, size_t max);
void registry_fini(struct registry *r);

/* The node of that name, or NULL. Lives as long as the registry. */
struct node *registry_find(const struct registry *r, const char *name);

/* The same, made if need be. Errors: LS_E_LIMIT when there are too many. */
enum ls_rc registry_get(struct registry *r, const char *name, struct node **out, struct ls_err *err) LS_MUST_CHECK;

/* Connected, and its facts are here. */
bool node_ready(const struct node *n);

/* What the agent says of runners that hang takes the place of what it said before; m's list is taken over. NULL: nothing is known. */
void node_set_hung(struct node *n, struct msg_hung *m, struct ls_mono now);

/* A row for operators; shares strings with n, so it is used at once and never ended. */
struct node_row node_to_row(struct node *n, struct ls_mono now);

#endif
