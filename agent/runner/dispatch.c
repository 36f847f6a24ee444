/* Messages from the agent: each is checked, kept where it is needed, and becomes an event. */
#include <stdlib.h>
#include <string.h>

#include "agent/runner/runner_int.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

static void
unexpected(struct runner *r, const char *name)
{
	char *text =
	    ls_asprintf("%s is not expected while the runner is %s", name, runner_lifecycle.state_names[r->state]);

	runner_protocol_error(r, text);
	free(text);
}

/* A message about another attempt or another run than the present one. */
static void
stale(const struct runner *r, const char *name)
{
	ls_log(LS_LOG_DEBUG, "stale message dropped", "run=%s message=%s", runner_run_id(r), name);
}

static bool
is_present_run(const struct runner *r, const char *run)
{
	return strcmp(run, runner_run_id(r)) == 0;
}

static bool
is_present_epoch(const struct runner *r, const struct epoch *epoch)
{
	const struct msg_arm *arm = r->arm.body;

	return arm != NULL && epoch_equal(&arm->epoch, epoch);
}

static void
fill_refusal(struct runner *r, const struct ls_err *err)
{
	const struct msg_assign *assign = r->assign.body;
	const char *name = err->sys != 0 ? strerrorname_np(err->sys) : NULL;

	r->refusal.path = ls_strdup(assign->job.path);
	r->refusal.errno_name = ls_strdup(name);
	free(r->refusal.text);
	r->refusal.text = ls_strdup(err->text);
}

static void
on_assign(struct runner *r, struct msg *msg)
{
	struct ls_err err = { 0 };

	if (r->assign.body != NULL) {
		unexpected(r, "a second assign");
		return;
	}
	r->assign = *msg;
	*msg = (struct msg){ 0 };

	const struct msg_assign *assign = r->assign.body;

	if (assign->clean_only) {
		runner_find_old(r);
		runner_stop(r, PENDING_FINISH);
	} else if (runner_prepare(r, &err) == LS_OK) {
		(void)runner_event(r, RUNNER_EV_ASSIGNED);
	} else {
		fill_refusal(r, &err);
		(void)runner_event(r, RUNNER_EV_REFUSED);
	}
}

static void
on_verify(struct runner *r, struct msg *msg)
{
	const struct msg_verify_volume *body = msg->body;

	if (!is_present_run(r, body->run)) {
		stale(r, "verify-volume");
		return;
	}
	if (!runner_event(r, RUNNER_EV_VERIFY)) {
		unexpected(r, "verify-volume");
		return;
	}
	verify_free(r->verify);
	r->verify = verify_new(msg, ls_mono_now().ns);
}

/* Workers on each node as the engine takes them; false when the list does not fit the run. */
static bool
take_node_workers(struct runner *r, const struct msg_arm *arm)
{
	const struct msg_assign *assign = r->assign.body;

	if (arm->node_workers_count != assign->node_count)
		return false;
	free(r->node_workers);
	r->node_workers = ls_calloc(assign->node_count, sizeof(*r->node_workers));
	for (size_t i = 0; i < arm->node_workers_count; i++) {
		if (arm->node_workers[i] < 0 || arm->node_workers[i] > 1000000)
			return false;
		r->node_workers[i] = (uint64_t)arm->node_workers[i];
		if (r->node_workers[i] > shm_map_workers(r->map))
			return false;
	}
	r->idle = r->node_workers[assign->node_index] == 0;
	return true;
}

/* Records that a recovery phase looks for; false when the list does not fit the run. */
static bool
take_fsynced(struct runner *r, const struct msg_arm *arm)
{
	const struct msg_assign *assign = r->assign.body;

	free(r->fsynced);
	r->fsynced = NULL;
	if (arm->fsynced_count == 0)
		return true;
	if (arm->fsynced_count != assign->node_count)
		return false;
	r->fsynced = ls_calloc(assign->node_count, sizeof(*r->fsynced));
	for (size_t i = 0; i < arm->fsynced_count; i++) {
		if (arm->fsynced[i] < 0)
			return false;
		r->fsynced[i] = (uint64_t)arm->fsynced[i];
	}
	return true;
}

/* The agent repeats arm after it lost the coordinator: answered again, not done again. */
static void
repeat_armed(struct runner *r, const struct msg_arm *arm)
{
	struct msg_armed body = { .epoch = arm->epoch, .lay_out = arm->lay_out };

	if (r->state == RUNNER_PARKED || r->state == RUNNER_SET)
		runner_send(r, MSG_ARMED, &body);
}

