/*
 * Caches before a phase: when all files are made and open, the volume is flushed and the caches are emptied; then the node is armed. What needs
 * root is asked of the agent, which asks the root helper. For a remount nothing of ours may be open on the volume: the engine closes the
 * phase's files, the run's directory is let go, and afterwards the phase is armed a second time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/runner/forget.h"
#include "agent/runner/runner_int.h"
#include "common/base/mem.h"

static const struct msg_arm *
present_arm(const struct runner *r)
{
	return r->arm.body;
}

bool
runner_wants_empty(const struct runner *r)
{
	const struct msg_arm *arm = present_arm(r);

	return r->state == RUNNER_ARMING && !r->idle && !arm->lay_out && !r->remounted &&
	    arm->spec.caches != CACHES_NONE && arm->spec.caches != CACHES_AS_JOB;
}

/* --- on the task's thread -------------------------------------------------------------------------------------------- */

static bool
was_stopped(void *arg)
{
	const struct runner_call *call = arg;

	return engine_stopped(call->engine, call->engine_epoch);
}

/* Whose files the phase may read: this node's or those of another, and what all share. */
static enum ls_rc
forget_all(struct runner_call *call)
{
	char own[32];
	int fd = rundir_fd(call->rundir);

	(void)snprintf(own, sizeof(own), "n%llu", (unsigned long long)call->owner);

	enum ls_rc rc = forget_files(fd, own, was_stopped, call, &call->err);

	return rc != LS_OK ? rc : forget_files(fd, "shared", was_stopped, call, &call->err);
}

static void
call_flush(void *arg)
{
	struct runner_call *call = arg;

	call->rc = LS_OK;
	if (syncfs(rundir_fd(call->rundir)) != 0)
		call->rc = ls_err_sys(&call->err, errno, "%s: syncfs", rundir_path(call->rundir));
	if (call->rc == LS_OK && call->caches == CACHES_FADVISE)
		call->rc = forget_all(call);
	if (call->rc != LS_OK || call->caches != CACHES_REMOUNT)
		return;
	engine_disarm(call->engine);
	if (call->space != NULL)
		spacewatch_stop(call->space);
	call->rc = rundir_release(call->rundir, &call->err);
}

static void
call_reopen(void *arg)
{
	struct runner_call *call = arg;
	struct ls_err err;
	enum ls_rc rc = rundir_reopen(call->rundir, &err);

	if (rc == LS_OK && call->space != NULL)
		spacewatch_start(call->space);
	/* What the helper said says more than that the directory is not there. */
	if (rc != LS_OK && call->rc == LS_OK) {
		call->rc = rc;
		call->err = err;
	}
}

/* --- in the loop ------------------------------------------------------------------------------------------------------ */

static void
fail(struct runner *r)
{
	char *text = ls_asprintf("caches: %s: %s", phase_caches_names[r->call.caches], r->call.err.text);

	free(r->call.error.text);
	r->call.error.text = text;
	(void)runner_event(r, RUNNER_EV_ARM_FAILED);
}

static void
begin_task(struct runner *r, enum runner_emptying step, void (*fn)(void *arg))
{
	struct ls_err err = { 0 };

	r->emptying = step;
	/* Once started, the call is the other thread's. */
	if (task_start(r->task, fn, &r->call, &err) == LS_OK)
		return;
	r->call.rc = err.rc;
	r->call.err = err;
	fail(r);
}

void
runner_empty(struct runner *r)
{
	const struct msg_arm *arm = present_arm(r);
	const struct msg_assign *assign = r->assign.body;

	r->call.rundir = r->rundir;
	r->call.space = r->space;
	r->call.caches = (enum phase_caches)arm->spec.caches;
	r->call.owner = phase_owner(&arm->spec, assign->node_index, assign->node_count);
	begin_task(r, EMPTYING_FLUSH, call_flush);
}

void
runner_unempty(struct runner *r)
{
	/* The helper may be at it or not: the volume stays where it is, nobody has to wait. */
	if (r->emptying == EMPTYING_ASKED && r->call.caches == CACHES_DROP)
		(void)runner_event(r, RUNNER_EV_EMPTIED);
}

static void
ask_agent(struct runner *r)
{
	struct msg_uncache body = { .epoch = present_arm(r)->epoch, .how = (int)r->call.caches };

	r->emptying = EMPTYING_ASKED;
	runner_send(r, MSG_UNCACHE, &body);
}

void
runner_emptying_returned(struct runner *r)
{
	bool let_go = r->call.caches == CACHES_REMOUNT && r->emptying == EMPTYING_FLUSH;

	if (r->call.rc != LS_OK)
		fail(r);
	else if (r->emptying == EMPTYING_REOPEN) {
		r->remounted = true;
		(void)runner_event(r, RUNNER_EV_REMOUNTED);
	} else if (r->state == RUNNER_UNEMPTYING && let_go)
		begin_task(r, EMPTYING_REOPEN, call_reopen);
	else if (r->state == RUNNER_UNEMPTYING || r->call.caches == CACHES_FADVISE)
		(void)runner_event(r, RUNNER_EV_EMPTIED);
	else
		ask_agent(r);
}

void
runner_uncached(struct runner *r, const char *error)
{
	if ((r->state != RUNNER_EMPTYING && r->state != RUNNER_UNEMPTYING) || r->emptying != EMPTYING_ASKED)
		return;
	if (error != NULL)
		r->call.rc = ls_err_set(&r->call.err, LS_E_REFUSED, "%s", error);
	if (r->call.caches == CACHES_REMOUNT)
		begin_task(r, EMPTYING_REOPEN, call_reopen);
	else if (error != NULL)
		fail(r);
	else
		(void)runner_event(r, RUNNER_EV_EMPTIED);
}
