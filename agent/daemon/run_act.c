/* What a node does on the edges of its life in a run (run_fsm.h). */
#include <stdio.h>
#include <stdlib.h>

#include "agent/daemon/allow.h"
#include "agent/daemon/limits.h"
#include "agent/daemon/run_int.h"
#include "common/base/log.h"
#include "common/base/mem.h"

void
run_tell(struct run *run, enum msg_type type, const void *body)
{
	char *text = NULL;
	size_t len;
	struct ls_err err;

	if (msg_encode(type, body, &text, &len, &err)) {
		ls_log(LS_LOG_ERROR, "a message cannot be encoded", "run=%s error=\"%s\"", run_id(run), err.text);
		return;
	}
	run->env.ports->send(text, len, run->env.arg);
	free(run->last);
	run->last = text;
	run->last_len = len;
}

/* An io_error with a sentence; ended by field_struct_fini. */
static void
error_init(struct io_error *e, const char *step, const char *text)
{
	field_struct_init(&io_error_desc, e);
	e->step = ls_strdup(step);
	free(e->text);
	e->text = ls_strdup(text);
}

static void
tell_refused(struct run *run, const char *why)
{
	struct msg_refused body = { .run = run->assign->run };

	error_init(&body.error, "preflight", why);
	run_tell(run, MSG_REFUSED, &body);
	field_struct_fini(&io_error_desc, &body.error);
}

static void
tell_failed(struct run *run, const char *step, const char *why)
{
	struct msg_failed body = { .epoch = run->epoch };

	run->attempt = ATTEMPT_NONE;
	error_init(&body.error, step, why);
	run_tell(run, MSG_FAILED, &body);
	field_struct_fini(&io_error_desc, &body.error);
}

/* Why there is nothing to be had from this node any more. */
static const char *
why_not(const struct run *run)
{
	if (run->death[0])
		return run->death;
	return run->stop_reason ? run->stop_reason : "the run was stopped on this node";
}

static void
set_epoch(struct run *run, const struct msg_arm *arm)
{
	epoch_copy(&run->epoch, &arm->epoch);
	run->has_epoch = true;
	run->lay_out = arm->lay_out;
}

/* --- the barrier --- */

static void
refuse_arm(struct run *run, const char *why)
{
	struct msg_failed failed = { .epoch = run->epoch };

	error_init(&failed.error, "arm", why);
	run_raise(run, NE_FAILED, &failed);
	field_struct_fini(&io_error_desc, &failed.error);
}

/* A raw device: one of those that this machine's administrator named, and for reading. Whatever the assignment said. */
static enum ls_rc
device_check(const struct run *run, const struct phase *spec, struct ls_err *err)
{
	const struct agent_config *config = run->env.config;

	if (!phase_reads_device(spec))
		return LS_OK;
	if ((phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_DEVICE) == 0)
		return ls_err_set(err, LS_E_REFUSED, "device %s: a raw device is only ever read", spec->device);
	return allow_device(config->raw_devices, config->raw_devices_count, spec->device, err);
}

static void
act_arm(struct run *run, const void *body)
{
	const struct msg_arm *arm = body;
	struct ls_err err;

	/* The attempt before had come to a result here and was void: its void was lost with a connection. */
	if (run->has_epoch && arm->epoch.attempt > 0) {
		struct epoch before = arm->epoch;
		before.attempt--;
		if (epoch_equal(&before, &run->epoch))
			run->env.ports->discard(&run->epoch, run->env.arg);
	}

	set_epoch(run, arm);
	uint64_t mine = arm->node_workers_count == run->assign->node_count
	    ? (uint64_t)arm->node_workers[run->assign->node_index]
	    : UINT64_MAX;
	if (mine > run->assign->max_workers) {
		refuse_arm(run, "the numbers of workers do not fit what was assigned");
		return;
	}
	if (device_check(run, &arm->spec, &err)) {
		refuse_arm(run, err.text);
		return;
	}
	if (limits_caches(run->env.config, (enum phase_caches)arm->spec.caches, &err)) {
		refuse_arm(run, err.text);
		return;
	}
	struct msg_arm held = *arm; /* its lists and texts are the message's */
	if (limits_hold(run->env.config, &held.spec, mine, &err)) {
		refuse_arm(run, err.text);
		return;
	}
	phase_begin_arming(run, arm);
	runner_send(run->runner, MSG_ARM, &held);
}

