/* The end of a run: stop, clean, done; and what the loss of a node means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "coordinator/daemon/history.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/run_recovery.h"
#include "coordinator/daemon/watch.h"

#define STOP_QUIET_NS (10 * NS_PER_S) /* without a word from those who still stop: goes on while they flush */
#define STOP_MAX_NS   (120 * NS_PER_S)
#define CLEAN_WAIT_NS                                                                                                  \
	(600 * NS_PER_S) /* agents have limits of their own (finish_timeout), and who is away is not waited for */
#define LATE_RESULT_NS (2 * NS_PER_S) /* an agent that was started anew may still have its result in the spool */

/* --- loss ---------------------------------------------------------------------------------------------------------------------- */

static void
drop_everywhere(struct run *run, size_t i)
{
	tally_drop(&run->answers, i);
	tally_drop(&run->received, i);
	if (!tally_given(&run->stored, i))
		tally_drop(&run->stored, i);
	barrier_drop(&run->barrier, i);
}

static size_t
present_count(const struct run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < run->member_count; i++)
		n += !run->members[i].record.lost;
	return n;
}

/* It said that its runner is gone, and no result followed. */
static void
give_up_result(struct run *run, struct member *m)
{
	tally_drop(&run->received, m->index);
	tally_drop(&run->stored, m->index);
	run_raise(run, EV_NODE_FAILED);
}

void
run_lose(struct run *run, size_t i)
{
	struct member *m = &run->members[i];
	const char *name = m->record.info.name;
	char line[512];
	bool phase_on = run->stage >= STAGE_LAYING && run->stage <= STAGE_VOIDING;
	bool go_on =
	    run->job.on_node_loss == ON_LOSS_CONTINUE && run->stage != STAGE_ASSIGNING && run->stage != STAGE_VERIFYING;

	if (m->record.lost || run->stage == STAGE_ENDED)
		return;
	if (m->failed && m->node->session != NULL) {
		give_up_result(run, m);
		return;
	}
	m->record.lost = true;
	run->nodes_changed = true;
	run_recovery_lost(run, i);
	drop_everywhere(run, i);
	snprintf(line, sizeof(line), "node %s was lost: %s", name, m->away_why);
	if (run_recovery_too_many(run))
		snprintf(line, sizeof(line), "node %s was lost, too: %s; %s expects no more than %llu (expect_loss)",
		    name, m->away_why, phase_title(run_phase(run)), (unsigned long long)run_phase(run)->expect_loss);
	ls_log(LS_LOG_WARN, "node lost", "run=%s node=%s stage=%s", run->id, name, run_fsm.state_names[run->stage]);
	run_warn(run, "%s", line);
	watch_tell(run, line);
	go_on = go_on && present_count(run) > 0 && !run_recovery_too_many(run);
	if (run->stage == STAGE_ASSIGNING || run->stage == STAGE_VERIFYING)
		run_decide(run, RUN_REFUSED, "%s", line);
	else if (run->interrupted && !go_on)
		run_decide(run, RUN_FAILED, "interrupted: the coordinator was restarted, and %s", line);
	else if (!go_on && (phase_on || run->stage == STAGE_RESUMING) && run->stage != STAGE_COLLECTING)
		run_decide(run, RUN_FAILED, "%s", line);
	run_raise(run, go_on ? EV_LOST_GO_ON : EV_LOST_STOP);
}

void
run_on_away(struct run *run, size_t i, const char *why)
{
	struct member *m = &run->members[i];

	if (m->record.lost)
		return;
	m->heard = m->node->heard;
	snprintf(m->away_why, sizeof(m->away_why), "its connection ended (%.120s)", why);
	ls_log(LS_LOG_WARN, "node of a run is away", "run=%s node=%s grace_ns=%lld", run->id, m->record.info.name,
	    (long long)run->job.grace);
	loop_timer_set(m->loss, run->job.grace);
}

static void
came_back_without_run(struct run *run, struct member *m, int64_t after_ns)
{
	(void)run;
	snprintf(m->away_why, sizeof(m->away_why), "its agent was started anew and is no longer in the run");
	loop_timer_set(m->loss, after_ns);
}

/* It was told to finish, having sent its last result, just before the coordinator's end: nothing of it is missing. */
static bool
sent_all(const struct run *run, size_t i)
{
	uint64_t next = run->repetition * run->job.phases_count + run->phase + 1;

	return run->resume_event == EV_BACK_RUN && next == run_phases_total(run) && tally_given(&run->stored, i);
}

