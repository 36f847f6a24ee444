#include "coordinator/daemon/agent.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "coordinator/daemon/collect.h"
#include "coordinator/daemon/run.h"
#include "proto/codec/msg.h"

/* The run that a message is about, if the node is in it; else the message is stale. */
static struct run *
run_named(const struct session *s, const char *id)
{
	struct run *run = s->node->run;

	if (run != NULL && id != NULL && strcmp(id, run_id(run)) == 0)
		return run;
	ls_log(LS_LOG_DEBUG, "stale message dropped", "node=%s", s->node->name);
	return NULL;
}

enum ls_rc
agent_on_facts(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_facts *m = body;
	struct node *n = s->node;

	(void)received;
	(void)err;
	field_struct_fini(&node_facts_desc, &n->facts);
	n->facts = m->facts;
	field_struct_init(&node_facts_desc, &m->facts);

	/* A volume belongs to a run's path: it comes with prepared. */
	field_struct_fini(&volume_facts_desc, n->facts.volume);
	free(n->facts.volume);
	n->facts.volume = NULL;
	n->facts_known = true;
	run_nodes_changed(s->daemon);
	return LS_OK;
}

enum ls_rc
agent_on_hung(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	(void)err;
	node_set_hung(s->node, body, received);
	return LS_OK;
}

enum ls_rc
agent_on_pong(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	enum clock_sync_next next = CLOCK_SYNC_IDLE;
	struct node *n = s->node;
	int64_t age_ns = ((const struct msg_pong *)body)->heartbeat_age_ns;
	enum ls_rc rc = clock_sync_pong(&n->clock, body, received, &next, err);

	if (rc != LS_OK)
		return rc;
	if (next == CLOCK_SYNC_PING)
		session_ping(s);
	if (n->run == NULL)
		return LS_OK;
	run_on_clock(n->run, n->member);
	if (next == CLOCK_SYNC_BURST_DONE)
		run_on_measured(n->run, n->member);
	if (age_ns != LS_UNKNOWN_I64 && n->run != NULL)
		run_on_beat(n->run, n->member, age_ns);
	return LS_OK;
}

enum ls_rc
agent_on_result_part(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_result_part *m = body;
	bool last = m->part + 1 == m->parts;
	enum ls_rc rc = collect_part(s->daemon->collector, s->node, m, err);

	(void)received;
	if (rc != LS_OK || !last || s->node->run == NULL || strcmp(m->epoch.run, run_id(s->node->run)) != 0)
		return rc;
	run_on_received(s->node->run, s->node->member, &m->epoch);
	return LS_OK;
}

enum ls_rc
agent_on_prepared(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_prepared *m = body;
	struct run *run = run_named(s, m->run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_prepared(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_refused(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_refused *m = body;
	struct run *run = run_named(s, m->run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_refused(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_volume_verified(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_volume_verified *m = body;
	struct run *run = run_named(s, m->run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_verified(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_armed(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_armed *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_armed(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_failed(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_failed *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_failed(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_set(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_set *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_set(run, s->node->member, &m->epoch);
	return LS_OK;
}

enum ls_rc
agent_on_missed(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_missed *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_missed(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_voided(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_voided *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_voided(run, s->node->member, &m->epoch);
	return LS_OK;
}

enum ls_rc
agent_on_sample(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_sample *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_sample(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_fsynced(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_fsynced *m = body;
	struct run *run = run_named(s, m->epoch.run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_fsynced(run, s->node->member, m);
	return LS_OK;
}

enum ls_rc
agent_on_aborted(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_aborted *m = body;
	struct run *run = run_named(s, m->run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_aborted(run, s->node->member);
	return LS_OK;
}

enum ls_rc
agent_on_finished(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_finished *m = body;
	struct run *run = run_named(s, m->run);

	(void)received;
	(void)err;
	if (run != NULL)
		run_on_finished(run, s->node->member, m);
	return LS_OK;
}