/* The files of the same epoch are made: now the arm itself? */
static bool
follows_laying_out(const struct runner *r, const struct msg_arm *arm)
{
	const struct msg_arm *before = r->arm.body;

	return r->state == RUNNER_PARKED && before->lay_out && !arm->lay_out && is_present_epoch(r, &arm->epoch);
}

static void
on_arm(struct runner *r, struct msg *msg)
{
	const struct msg_arm *body = msg->body;

	if (!is_present_run(r, body->epoch.run)) {
		stale(r, "arm");
		return;
	}
	bool wanted = r->state == RUNNER_READY || follows_laying_out(r, body);

	if (!wanted && is_present_epoch(r, &body->epoch)) {
		repeat_armed(r, body);
		return;
	}
	if (!wanted) {
		unexpected(r, "arm");
		return;
	}
	if (!take_node_workers(r, body)) {
		runner_protocol_error(r, "arm: node_workers does not fit the assignment");
		return;
	}
	if (!take_fsynced(r, body)) {
		runner_protocol_error(r, "arm: fsynced does not fit the assignment");
		return;
	}
	msg_fini(&r->arm);
	r->arm = *msg;
	*msg = (struct msg){ 0 };
	r->remounted = false;
	(void)runner_event(r, RUNNER_EV_ARM);
}

static void
on_uncached(struct runner *r, struct msg *msg)
{
	const struct msg_uncached *body = msg->body;

	if (is_present_epoch(r, &body->epoch))
		runner_uncached(r, body->error);
	else
		stale(r, "uncached");
}

static void
on_go(struct runner *r, struct msg *msg)
{
	const struct msg_go *body = msg->body;

	const struct msg_arm *arm = r->arm.body;

	if (!is_present_epoch(r, &body->epoch) || r->state != RUNNER_PARKED || arm->lay_out) {
		stale(r, "go");
		return;
	}
	r->start_ns = body->start_ns;
	r->late_limit_ns = body->late_limit_ns;
	(void)runner_event(r, body->start_ns > ls_mono_now().ns ? RUNNER_EV_GO : RUNNER_EV_GO_PAST);
}

static void
on_void(struct runner *r, struct msg *msg)
{
	const struct msg_void *body = msg->body;

	if (!is_present_run(r, body->epoch.run) || (r->state != RUNNER_READY && !is_present_epoch(r, &body->epoch))) {
		stale(r, "void");
		return;
	}
	epoch_copy(&r->void_epoch, &body->epoch);
	runner_stop(r, PENDING_VOID);
}

static void
on_abort(struct runner *r, struct msg *msg)
{
	const struct msg_abort *body = msg->body;

	if (is_present_run(r, body->run) || r->assign.body == NULL)
		runner_stop(r, PENDING_ABORT);
	else
		stale(r, "abort");
}

static void
on_finish(struct runner *r, struct msg *msg)
{
	const struct msg_finish *body = msg->body;

	/* Before the assignment: the agent was told so while it still asked whether the run may begin here. */
	if (!is_present_run(r, body->run) && r->assign.body != NULL) {
		stale(r, "finish");
		return;
	}
	r->keep_files = body->keep_files;
	runner_stop(r, PENDING_FINISH);
}

static void
on_error(struct runner *r, struct msg *msg)
{
	const struct msg_error *body = msg->body;
	char text[256];

	ls_log(LS_LOG_ERROR, "the agent says that we broke the protocol", "error=\"%s\"",
	    ls_log_escape(body->text, text, sizeof(text)));
	r->status = 1;
	runner_stop(r, PENDING_QUIT);
}

static const struct {
	enum msg_type type;
	bool needs_assignment;
	void (*handle)(struct runner *r, struct msg *msg); /* may take the message over by zeroing it */
} handlers[] = {
	{ MSG_ASSIGN, false, on_assign },
	{ MSG_VERIFY_VOLUME, true, on_verify },
	{ MSG_ARM, true, on_arm },
	{ MSG_UNCACHED, true, on_uncached },
	{ MSG_GO, true, on_go },
	{ MSG_VOID, true, on_void },
	{ MSG_ABORT, false, on_abort },
	{ MSG_FINISH, false, on_finish },
	{ MSG_ERROR, false, on_error },
};

void
runner_dispatch(struct runner *r, struct msg *msg)
{
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
		if (handlers[i].type != msg->type)
			continue;
		if (handlers[i].needs_assignment && r->assign.body == NULL)
			unexpected(r, msg_info(msg->type)->name);
		else
			handlers[i].handle(r, msg);
		return;
	}
	unexpected(r, msg_info(msg->type)->name);
}