/* What the node was asked last, once more. */
static void
repeat_last(struct run *run, size_t i, bool in_run)
{
	bool waited = tally_wanted(&run->answers, i);
	struct member *m = &run->members[i];

	switch (run->stage) {
	case STAGE_ASSIGNING:
		if (waited)
			run_send_assign(run, i);
		break;
	case STAGE_VERIFYING:
		if (!in_run)
			came_back_without_run(run, m, 0);
		else if (waited)
			run_send_verify(run, i);
		break;
	case STAGE_LAYING:
		if (!in_run)
			came_back_without_run(run, m, 0);
		else if (waited)
			run_send_arm(run, i);
		break;
	case STAGE_ARMING:
		if (!in_run)
			came_back_without_run(run, m, 0);
		else if (tally_wanted(&run->barrier.armed, i))
			run_send_arm(run, i);
		else if (tally_wanted(&run->barrier.measured, i))
			run_begin_burst(run, i);
		break;
	case STAGE_SETTING:
		if (!in_run)
			came_back_without_run(run, m, 0);
		break;
	case STAGE_RUNNING:
	case STAGE_COLLECTING:
		if (!in_run)
			came_back_without_run(run, m, LATE_RESULT_NS);
		else
			run_steady_back(run, i);
		break;
	case STAGE_VOIDING:
		if (!in_run)
			came_back_without_run(run, m, 0);
		else if (waited)
			run_send_void(run, i);
		break;
	case STAGE_STOPPING:
		if (in_run && waited)
			run_send_abort(run, i);
		else if (!in_run)
			came_back_without_run(run, m, LATE_RESULT_NS);
		break;
	case STAGE_CLEANING:
		if (in_run && waited)
			run_send_finish(run, i);
		else if (!in_run && tally_give(&run->answers, i))
			run_recount(run);
		break;
	case STAGE_RESUMING:
		if (!in_run && sent_all(run, i) && tally_give(&run->answers, i))
			run_resume_check(run);
		else if (!in_run && run->resume_event != EV_BACK_PREPARE && run->resume_event != EV_BACK_CLEAN)
			came_back_without_run(run, m, LATE_RESULT_NS);
		else if (tally_give(&run->answers, i))
			run_resume_check(run);
		break;
	case STAGE_QUEUED:
	case STAGE_WAITING:
	case STAGE_ENDED:
	case STAGE_COUNT:
		break;
	}
}

void
run_on_back(struct run *run, size_t i, bool in_run)
{
	struct member *m = &run->members[i];

	if (m->record.lost) {
		run_recovery_back(run, i);
		if (in_run)
			run_send_finish(run, i);
		return;
	}
	loop_timer_cancel(m->loss);
	repeat_last(run, i, in_run);
}

/* --- stop ------------------------------------------------------------------------------------------------------------------------ */

void
run_send_abort(struct run *run, size_t i)
{
	char reason[200];
	struct msg_abort m = { .run = run->id, .reason = reason };

	snprintf(reason, sizeof(reason), "%s", run->reason != NULL ? run->reason : "");
	/* Cut within a character, it would not be text any more. */
	for (size_t n = strlen(reason); n > 0 && n == sizeof(reason) - 1 && ((unsigned char)reason[n - 1] & 0x80) != 0;
	     n--)
		reason[n - 1] = '\0';
	run_send(run, i, MSG_ABORT, &m);
}

void
run_act_stop(struct run *run)
{
	bool *wanted = run_present(run);

	tally_reset(&run->answers, wanted);
	free(wanted);
	run_decide(run, RUN_FAILED, "stopped without a reason");
	if (!run->committed)
		for (size_t i = 0; i < run->member_count; i++)
			tally_drop(&run->stored, i);
	for (size_t i = 0; i < run->member_count; i++)
		if (!run->members[i].record.lost)
			run_send_abort(run, i);
	run_set_deadline(run, STOP_QUIET_NS);
	run_save(run);
	watch_tell(run, run->reason);
	run_recount(run);
}

void
run_on_aborted(struct run *run, size_t i)
{
	if (run->stage != STAGE_STOPPING || !tally_give(&run->answers, i)) {
		run->stale++;
		return;
	}
	run->progress_at = ls_mono_now();
	run_recount(run);
}

/* --- clean ----------------------------------------------------------------------------------------------------------------------- */

void
run_send_finish(struct run *run, size_t i)
{
	struct msg_finish m = { .run = run->id, .keep_files = run->job.keep_files };

	run_send(run, i, MSG_FINISH, &m);
}

/* How the phase that was under way ended, for its row. */
static enum phase_state
phase_verdict(const struct run *run)
{
	if (run->verdict == RUN_ABORTED)
		return PHASE_STATE_ABORTED;
	if (run->verdict == RUN_FINISHED)
		return PHASE_STATE_DONE; /* whatever happened in between: all results came */
	return run->interrupted ? PHASE_STATE_INTERRUPTED : PHASE_STATE_FAILED;
}

static void
warn_not_stopped(struct run *run)
{
	for (size_t i = 0; i < run->member_count; i++)
		if (tally_wanted(&run->answers, i))
			run_warn(
			    run, "node %s did not say that its load has stopped", run->members[i].record.info.name);
}

/* lockstep must not be what fences a cluster: where nobody looked, the report says so. */
static void
warn_unwatched(struct run *run)
{
	for (size_t i = 0; i < run->member_count; i++) {
		const struct member *m = &run->members[i];
		const struct volume_facts *v = m->record.info.facts.volume;

		if (m->prepared && m->beat_age_ns == 0 && v != NULL && v->fs_type != NULL &&
		    strcmp(v->fs_type, "ocfs2") == 0)
			run_warn(run,
			    "node %s: nobody watched the age of o2cb's heartbeat (watch_heartbeat of its agent.conf)",
			    m->record.info.name);
	}
}

