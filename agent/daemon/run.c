#include "agent/daemon/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/allow.h"
#include "agent/daemon/run_int.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#define STOP_LIMIT_NS        (5 * NS_PER_S)     /* from stop to SIGKILL */
#define STOP_QUIT_LIMIT_NS   (2500 * NS_PER_MS) /* the same when files must be removed within the 5 s too */
#define KILL_LIMIT_NS        (2 * NS_PER_S)     /* from SIGKILL to "hangs in the kernel" */
#define KILL_QUIT_LIMIT_NS   (500 * NS_PER_MS)
#define FINISH_QUIT_LIMIT_NS (1500 * NS_PER_MS)
#define ORPHAN_FINISH_FACTOR 10 /* times orphan_time, then the files are removed */

/* --- the machine --- */

/* How long the state may last; 0: without limit. */
static int64_t
state_limit_ns(const struct run *run)
{
	switch (run->state) {
	case NR_STARTING:
		return run->env.config->prepare_timeout;
	case NR_STOPPING:
		return run->quitting ? STOP_QUIT_LIMIT_NS : STOP_LIMIT_NS;
	case NR_KILLING:
		return run->quitting ? KILL_QUIT_LIMIT_NS : KILL_LIMIT_NS;
	case NR_FINISHING:
		return run->quitting ? FINISH_QUIT_LIMIT_NS : run->env.config->finish_timeout;
	case NR_READY:
	case NR_VERIFYING:
	case NR_ARMING:
	case NR_ARMED:
	case NR_SETTING:
	case NR_SET:
	case NR_COMMITTED:
	case NR_MISSED:
	case NR_VOIDING:
	case NR_STOPPED:
	case NR_DEAD:
	case NR_CLEANING: /* the cleaner keeps its own */
	case NR_GONE:
	case NR_STATE_COUNT:
		break;
	}
	return 0;
}

static void
enter_state(struct run *run, enum node_run_state to, enum node_run_event event)
{
	if (run->state == to)
		return;
	ls_log(LS_LOG_DEBUG, "run state", "run=%s from=%s to=%s event=\"%s\"", run_id(run),
	    node_run_fsm.state_names[run->state], node_run_fsm.state_names[to], node_run_fsm.event_names[event]);
	run->state = to;

	int64_t limit = state_limit_ns(run);
	if (limit > 0)
		loop_timer_set(run->deadline, limit);
	else
		loop_timer_cancel(run->deadline);
}

bool
run_raise(struct run *run, enum node_run_event event, const void *body)
{
	const struct fsm_edge *edge = fsm_find(&node_run_fsm, (int)run->state, (int)event);
	if (!edge)
		return false;

	enter_state(run, (enum node_run_state)edge->to, event);
	run_act(run, (enum node_run_action)edge->action, body);
	if (edge->to == NR_GONE)
		run->env.ports->gone(run, run->env.arg);
	else if (run->quitting && (run->state == NR_STOPPED || run->state == NR_DEAD))
		run_raise(run, NE_FINISH, NULL); /* once: it leaves both states */
	return true;
}

/* --- the runner's side --- */

struct message_event {
	enum msg_type type;
	enum node_run_event event;
	bool has_epoch; /* the body begins with a struct epoch */
};

static const struct message_event runner_events_by_type[] = {
	{ MSG_PREPARED, NE_PREPARED, false },
	{ MSG_REFUSED, NE_REFUSED, false },
	{ MSG_VOLUME_VERIFIED, NE_VERIFIED, false },
	{ MSG_UNCACHE, NE_UNCACHE, true },
	{ MSG_ARMED, NE_ARMED, true },
	{ MSG_FAILED, NE_FAILED, true },
	{ MSG_SET, NE_SET, true },
	{ MSG_MISSED, NE_MISSED, true },
	{ MSG_VOIDED, NE_VOIDED, true },
	{ MSG_PHASE_DONE, NE_DONE, true },
	{ MSG_ABORTED, NE_ABORTED, false },
	{ MSG_FINISHED, NE_FINISHED, false },
};

static const struct message_event coordinator_events_by_type[] = {
	{ MSG_ASSIGN, NE_ASSIGN, false },
	{ MSG_VERIFY_VOLUME, NE_VERIFY, false },
	{ MSG_GO, NE_GO, true },
	{ MSG_COMMIT, NE_COMMIT, true },
	{ MSG_END_AT, NE_END_AT, true },
	{ MSG_VOID, NE_VOID, true },
	{ MSG_ABORT, NE_STOP, false },
	{ MSG_FINISH, NE_FINISH, false },
};

static const struct message_event *
event_of(const struct message_event *table, size_t count, enum msg_type type)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].type == type)
			return &table[i];
	return NULL;
}

static bool
is_stale(struct run *run, const struct message_event *row, const struct msg *msg)
{
	const struct epoch *epoch = msg->body; /* the first member of every body with has_epoch */

	if (!row->has_epoch || (run->has_epoch && epoch_equal(epoch, &run->epoch)))
		return false;
	run->stale++;
	ls_log(LS_LOG_DEBUG, "stale message dropped", "run=%s type=%s phase=%llu attempt=%llu", run_id(run),
	    msg_info(msg->type)->name, (unsigned long long)epoch->phase, (unsigned long long)epoch->attempt);
	return true;
}

