/* What an event leads to: calls of the engine, and answers to the agent. */
#include <stdlib.h>

#include "agent/runner/runner_int.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "proto/model/tool.h"

/* finished carries at most so many names. */
#define LEFT_MAX 64

/* Bytes of a program's output in a message; as JSON each may take six. */
#define OUTPUT_PIECE 65536

/* Answers only read what they are given: texts of ours stand in them without a copy. */
static char *
borrow(const char *text)
{
	union {
		const char *in;
		char *out;
	} u = { .in = text };

	return u.out;
}

static const struct epoch *
present_epoch(const struct runner *r)
{
	const struct msg_arm *arm = r->arm.body;

	return &arm->epoch;
}

static void
act_prepared(struct runner *r)
{
	struct msg_prepared body = { .run = borrow(runner_run_id(r)), .volume = r->volume, .host = r->host };

	runner_send(r, MSG_PREPARED, &body);
}

static void
act_refused(struct runner *r)
{
	struct msg_refused body = { .run = borrow(runner_run_id(r)), .error = r->refusal };

	runner_send(r, MSG_REFUSED, &body);
}

/* The first node says what it holds; another tries, if it sees the first one's files. */
static enum lock_outcome
try_lock(const struct runner *r, enum locktest_kind kind)
{
	const struct msg_assign *assign = r->assign.body;
	const char *first = assign->check_only ? verify_first_seen(r->verify) : NULL;

	if (assign->node_index == 0 || first == NULL)
		return r->locks[kind];

	char *name = rundir_lock_name(first, kind);
	enum lock_outcome outcome = locktest_try(rundir_fd(r->rundir), name, kind);

	free(name);
	return outcome;
}

static void
act_verified(struct runner *r)
{
	struct msg_volume_verified body = {
		.run = borrow(runner_run_id(r)),
		.fcntl_lock = (int)try_lock(r, LOCKTEST_FCNTL),
		.flock = (int)try_lock(r, LOCKTEST_FLOCK),
	};

	body.missing = verify_missing(r->verify, &body.missing_count);
	runner_send(r, MSG_VOLUME_VERIFIED, &body);
	verify_free(r->verify);
	r->verify = NULL;
}

static void
call_arm(void *arg)
{
	struct runner_call *call = arg;

	call->rc = engine_arm(call->engine, &call->arm, &call->engine_epoch, &call->error, &call->err);
}

static void
call_flush(void *arg)
{
	struct runner_call *call = arg;

	call->flush_ns = engine_flush(call->engine);
}

/* Epochs of engines differ where a node's arm was void before it came: the coordinator's numbers do not. */
static uint64_t
phase_tag(const struct epoch *epoch)
{
	/* phases and attempts stay below these, by messages.def */
	return (epoch->repetition * 1000001 + epoch->phase) * 1001 + epoch->attempt;
}

static void
act_arm(struct runner *r)
{
	const struct msg_arm *arm = r->arm.body;
	struct runner_call *call = &r->call;
	struct ls_err err = { 0 };

	field_struct_fini(&io_error_desc, &call->error);
	*call = (struct runner_call){
		.engine = r->engine,
		.arm = { .spec = &arm->spec,
		    .node_workers = r->node_workers,
		    .redo = arm->redo,
		    .tag = phase_tag(&arm->epoch),
		    .fsynced = r->fsynced,
		    .lay_out = arm->lay_out },
		.flush_ns = LS_UNKNOWN_I64,
	};
	field_struct_init(&io_error_desc, &call->error);
	/* Once started, the call is the other thread's. */
	if (task_start(r->task, call_arm, call, &err) == LS_OK)
		return;
	call->rc = err.rc;
	call->err = err;
	(void)runner_event(r, RUNNER_EV_ARM_FAILED);
}

static void
act_armed(struct runner *r)
{
	const struct msg_arm *arm = r->arm.body;
	struct msg_armed body = { .epoch = arm->epoch, .lay_out = arm->lay_out };

	runner_send(r, MSG_ARMED, &body);
}

static void
act_failed(struct runner *r)
{
	struct io_error *error = &r->call.error;
	struct msg_failed body = { .epoch = *present_epoch(r) };

	if (error->step == NULL)
		error->step = ls_strdup("arm");
	if (error->text == NULL || *error->text == '\0') {
		free(error->text);
		error->text = ls_strdup(r->call.err.text);
	}
	body.error = *error;
	runner_send(r, MSG_FAILED, &body);
}

static void
act_go(struct runner *r)
{
	struct msg_set body = { .epoch = *present_epoch(r) };

	engine_go(r->engine, (struct ls_mono){ r->start_ns }, r->late_limit_ns);
	runner_send(r, MSG_SET, &body);
}

static void
act_stop(struct runner *r)
{
	engine_stop(r->engine);
	/* Nobody is there to leave. */
	if (r->idle && r->state == RUNNER_STOPPING)
		(void)runner_event(r, RUNNER_EV_UNSTARTED);
}