static void
act_arm_later(struct run *run, const void *body)
{
	static char reason[] = "another attempt follows";
	char *text = NULL;
	size_t len;
	struct ls_err err;

	if (!run->pending_arm.body) {
		struct msg_void instead = { .epoch = run->epoch, .reason = reason };
		runner_send(run->runner, MSG_VOID, &instead);
		run->env.ports->discard(&run->epoch, run->env.arg);
		run->attempt = ATTEMPT_NONE;
	}

	/* A copy by way of its text: the message is only borrowed. */
	msg_fini(&run->pending_arm);
	run->pending_arm = (struct msg){ 0 };
	if (msg_encode(MSG_ARM, body, &text, &len, &err) ||
	    msg_decode(text, len, MSG_TO_AGENT, &run->pending_arm, &err))
		ls_log(LS_LOG_ERROR, "arm cannot be kept", "run=%s error=\"%s\"", run_id(run), err.text);
	free(text);
}

static void
act_arm_impossible(struct run *run, const void *body)
{
	const struct msg_arm *arm = body;

	set_epoch(run, arm);
	tell_failed(run, "arm", why_not(run));
}

static void
act_uncache(struct run *run, const void *body)
{
	run_uncache(run, body, true);
}

static void
act_uncache_not(struct run *run, const void *body)
{
	run_uncache(run, body, false);
}

static void
act_tell_armed(struct run *run, const void *body)
{
	run->engine_epoch = atomic_load_explicit(&shm_map_control(run->map)->armed_epoch, memory_order_acquire);
	run_tell(run, MSG_ARMED, body);
}

static void
act_go(struct run *run, const void *body)
{
	const struct msg_go *go = body;

	runner_send(run->runner, MSG_GO, go);
	phase_note_start(run, (struct ls_mono){ go->start_ns });
}

static void
act_commit(struct run *run, const void *body)
{
	(void)body;
	/* First of all: workers may be in their last microseconds before the instant. */
	atomic_store_explicit(&shm_map_control(run->map)->commit_epoch, run->engine_epoch, memory_order_release);
	phase_begin_running(run);
}

/* Only ever earlier: the runner stored the end of the phase's time before it said that it was set. */
static void
act_end_at(struct run *run, const void *body)
{
	const struct msg_end_at *m = body;
	struct shm_control *control = shm_map_control(run->map);

	if (m->end_ns < atomic_load_explicit(&control->limit_ns, memory_order_relaxed))
		atomic_store_explicit(&control->limit_ns, m->end_ns, memory_order_relaxed);
}

static void
act_void(struct run *run, const void *body)
{
	run->attempt = ATTEMPT_NONE;
	run->env.ports->discard(&run->epoch, run->env.arg);
	runner_send(run->runner, MSG_VOID, body);
}

static void
act_tell_voided(struct run *run, const void *body)
{
	(void)body;
	run->attempt = ATTEMPT_NONE;
	if (run->pending_arm.body) {
		struct msg arm = run->pending_arm;
		run->pending_arm = (struct msg){ 0 };
		run_raise(run, NE_ARM, arm.body);
		msg_fini(&arm);
		return;
	}
	struct msg_voided voided = { .epoch = run->epoch };
	run_tell(run, MSG_VOIDED, &voided);
}

/* --- stop and end --- */

static void
stop_load(struct run *run)
{
	/* All epochs: no later one follows a stop. The runner may store its own number over it. */
	atomic_store_explicit(&shm_map_control(run->map)->stop_epoch, UINT64_MAX, memory_order_release);
}

static void
act_stop(struct run *run, const void *body)
{
	static char reason[] = "stop";
	struct msg_abort abort_msg = { .run = run->assign->run,
		.reason = run->stop_reason ? run->stop_reason : reason };

	(void)body;
	stop_load(run);
	runner_send(run->runner, MSG_ABORT, &abort_msg);
}

/* The load stands still. death: because the runner is gone, else NULL. */
static void
load_stopped(struct run *run, const char *death)
{
	if (run->attempt == ATTEMPT_RUNNING)
		phase_result(run, NULL, death);
	else if (run->attempt == ATTEMPT_BARRIER && !run->abort_asked)
		tell_failed(run, "run", why_not(run));
	run->attempt = ATTEMPT_NONE;
	if (run->pending_arm.body) {
		act_arm_impossible(run, run->pending_arm.body);
		msg_fini(&run->pending_arm);
		run->pending_arm = (struct msg){ 0 };
	}
	if (run->abort_asked) {
		struct msg_aborted body = { .run = run->assign->run };
		run_tell(run, MSG_ABORTED, &body);
	}
}

static void
act_stopped(struct run *run, const void *body)
{
	(void)body;
	load_stopped(run, NULL);
}