static void
on_runner_message(const struct msg *msg, void *arg)
{
	struct run *run = arg;
	const struct message_event *row = event_of(runner_events_by_type, ARRAY_LEN(runner_events_by_type), msg->type);

	if (msg->type == MSG_TOOL_OUTPUT) {
		phase_tool_output(run, msg->body);
		return;
	}
	if (msg->type == MSG_PREPARED && run->state == NR_STARTING && !run_check_mount(run, msg->body))
		return;
	if (!row || (!is_stale(run, row, msg) && !run_raise(run, row->event, msg->body)))
		ls_log(LS_LOG_WARN, "the runner said something out of turn", "run=%s type=%s state=%s", run_id(run),
		    msg_info(msg->type)->name, node_run_fsm.state_names[run->state]);
}

static void
on_runner_exit(const char *how, void *arg)
{
	struct run *run = arg;

	(void)snprintf(run->death, sizeof(run->death), "the runner %s", how);
	ls_log(run->state == NR_GONE ? LS_LOG_DEBUG : LS_LOG_WARN, "the runner ended", "run=%s how=\"%s\" state=%s",
	    run_id(run), how, node_run_fsm.state_names[run->state]);
	runner_free(run->runner);
	run->runner = NULL;
	run_raise(run, NE_DIED, NULL);
}

static const struct runner_events runner_events = { on_runner_message, on_runner_exit };

/* --- the coordinator's side --- */