static void
act_missed(struct runner *r)
{
	struct msg_missed body = { .epoch = *present_epoch(r) };
	const char *reason = "instant already past";

	if (r->state == RUNNER_READY)
		reason = r->decision == SHM_MISSED_LATE ? "woke late" : "commit late";
	body.reason = borrow(reason);
	runner_send(r, MSG_MISSED, &body);
}

static void
act_flush(struct runner *r)
{
	if (task_start(r->task, call_flush, &r->call, NULL) == LS_OK)
		return;
	/* No thread to be had: the agent waits for the flush, not for our answers. */
	call_flush(&r->call);
	(void)runner_event(r, RUNNER_EV_FLUSHED);
}

static void
send_finished(struct runner *r)
{
	struct msg_finished body = {
		.run = borrow(runner_run_id(r)),
		.left = r->left,
		.left_count = LS_MIN(r->left_count, (size_t)LEFT_MAX),
	};

	runner_send(r, MSG_FINISHED, &body);
}

/* The workers stand still: now what was put off. */
static void
act_settle(struct runner *r)
{
	verify_free(r->verify);
	r->verify = NULL;
	if ((r->pending & PENDING_VOID) != 0) {
		struct msg_voided body = { .epoch = r->void_epoch };

		runner_send(r, MSG_VOIDED, &body);
	}
	if ((r->pending & PENDING_ABORT) != 0) {
		struct msg_aborted body = { .run = borrow(runner_run_id(r)) };

		runner_send(r, MSG_ABORTED, &body);
	}
	if ((r->pending & (PENDING_FINISH | PENDING_QUIT)) != 0) {
		runner_clean(r);
		r->ended = true;
	}
	if ((r->pending & PENDING_FINISH) != 0)
		send_finished(r);
	r->pending &= (unsigned)PENDING_QUIT;
}

/* One stream of an external program, in pieces; bytes that are no text become question marks. */
static void
send_output(struct runner *r, const char *text, bool error)
{
	char piece[OUTPUT_PIECE + 1];

	while (text != NULL && *text != '\0') {
		struct msg_tool_output body = { .epoch = *present_epoch(r), .error = error, .data = piece };
		size_t n = 0;

		for (; n < OUTPUT_PIECE && *text != '\0'; text++)
			piece[n++] = (*text >= ' ' && *text <= '~') || *text == '\n' || *text == '\t' ? *text : '?';
		piece[n] = '\0';
		runner_send(r, MSG_TOOL_OUTPUT, &body);
	}
}

static void
act_done(struct runner *r)
{
	struct msg_phase_done body = { .epoch = *present_epoch(r), .flush_ns = r->call.flush_ns };
	const struct msg_arm *arm = r->arm.body;
	bool external = tool_of((enum phase_kind)arm->spec.kind) != TOOL_COUNT;
	const struct tool_result *told = external ? ext_result(r->ext) : NULL;
	const struct io_error *list = NULL;
	struct tool_result tool;
	union {
		const struct io_error *in;
		struct io_error *out;
	} errors;
	union {
		const struct mismatch *in;
		struct mismatch *out;
	} found;
	union {
		const struct cluster_node *in;
		struct cluster_node *out;
	} seen;

	/* A void attempt has no result. */
	if ((r->pending & PENDING_VOID) == 0) {
		if (told != NULL) {
			send_output(r, told->out, false);
			send_output(r, told->err, true);
			tool = *told;
			tool.out = tool.err = NULL;
			body.tool = &tool;
		}
		body.errors = engine_errors(r->engine, &list, &body.error_list_count);
		errors.in = list;
		body.error_list = errors.out;
		body.mismatches_count = engine_mismatches(r->engine, &found.in);
		body.mismatches = found.out;
		seen.in = engine_cluster(r->engine);
		body.cluster = seen.out;
		runner_send(r, MSG_PHASE_DONE, &body);
	}
	if (r->pending != 0)
		act_settle(r);
}

void
runner_act(struct runner *r, enum runner_action action)
{
	static void (*const acts[RUNNER_ACTION_COUNT])(struct runner *) = {
		[RUNNER_ACT_PREPARED] = act_prepared,
		[RUNNER_ACT_REFUSED] = act_refused,
		[RUNNER_ACT_VERIFIED] = act_verified,
		[RUNNER_ACT_ARM] = act_arm,
		[RUNNER_ACT_EMPTY] = runner_empty,
		[RUNNER_ACT_UNEMPTY] = runner_unempty,
		[RUNNER_ACT_ARMED] = act_armed,
		[RUNNER_ACT_FAILED] = act_failed,
		[RUNNER_ACT_GO] = act_go,
		[RUNNER_ACT_STOP] = act_stop,
		[RUNNER_ACT_FLUSH] = act_flush,
		[RUNNER_ACT_MISSED] = act_missed,
		[RUNNER_ACT_DONE] = act_done,
		[RUNNER_ACT_SETTLE] = act_settle,
	};

	if (acts[action] != NULL)
		acts[action](r);
}