static void
act_stopped_dead(struct run *run, const void *body)
{
	(void)body;
	load_stopped(run, run->death);
}

static void
act_kill(struct run *run, const void *body)
{
	(void)body;
	runner_kill(run->runner);
}

/* Leaves a runner behind that cannot be killed now; its files are seen to when it is gone. */
static void
abandon_runner(struct run *run)
{
	struct runner *runner = run->runner;
	struct stall *stalls = NULL;

	run->runner = NULL;
	if (!runner) {
		run->env.ports->sweep(run_id(run), run->env.arg);
		return;
	}
	size_t n = stalls_look(run->stalls, run->map, run->workers, 0, ls_mono_now(), &stalls);
	run->env.ports->abandon(runner, run_id(run), n > 0 ? &stalls[0] : NULL, run->env.arg);
	for (size_t i = 0; i < n; i++)
		field_struct_fini(&stall_desc, &stalls[i]);
	free(stalls);
}

static void
act_give_up(struct run *run, const void *body)
{
	(void)body;
	(void)snprintf(run->death, sizeof(run->death), "the runner could not be killed: it hangs in the kernel");
	load_stopped(run, run->death);
	abandon_runner(run);
}

static void
act_finish(struct run *run, const void *body)
{
	const struct msg_finish *asked = body; /* NULL: the agent wants it itself */
	struct msg_finish finish = { .run = run->assign->run, .keep_files = asked && asked->keep_files };

	run->keep_files = finish.keep_files;
	stop_load(run);
	runner_send(run->runner, MSG_FINISH, &finish);
}

static void
tell_finished(struct run *run, const struct msg_finished *finished)
{
	struct msg_finished told = { 0 };

	ls_log(LS_LOG_INFO, "the run is over on this node", "run=%s left=%zu", run_id(run),
	    finished ? finished->left_count : 0);
	if (finished)
		told = *finished;
	told.run = run->assign->run; /* a runner that was not told its assignment yet does not know it */
	if (run->finish_asked)
		run_tell(run, MSG_FINISHED, &told);
}

static void
tell_left_all(struct run *run)
{
	char *dir = ls_asprintf("%s/.lockstep-%s", run->assign->job.path, run_id(run));
	char *left[] = { dir };
	struct msg_finished body = { .run = run->assign->run, .left = left, .left_count = 1 };

	tell_finished(run, &body);
	free(dir);
}

static void
on_cleaned(char *const *left, size_t left_count, const char *failure, void *arg)
{
	struct run *run = arg;
	struct runner *stuck = failure ? cleaner_take_runner(run->cleaner) : NULL;

	cleaner_free(run->cleaner);
	run->cleaner = NULL;
	if (stuck)
		run->env.ports->abandon(stuck, run_id(run), NULL, run->env.arg);
	if (failure) {
		ls_log(
		    LS_LOG_WARN, "the run's files could not be removed", "run=%s error=\"%s\"", run_id(run), failure);
		run_raise(run, NE_DIED, NULL);
		return;
	}
	char **list = ls_calloc(left_count + 1, sizeof(*list));
	for (size_t i = 0; i < left_count; i++)
		list[i] = left[i];
	struct msg_finished body = { .run = run->assign->run, .left = list, .left_count = left_count };
	run_raise(run, NE_FINISHED, &body);
	free(list);
}

static void
act_clean(struct run *run, const void *body)
{
	const struct msg_finish *finish = body;
	struct ls_err err;

	if (run->attempt == ATTEMPT_RUNNING)
		phase_result(run, NULL, run->death);
	if (finish)
		run->keep_files = finish->keep_files;
	if (run->keep_files) {
		run_raise(run, NE_FINISHED, NULL);
		return;
	}
	/* Without the volume the run's directory would seem to be gone. */
	if (run->remounting) {
		run->clean_later = true;
		return;
	}
	if (cleaner_start(run->env.loop, run->env.config, run->assign, on_cleaned, run, &run->cleaner, &err)) {
		ls_log(LS_LOG_WARN, "no runner to clean up", "run=%s error=\"%s\"", run_id(run), err.text);
		run_raise(run, NE_DIED, NULL);
	}
}

/* Nothing is left to do: the assignment on the disk has done its service. */
static void
forget(struct run *run)
{
	assignments_remove(run->env.assignments, run_id(run));
}

static void
act_tell_finished(struct run *run, const void *body)
{
	tell_finished(run, body);
	forget(run);
}

static void
act_finish_late(struct run *run, const void *body)
{
	(void)body;
	tell_left_all(run);
	abandon_runner(run);
}