/* Negative, 0, positive as a is an earlier epoch than b, the same, a later one. */
static int
epoch_order(const struct epoch *a, const struct epoch *b)
{
	const uint64_t x[] = { a->repetition, a->phase, a->attempt }, y[] = { b->repetition, b->phase, b->attempt };

	for (size_t i = 0; i < ARRAY_LEN(x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* An arm can be the next one, the present one repeated, or follow an attempt whose void was lost with a connection. */
static bool
raise_arm(struct run *run, const struct msg_arm *arm)
{
	int order = run->has_epoch ? epoch_order(&arm->epoch, &run->epoch) : 1;

	if (order < 0) {
		run->stale++;
		return true;
	}
	if (order == 0 && arm->lay_out && !run->lay_out) {
		run->stale++;
		return true;
	}
	if (order == 0)
		return run_raise(run, arm->lay_out == run->lay_out ? NE_ARM_AGAIN : NE_ARM_ON, arm);
	bool open = run->attempt != ATTEMPT_NONE || run->state == NR_VOIDING;
	return run_raise(run, open ? NE_ARM_NEXT : NE_ARM, arm);
}

enum ls_rc
run_message(struct run *run, const struct msg *msg, struct ls_err *err)
{
	bool fits;

	if (msg->type == MSG_ARM) {
		fits = raise_arm(run, msg->body);
	} else {
		const struct message_event *row =
		    event_of(coordinator_events_by_type, ARRAY_LEN(coordinator_events_by_type), msg->type);
		if (row && is_stale(run, row, msg))
			return LS_OK;
		run->abort_asked |= msg->type == MSG_ABORT;
		run->finish_asked |= msg->type == MSG_FINISH;
		fits = row && run_raise(run, row->event, msg->body);
	}
	if (fits)
		return LS_OK;
	return ls_err_set(err, LS_E_PROTO, "%s is not possible for run %s, which is %s on this node",
	    msg_info(msg->type)->name, run_id(run), node_run_fsm.state_names[run->state]);
}

static void
on_deadline(void *arg)
{
	struct run *run = arg;

	ls_log(LS_LOG_WARN, "deadline passed", "run=%s state=%s", run_id(run), node_run_fsm.state_names[run->state]);
	run_raise(run, NE_DEADLINE, NULL);
}

static void
on_orphan(void *arg)
{
	struct run *run = arg;

	if (!run->orphan_stopped) {
		run->orphan_stopped = true;
		int64_t orphan = run->assign->job.orphan_time;
		loop_timer_set(run->orphan,
		    orphan > INT64_MAX / ORPHAN_FINISH_FACTOR ? INT64_MAX : orphan * (ORPHAN_FINISH_FACTOR - 1));
		run_stop(run, "the coordinator could not be reached for too long");
		return;
	}
	ls_log(LS_LOG_WARN, "the coordinator stays away: cleaning up", "run=%s", run_id(run));
	run_raise(run, NE_FINISH, NULL);
}

void
run_connected(struct run *run)
{
	loop_timer_cancel(run->orphan);
	phase_reconnected(run);
	if (run->last)
		run->env.ports->send(run->last, run->last_len, run->env.arg);
}

void
run_disconnected(struct run *run)
{
	if (!run->orphan_stopped)
		loop_timer_set(run->orphan, run->assign->job.orphan_time);
}

void
run_stop(struct run *run, const char *reason)
{
	if (!run->stop_reason)
		run->stop_reason = ls_strdup(reason);
	ls_log(LS_LOG_WARN, "the load is stopped", "run=%s reason=\"%s\"", run_id(run), reason);
	run_raise(run, NE_STOP, NULL);
}

void
run_quit(struct run *run)
{
	run->quitting = true;
	run_stop(run, "the agent on this node was ended");
}

uint64_t
run_stale(const struct run *run)
{
	return run->stale;
}

const char *
run_id(const struct run *run)
{
	return run->assign->run;
}

/* --- begin and end --- */

static void
on_assignment_written(const struct ls_err *err, void *arg)
{
	struct run *run = arg;

	run->writing = NULL;
	if (run->state != NR_STARTING)
		return;
	if (err) {
		char *why =
		    ls_asprintf("the agent's spool, where it notes what must be cleaned up, fails: %s", err->text);

		run_refuse(run, why);
		free(why);
		return;
	}
	run_ask_helper(run);
}

void
run_refuse(struct run *run, const char *why)
{
	struct msg_refused refused = { .run = run->assign->run };

	field_struct_init(&io_error_desc, &refused.error);
	refused.error.step = ls_strdup("preflight");
	free(refused.error.text);
	refused.error.text = ls_strdup(why);
	run_raise(run, NE_REFUSED, &refused);
	field_struct_fini(&io_error_desc, &refused.error);
}

void
run_send_assign(struct run *run)
{
	struct msg_assign assign = *run->assign; /* shallow: only encoded */
	assign.spin_ns = run->env.spin_ns;
	assign.clean_only = false;
	/* Never what came from outside: which programs run here is this node's own decision. */
	assign.tools = run->env.facts->tools;
	assign.tools_count = run->env.facts->tools_count;
	runner_send(run->runner, MSG_ASSIGN, &assign);
}

/* The assignment goes to the disk while the runner starts, and to the runner when it is there. */
static enum ls_rc
start(struct run *run, struct ls_err *err)
{
	char *text = NULL;
	size_t len;
	uint32_t workers = (uint32_t)run->assign->max_workers;

	enum ls_rc rc = shm_map_new(workers, &run->map, err);
	if (!rc)
		rc = msg_encode(MSG_ASSIGN, run->assign, &text, &len, err);
	if (!rc)
		rc = runner_start(
		    run->env.loop, run->env.config->runner, run->map, &runner_events, run, &run->runner, err);
	if (!rc) {
		run->sampler = sampler_new(run->map, workers);
		run->stalls = stalls_new(workers);
		run->writing =
		    assignments_put(run->env.assignments, run_id(run), text, len, on_assignment_written, run);
	}
	free(text);
	return rc;
}

enum ls_rc
run_new(const struct run_env *env, struct msg *assign, struct run **out, struct ls_err *err)
{
	const struct msg_assign *body = assign->body;

	if (!assignments_name_valid(body->run))
		return ls_err_set(err, LS_E_REFUSED, "the run's id cannot be the name of a file");
	if (body->node_index >= body->node_count)
		return ls_err_set(err, LS_E_REFUSED, "node %llu of only %llu", (unsigned long long)body->node_index,
		    (unsigned long long)body->node_count);
	enum ls_rc rc = allow_check(env->config->allow, env->config->allow_count, body->job.path, err);
	for (size_t i = 0; !rc && i < body->devices_count; i++)
		rc = allow_device(env->config->raw_devices, env->config->raw_devices_count, body->devices[i], err);
	if (rc)
		return rc;

	struct run *run = ls_calloc(1, sizeof(*run));
	run->env = *env;
	run->state = NR_STARTING;
	run->assign_msg = *assign;
	run->assign = body;
	run->deadline = loop_timer_new(env->loop, on_deadline, run);
	run->tick = loop_timer_new(env->loop, phase_tick, run);
	run->orphan = loop_timer_new(env->loop, on_orphan, run);
	rc = start(run, err);
	if (rc) {
		run->assign_msg.body = NULL; /* stays the caller's */
		run_free(run);
		return rc;
	}
	assign->body = NULL;
	loop_timer_set(run->deadline, env->config->prepare_timeout);
	*out = run;
	return LS_OK;
}

void
run_free(struct run *run)
{
	if (!run)
		return;
	assignments_cancel(run->writing);
	loop_timer_free(run->deadline);
	loop_timer_free(run->tick);
	loop_timer_free(run->orphan);
	if (run->state != NR_GONE)
		runner_kill(run->runner);
	runner_free(run->runner);
	helper_free(run->helper);
	free(run->helper_status);
	free(run->mount_point);
	field_struct_fini(&epoch_desc, &run->uncache_epoch);
	cleaner_free(run->cleaner);
	sampler_free(run->sampler);
	stalls_free(run->stalls);
	shm_map_free(run->map);
	msg_fini(&run->pending_arm);
	field_struct_fini(&epoch_desc, &run->epoch);
	sink_free(&run->tool_out);
	sink_free(&run->tool_err);
	free(run->device);
	free(run->stop_reason);
	free(run->last);
	msg_fini(&run->assign_msg);
	free(run);
}