void
run_act_clean(struct run *run)
{
	bool *wanted = run_present(run);

	if (run->phases_done > 0 || run->committed)
		warn_unwatched(run);

	run_decide(run, RUN_FINISHED, NULL);
	if (run->committed) {
		enum phase_state state = phase_verdict(run);

		run->committed = false;
		run_save_phase(run, state);
	}
	for (size_t i = 0; i < run->member_count; i++) {
		const struct node_loss *loss = run->members[i].record.info.loss;

		/* One that came back removes its files itself. */
		if (!wanted[i] && run->members[i].prepared && (loss == NULL || !loss->returned))
			run_warn(run, "node %s was lost: %s/.lockstep-%s may be left on the volume",
			    run->members[i].record.info.name, run->job.path, run->id);
		run_send_finish(run, i);
	}
	tally_reset(&run->answers, wanted);
	free(wanted);
	run_set_deadline(run, CLEAN_WAIT_NS);
	run_save(run);
	watch_tell(run, NULL);
	run_recount(run);
}

void
run_on_finished(struct run *run, size_t i, const struct msg_finished *m)
{
	if (run->stage != STAGE_CLEANING || !tally_give(&run->answers, i)) {
		run->stale++;
		return;
	}
	for (size_t k = 0; k < m->left_count; k++)
		run_warn(run, "node %s could not remove %s", run->members[i].record.info.name, m->left[k]);
	run_recount(run);
}

void
run_recount(struct run *run)
{
	switch (run->stage) {
	case STAGE_LAYING:
		if (tally_complete(&run->answers))
			run_raise(run, EV_ALL_LAID);
		break;
	case STAGE_ARMING:
		run_begin_bursts(run); /* a lost node has left its place */
		if (barrier_ready(&run->barrier))
			run_raise(run, EV_ALL_ARMED);
		break;
	case STAGE_RUNNING:
		if (tally_complete(&run->received))
			run_raise(run, EV_ALL_RECEIVED);
		break;
	case STAGE_COLLECTING:
		run_check_results(run);
		break;
	case STAGE_VOIDING:
		if (tally_complete(&run->answers))
			run_raise(run, EV_ALL_VOIDED);
		break;
	case STAGE_STOPPING:
		if (tally_complete(&run->answers) && tally_complete(&run->stored))
			run_raise(run, EV_ALL_STOPPED);
		break;
	case STAGE_CLEANING:
		if (tally_complete(&run->answers))
			run_raise(run, EV_ALL_CLEAN);
		break;
	case STAGE_RESUMING:
		run_resume_check(run);
		break;
	case STAGE_QUEUED:
	case STAGE_WAITING:
	case STAGE_ASSIGNING:
	case STAGE_VERIFYING:
	case STAGE_SETTING:
	case STAGE_ENDED:
	case STAGE_COUNT:
		break;
	}
}

void
run_on_deadline_end(struct run *run)
{
	int64_t now = ls_mono_now().ns;

	if (run->stage == STAGE_STOPPING) {
		int64_t quiet = now - run->progress_at.ns;

		if (quiet < STOP_QUIET_NS && now - run->stage_since.ns < STOP_MAX_NS) {
			run_set_deadline(run, LS_MAX(STOP_QUIET_NS - quiet, NS_PER_MS));
			return;
		}
		warn_not_stopped(run);
	} else {
		for (size_t i = 0; i < run->member_count; i++)
			if (tally_wanted(&run->answers, i))
				run_warn(run,
				    "node %s did not answer finish: %s/.lockstep-%s may be left on the volume",
				    run->members[i].record.info.name, run->job.path, run->id);
	}
	run_raise(run, EV_DEADLINE);
}

/* --- over ------------------------------------------------------------------------------------------------------------------------ */

static void
start_next(void *arg)
{
	run_queue_next(arg);
}

void
run_act_end(struct run *run)
{
	struct daemon *d = run->daemon;

	run_decide(run, RUN_FAILED, "ended without a reason");
	loop_timer_cancel(run->deadline);
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];

		loop_timer_cancel(m->loss);
		if (m->node != NULL && m->node->run == run)
			m->node->run = NULL;
	}
	run->duration_ns =
	    run->started.ns > 0 ? ls_mono_now().ns - run->started.ns : LS_MAX(ls_wall_now().ns - run->started_ns, 0);
	ls_log(LS_LOG_INFO, "run over", "run=%s state=%s phases=%llu stale=%llu", run->id,
	    run_state_names[run->verdict], (unsigned long long)run->phases_done, (unsigned long long)run->stale);
	run_save(run);
	history_run_over(d);
	if (d->active == run) {
		d->active = NULL;
		loop_defer(d->loop, start_next, d);
	}
}

void
run_on_store_failed(struct run *run, const struct ls_err *err)
{
	ls_log(LS_LOG_ERROR, "store failed", "run=%s why=\"%s\"", run->id, err->text);
	if (run->stage == STAGE_ENDED)
		return;
	run_decide(run, RUN_FAILED, "%s", err->text);
	run_raise(run, EV_STORE_FAILED);
}