static void
act_clean_failed(struct run *run, const void *body)
{
	(void)body;
	tell_left_all(run);
}

/* --- before the first phase, and what is only handed on --- */

static void
act_none(struct run *run, const void *body)
{
	(void)run;
	(void)body;
}

static void
act_repeat(struct run *run, const void *body)
{
	(void)body;
	if (run->last)
		run->env.ports->send(run->last, run->last_len, run->env.arg);
}

static void
act_tell_prepared(struct run *run, const void *body)
{
	const struct msg_prepared *prepared = body;

	run->device = ls_strdup(prepared->volume.device);
	run_tell(run, MSG_PREPARED, body);
}

static void
act_tell_refused(struct run *run, const void *body)
{
	run_tell(run, MSG_REFUSED, body);
	forget(run);
}

static void
act_refuse_died(struct run *run, const void *body)
{
	(void)body;
	tell_refused(run, run->death);
	run->env.ports->sweep(run_id(run), run->env.arg);
}

static void
act_refuse_late(struct run *run, const void *body)
{
	(void)body;
	tell_refused(run, "the volume gave no answer in time: the look at it still waits");
	abandon_runner(run);
}

static void
act_verify(struct run *run, const void *body)
{
	runner_send(run->runner, MSG_VERIFY_VOLUME, body);
}

static void
act_verify_dead(struct run *run, const void *body)
{
	(void)body;
	tell_refused(run, why_not(run));
}

static void
act_tell_verified(struct run *run, const void *body)
{
	run_tell(run, MSG_VOLUME_VERIFIED, body);
}

static void
act_tell_failed(struct run *run, const void *body)
{
	run->attempt = ATTEMPT_NONE;
	run_tell(run, MSG_FAILED, body);
}

static void
act_died(struct run *run, const void *body)
{
	(void)body;
	tell_failed(run, "arm", run->death);
}

static void
act_tell_set(struct run *run, const void *body)
{
	run_tell(run, MSG_SET, body);
	phase_note_usage(run);
}

static void
act_tell_missed(struct run *run, const void *body)
{
	run->attempt = ATTEMPT_BARRIER;
	run_tell(run, MSG_MISSED, body);
}

static void
act_result(struct run *run, const void *body)
{
	phase_result(run, body, NULL);
}

static void
act_result_died(struct run *run, const void *body)
{
	(void)body;
	phase_result(run, NULL, run->death);
}

typedef void (*action_fn)(struct run *run, const void *body);

static const action_fn actions[NA_ACTION_COUNT] = {
	[NA_NONE] = act_none,
	[NA_REPEAT] = act_repeat,
	[NA_TELL_PREPARED] = act_tell_prepared,
	[NA_TELL_REFUSED] = act_tell_refused,
	[NA_REFUSE_DIED] = act_refuse_died,
	[NA_REFUSE_LATE] = act_refuse_late,
	[NA_VERIFY] = act_verify,
	[NA_VERIFY_DEAD] = act_verify_dead,
	[NA_TELL_VERIFIED] = act_tell_verified,
	[NA_ARM] = act_arm,
	[NA_ARM_LATER] = act_arm_later,
	[NA_ARM_IMPOSSIBLE] = act_arm_impossible,
	[NA_UNCACHE] = act_uncache,
	[NA_UNCACHE_NOT] = act_uncache_not,
	[NA_TELL_ARMED] = act_tell_armed,
	[NA_TELL_FAILED] = act_tell_failed,
	[NA_DIED] = act_died,
	[NA_RESULT_DIED] = act_result_died,
	[NA_GO] = act_go,
	[NA_TELL_SET] = act_tell_set,
	[NA_COMMIT] = act_commit,
	[NA_END_AT] = act_end_at,
	[NA_TELL_MISSED] = act_tell_missed,
	[NA_VOID] = act_void,
	[NA_TELL_VOIDED] = act_tell_voided,
	[NA_RESULT] = act_result,
	[NA_STOP] = act_stop,
	[NA_STOPPED] = act_stopped,
	[NA_STOPPED_DEAD] = act_stopped_dead,
	[NA_KILL] = act_kill,
	[NA_GIVE_UP] = act_give_up,
	[NA_FINISH] = act_finish,
	[NA_CLEAN] = act_clean,
	[NA_TELL_FINISHED] = act_tell_finished,
	[NA_FINISH_LATE] = act_finish_late,
	[NA_CLEAN_FAILED] = act_clean_failed,
};

void
run_act(struct run *run, enum node_run_action action, const void *body)
{
	actions[action](run, body);
}
