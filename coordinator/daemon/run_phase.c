/* One phase: arm, clocks, go, commit or void, results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/daemon/insist.h"
#include "coordinator/daemon/progress.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/run_recovery.h"
#include "coordinator/daemon/watch.h"
#include "proto/model/tool.h"

#define ARM_WAIT_NS       (600 * NS_PER_S)
#define ARM_BYTES_PER_S   (10ULL << 20) /* laying files out is at least as fast as that */
#define VOID_WAIT_NS      (30 * NS_PER_S)
#define VOID_RESUMED_NS   (3 * NS_PER_S) /* after a restart: nodes that know nothing of the attempt do not answer */
#define COLLECT_WAIT_NS   (60 * NS_PER_S)
#define NO_RESULT_WAIT_NS (10 * NS_PER_S) /* a node whose runner is gone sends what there is */
#define STILL_NS          (600 * NS_PER_S)
#define LOOK_NS           NS_PER_S
#define TOOL_LEAD_NS      (100 * NS_PER_MS)
#define TOOL_LATE_NS      (500 * NS_PER_MS)

/* --- arm --------------------------------------------------------------------------------------------------------------------- */

/* What is the caller's: node_workers and fsynced. */
static struct msg_arm
make_arm(const struct run *run)
{
	struct msg_arm m = { 0 };

	m.epoch = run_epoch(run);
	m.spec = *run_phase(run); /* borrowed */
	m.redo = run->redo;
	m.lay_out = run->stage == STAGE_LAYING;
	m.node_workers_count = run->member_count;
	m.node_workers = ls_calloc(run->member_count, sizeof(*m.node_workers));
	for (size_t k = 0; k < run->member_count; k++)
		m.node_workers[k] = (int64_t)run->members[k].workers;
	m.fsynced = run_recovery_wanted(run);
	m.fsynced_count = m.fsynced != NULL ? run->member_count : 0;
	return m;
}

void
run_send_arm(struct run *run, size_t i)
{
	struct msg_arm m;

	if (!run->arm_stored)
		return;
	m = make_arm(run);
	run_send(run, i, MSG_ARM, &m);
	free(m.node_workers);
	free(m.fsynced);
}

void
run_on_arm_stored(struct run *run)
{
	struct msg_arm m = make_arm(run);

	run->arm_stored = true;
	run_send_all(run, MSG_ARM, &m);
	free(m.node_workers);
	free(m.fsynced);
}

void
run_set_workers(struct run *run)
{
	uint64_t workers = job_phase_workers(&run->job, run_phase(run));
	char **names = ls_calloc(run->member_count + 1, sizeof(*names));
	bool *in = ls_calloc(run->member_count + 1, sizeof(*in));

	for (size_t i = 0; i < run->member_count; i++)
		names[i] = run->members[i].record.info.name;
	phase_takes_part(run_phase(run), names, run->member_count, in);
	/* A lost node keeps its number, so that ranks stay; it has no workers any more. */
	for (size_t i = 0; i < run->member_count; i++)
		run->members[i].workers = in[i] && !run->members[i].record.lost ? workers : 0;
	free(in);
	free(names);
}

static void
reset_members(struct run *run)
{
	run_set_workers(run);
	run_steady_forget(run);
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];

		m->clock.known = false;
		m->live_known = false;
		m->last_done = 0;
		m->stall_told = false;
		m->failed = false;
		free(m->failed_text);
		m->failed_text = NULL;
	}
}

/* A node lost while the last phase was stored counts now. */
static bool
loss_forbids(struct run *run)
{
	for (size_t i = 0; i < run->member_count; i++) {
		if (!run->members[i].record.lost || run->job.on_node_loss == ON_LOSS_CONTINUE)
			continue;
		run_decide(run, RUN_FAILED, "node %s was lost: %s", run->members[i].record.info.name,
		    run->members[i].away_why);
		return true;
	}
	return false;
}

/* A lost node cannot lay out what another one is to work on. */
static bool
loss_forbids_shift(struct run *run)
{
	for (size_t i = 0; i < run->member_count; i++) {
		if (!run->members[i].record.lost)
			continue;
		run_decide(run, RUN_FAILED, "%s: shift: node %s, whose files node %s would work on, was lost",
		    phase_title(run_phase(run)), run->members[i].record.info.name,
		    run->members[phase_user(run_phase(run), i, run->member_count)].record.info.name);
		return true;
	}
	return false;
}

static int64_t
arm_wait_ns(const struct run *run)
{
	uint64_t bytes = 0, files = 0;

	int64_t rest = run_phase(run)->pause + run_recovery_wait_ns(run);

	if (run_phase(run)->deadline > 0)
		return run_phase(run)->deadline + rest;
	progress_footprint(&run->job, run->member_count, &bytes, &files);
	return ARM_WAIT_NS + rest + (int64_t)LS_MIN(bytes / ARM_BYTES_PER_S, 1000000ULL) * NS_PER_S;
}

/* Devices rest once between two phases, not again for each attempt. A lost node is waited for. */
static void
begin_rest(struct run *run)
{
	int64_t pause = LS_MAX(run->attempt == 0 ? run_phase(run)->pause : 0, run_recovery_wait_ns(run));

	run->rest_until.ns = ls_mono_now().ns + pause;
	if (pause > 0)
		loop_timer_set(run->rest, pause);
}

void
run_on_rested(struct run *run)
{
	run->rest_until.ns = 0;
	if (run->stage == STAGE_ARMING)
		run_begin_bursts(run);
}

/* Files that another node will work on are made by their owner, before anybody opens them. Others are made while arming. */
void
run_act_lay(struct run *run)
{
	bool shifted = phase_is_shifted(run_phase(run), run->member_count);
	bool *wanted;

	if (loss_forbids(run) || (shifted && loss_forbids_shift(run))) {
		run_raise(run, EV_LOST_STOP);
		return;
	}
	if (!shifted) {
		run_raise(run, EV_ALL_LAID);
		return;
	}
	reset_members(run);
	wanted = run_present(run);
	tally_reset(&run->answers, wanted);
	free(wanted);
	run_set_deadline(run, arm_wait_ns(run));
	run_save_then_arm(run);
	watch_tell(run, NULL);
}

void
run_act_arm(struct run *run)
{
	bool *wanted = run_present(run);

	reset_members(run);
	run_recovery_begin(run);
	barrier_begin(&run->barrier, wanted);
	tally_reset(&run->received, wanted);
	tally_reset(&run->stored, wanted);
	free(wanted);
	run->committed = false;
	run->void_reason[0] = '\0';
	run->void_by_time = false;
	begin_rest(run);
	run_set_deadline(run, arm_wait_ns(run));
	run_save_then_arm(run);
	watch_tell(run, NULL);
}

static void
check_armed(struct run *run)
{
	if (run->stage == STAGE_ARMING && barrier_ready(&run->barrier))
		run_raise(run, EV_ALL_ARMED);
}

void
run_begin_burst(struct run *run, size_t i)
{
	struct node *n = run->members[i].node;

	if (n->session == NULL)
		return;
	clock_sync_begin_burst(&n->clock, barrier_burst(&run->barrier));
	session_ping(n->session);
}

void
run_begin_bursts(struct run *run)
{
	if (ls_mono_now().ns < run->rest_until.ns)
		return;
	for (size_t i = barrier_next_burst(&run->barrier); i != BARRIER_NOBODY; i = barrier_next_burst(&run->barrier))
		run_begin_burst(run, i);
}

void
run_on_armed(struct run *run, size_t i, const struct msg_armed *m)
{
	enum run_stage stage = m->lay_out ? STAGE_LAYING : STAGE_ARMING;

	if (run->stage != stage || !run_epoch_is(run, &m->epoch) ||
	    !(m->lay_out ? tally_give(&run->answers, i) : barrier_armed(&run->barrier, i))) {
		run->stale++;
		return;
	}
	if (!m->lay_out)
		run_begin_bursts(run);
	else if (tally_complete(&run->answers))
		run_raise(run, EV_ALL_LAID);
}

void
run_on_measured(struct run *run, size_t i)
{
	struct clock_estimate e;

	/* The burst at connecting is none of the barrier's. */
	if (run->stage != STAGE_ARMING || !tally_given(&run->barrier.armed, i))
		return;
	if (clockfit_estimate(&run->members[i].node->clock.fit, ls_mono_now(), &e) != LS_OK) {
		run_begin_burst(run, i);
		return;
	}
	barrier_measured(&run->barrier, i, LS_MAX(e.rtt_ns, run->members[i].node->clock.burst_worst_ns));
	run_begin_bursts(run);
	check_armed(run);
}

void
run_on_failed(struct run *run, size_t i, const struct msg_failed *m)
{
	struct member *member = &run->members[i];
	char text[1024];

	run_error_text(member, &m->error, text, sizeof(text));
	switch (run->stage) {
	case STAGE_LAYING:
	case STAGE_ARMING:
	case STAGE_SETTING:
	case STAGE_VOIDING:
		if (m->epoch.phase != run->phase || m->epoch.repetition != run->repetition)
			break;
		run_decide(run, RUN_FAILED, "%s", text);
		run_raise(run, EV_NODE_FAILED);
		return;
	case STAGE_RUNNING:
	case STAGE_COLLECTING:
		if (!run_epoch_is(run, &m->epoch) || !tally_wanted(&run->stored, i))
			break;
		/* The agent makes a result from the counters that are left; give it a moment. */
		member->failed = true;
		free(member->failed_text);
		member->failed_text = ls_strdup(text);
		watch_tell(run, text);
		loop_timer_set(member->loss, NO_RESULT_WAIT_NS);
		return;
	case STAGE_QUEUED:
	case STAGE_WAITING:
	case STAGE_ASSIGNING:
	case STAGE_VERIFYING:
	case STAGE_STOPPING:
	case STAGE_CLEANING:
	case STAGE_RESUMING:
	case STAGE_ENDED:
	case STAGE_COUNT:
		break;
	}
	run->stale++;
}

/* --- go ------------------------------------------------------------------------------------------------------------------------ */

/*
 * A program that was let go in an attempt that is void cannot go back. Its phases take longer than its own start-up by far: a longer lead
 * costs nothing, and a node that is late by less than that start-up shows it in the start skew.
 */
static bool
is_external(const struct run *run)
{
	return tool_of((enum phase_kind)run_phase(run)->kind) != TOOL_COUNT;
}

static void
send_go(struct run *run, size_t i)
{
	struct member *m = &run->members[i];
	struct clock_estimate e;
	struct msg_go go;

	if (clockfit_estimate(&m->node->clock.fit, run->barrier.start, &e) != LS_OK)
		return; /* not set in time then */
	start_clock_told(&m->clock, &e);
	msg_body_init(MSG_GO, &go);
	msg_body_fini(MSG_GO, &go);
	go.epoch = run_epoch(run);
	go.late_limit_ns = is_external(run) ? TOOL_LATE_NS : barrier_late_limit_ns(run->attempt);
	go.start_ns = clockfit_to_remote(&e, run->barrier.start).ns;
	run_send(run, i, MSG_GO, &go);
}

void
run_act_go(struct run *run)
{
	struct barrier *b = &run->barrier;

	run->redo = false; /* armed: the files are what they are to be */
	b->start.ns = ls_mono_now().ns + barrier_lead_ns(b) + (is_external(run) ? TOOL_LEAD_NS : 0);
	for (size_t i = 0; i < run->member_count; i++)
		if (!run->members[i].record.lost)
			send_go(run, i);
	loop_timer_set_at(run->deadline, (struct ls_mono){ b->start.ns - barrier_margin_ns(b) });
}

void
run_on_set(struct run *run, size_t i, const struct epoch *e)
{
	if (run->stage != STAGE_SETTING || !run_epoch_is(run, e) || !barrier_set(&run->barrier, i)) {
		run->stale++;
		return;
	}
	switch (barrier_judge(&run->barrier, ls_mono_now())) {
	case BARRIER_WAIT:
		break;
	case BARRIER_COMMIT:
		run_raise(run, EV_ALL_SET);
		break;
	case BARRIER_LATE:
		run->void_by_time = true;
		snprintf(run->void_reason, sizeof(run->void_reason), "set came too late from node %s",
		    run->members[i].record.info.name);
		run_raise(run, EV_SET_LATE);
		break;
	}
}

void
run_act_commit(struct run *run)
{
	struct msg_commit m = { .epoch = run_epoch(run) };
	char line[256];

	run_send_all(run, MSG_COMMIT, &m);
	run->committed = run->barrier.committed = true;
	run->progress_at = run->barrier.start;
	run_steady_begin(run);
	run_set_deadline(run, LOOK_NS);

	run->warnings_changed =
	    true; /* the clocks go with them: a restarted coordinator must know what the start rests on */

	/* Not waited for: a crash before this is on the disk makes the attempt void, and its data are not used. */
	run_save(run);
	snprintf(line, sizeof(line), "%s: phase %llu of %llu begins", phase_title(run_phase(run)),
	    (unsigned long long)run->phases_done + 1, (unsigned long long)run_phases_total(run));
	run_tell_in_order(run, line);
}

void
run_act_await(struct run *run)
{
	run->committed = true;
	run_set_deadline(run, LOOK_NS);
	run_save(run);
	watch_tell(run, NULL);
	run_recount(run);
}

void
run_on_clock(struct run *run, size_t i)
{
	struct member *m = &run->members[i];
	struct clock_estimate e;

	if (!run->committed || run->barrier.start.ns == 0) /* 0: from before a restart */
		return;
	if (clockfit_estimate(&m->node->clock.fit, run->barrier.start, &e) == LS_OK)
		start_clock_learn(&m->clock, &e);
}

/* --- void --------------------------------------------------------------------------------------------------------------------------- */

void
run_on_missed(struct run *run, size_t i, const struct msg_missed *m)
{
	if (!run_epoch_is(run, &m->epoch)) {
		run->stale++;
		return;
	}
	if (run->void_reason[0] == '\0')
		snprintf(run->void_reason, sizeof(run->void_reason), "node %s missed the start: %s",
		    run->members[i].record.info.name,
		    m->reason != NULL && m->reason[0] != '\0' ? m->reason : "no reason given");
	run->void_by_time = true;
	run_raise(run, EV_MISSED);
}

void
run_send_void(struct run *run, size_t i)
{
	struct msg_void m = { .epoch = run_epoch(run), .reason = run->void_reason };

	run_send(run, i, MSG_VOID, &m);
}

void
run_act_void(struct run *run)
{
	bool *wanted = run_present(run);
	char line[512];

	if (run->void_reason[0] == '\0')
		snprintf(run->void_reason, sizeof(run->void_reason), "a node was lost before the start");
	tally_reset(&run->answers, wanted);
	free(wanted);
	run_send_all(run, MSG_VOID, &(struct msg_void){ .epoch = run_epoch(run), .reason = run->void_reason });
	run_save_attempt(run, run->void_reason);
	run->redo = run->redo || run->committed || run->interrupted;
	run->committed = false;
	if (run->void_by_time)
		barrier_was_late(&run->barrier);
	snprintf(line, sizeof(line), "%s: attempt %llu is void: %s", phase_title(run_phase(run)),
	    (unsigned long long)run->attempt, run->void_reason);
	ls_log(LS_LOG_WARN, "attempt void", "run=%s phase=%llu repetition=%llu attempt=%llu why=\"%s\"", run->id,
	    (unsigned long long)run->phase, (unsigned long long)run->repetition, (unsigned long long)run->attempt,
	    run->void_reason);
	watch_tell(run, line);
	if (run->attempt + 1 >= BARRIER_ATTEMPTS_MAX) {
		run_decide(run, RUN_FAILED, "%s: no common start in %d attempts; the last: %s",
		    phase_title(run_phase(run)), BARRIER_ATTEMPTS_MAX, run->void_reason);
		run_raise(run, EV_ATTEMPTS_OUT);
		return;
	}
	run_set_deadline(run, run->interrupted ? VOID_RESUMED_NS : VOID_WAIT_NS);
	if (tally_complete(&run->answers))
		run_raise(run, EV_ALL_VOIDED);
}

void
run_on_voided(struct run *run, size_t i, const struct epoch *e)
{
	if (run->stage != STAGE_VOIDING || !run_epoch_is(run, e) || !tally_give(&run->answers, i)) {
		run->stale++;
		return;
	}
	if (tally_complete(&run->answers))
		run_raise(run, EV_ALL_VOIDED);
}

void
run_act_retry(struct run *run)
{
	run->attempt++;
	run->interrupted = false;
	run_act_lay(run);
}

/* --- results ------------------------------------------------------------------------------------------------------------------------ */

void
run_on_received(struct run *run, size_t i, const struct epoch *e)
{
	if (!run_epoch_is(run, e) || !tally_give(&run->received, i))
		return;
	run->progress_at = ls_mono_now();
	if (run->stage == STAGE_RUNNING && tally_complete(&run->received))
		run_raise(run, EV_ALL_RECEIVED);
}

void
run_on_stored(struct run *run, size_t i, const struct epoch *e, enum node_state state, const char *error)
{
	struct member *m = &run->members[i];

	if (!run_epoch_is(run, e) || !tally_give(&run->stored, i))
		return;
	if (m->node->session != NULL)
		loop_timer_cancel(m->loss);
	run->progress_at = ls_mono_now();
	if (state == NODE_FAILED) {
		m->failed = true;
		if (error != NULL || m->failed_text == NULL) {
			free(m->failed_text);
			m->failed_text = ls_asprintf(
			    "node %s: %s", m->record.info.name, error != NULL ? error : "the phase failed there");
		}
		watch_tell(run, m->failed_text);
	}
	tally_give(&run->received, i);
	run_recount(run);
}

void
run_check_results(struct run *run)
{
	uint64_t next = run->repetition * run->job.phases_count + run->phase + 1;

	if (run->stage != STAGE_COLLECTING || !tally_complete(&run->stored))
		return;
	for (size_t i = 0; i < run->member_count; i++) {
		if (!run->members[i].failed)
			continue;
		run_decide(run, RUN_FAILED, "%s",
		    run->members[i].failed_text != NULL ? run->members[i].failed_text : "a node failed");
		run_raise(run, EV_STORED_FAILED);
		return;
	}
	run_raise(run, next < run_phases_total(run) ? EV_STORED_MORE : EV_STORED_LAST);
}

void
run_act_collect(struct run *run)
{
	run_set_deadline(run, COLLECT_WAIT_NS);
	run_check_results(run);
}

/* Results, or the next phase, that wait for a full disk are no reason to fail: the nodes are idle meanwhile, and an operator can abort. */
static bool
store_waits(struct run *run)
{
	bool arming = (run->stage == STAGE_LAYING || run->stage == STAGE_ARMING) && !run->arm_stored;
	char why[1024];

	if ((run->stage != STAGE_COLLECTING && !arming) || !insist_waits(run->daemon->insist, why, sizeof(why)))
		return false;
	run_set_deadline(run, arming ? arm_wait_ns(run) : COLLECT_WAIT_NS);
	return true;
}

void
run_act_next(struct run *run)
{
	run_save_phase(run, PHASE_STATE_DONE);
	run->attempt = 0;
	barrier_has_begun(&run->barrier);
	run->committed = false;
	run->redo = false;
	run->interrupted = false;
	if (++run->phase == run->job.phases_count) {
		run->phase = 0;
		run->repetition++;
	}
	run_act_lay(run);
}

/* --- what counters say ------------------------------------------------------------------------------------------------------------ */

/* Once when workers begin to stand still, once when all move again: live views show it all the time, lines do not. */
static void
tell_stalls(struct member *m)
{
	const struct stall *s = m->live.stalls;
	char line[512], since[32];

	if (m->stall_told == (m->live.stalls_count > 0))
		return;
	m->stall_told = !m->stall_told;
	if (m->stall_told)
		snprintf(line, sizeof(line),
		    "node %s: no progress of %zu of %llu workers; worker %llu has been in %s for %s (file %s, state "
		    "%s)",
		    m->record.info.name, m->live.stalls_count, (unsigned long long)m->live.workers,
		    (unsigned long long)s->worker, s->call != NULL ? s->call : "?",
		    units_format_duration(s->since_ns, since, sizeof(since)), s->file != NULL ? s->file : "unknown",
		    s->state != NULL ? s->state : "unknown");
	else
		snprintf(line, sizeof(line), "node %s: all workers move again", m->record.info.name);
	ls_log(
	    LS_LOG_WARN, "stall", "run=%s node=%s workers=%zu", m->run->id, m->record.info.name, m->live.stalls_count);
	watch_tell(m->run, line);
}

void
run_on_sample(struct run *run, size_t i, struct msg_sample *m)
{
	struct member *member = &run->members[i];
	uint64_t done = m->live.bytes + m->live.ops;

	if (!run_epoch_is(run, &m->epoch)) {
		run->stale++;
		return;
	}
	if (done != member->last_done) {
		member->last_done = done;
		run->progress_at = ls_mono_now();
	}
	run_steady_sample(run, i, m);
	field_struct_fini(&live_node_desc, &member->live);
	member->live = m->live;
	field_struct_init(&live_node_desc, &m->live);
	free(member->live.node);
	member->live.node = ls_strdup(member->record.info.name);
	member->live_known = true;
	tell_stalls(member);
	run_abort_check(run, i, &member->live);
}

/* Names node, worker, call and file of one of those waited for that stands still, or else who they are. */
static void
decide_too_long(struct run *run, const char *what, const struct tally *waited)
{
	char names[512];

	for (size_t i = 0; i < run->member_count; i++) {
		const struct member *m = &run->members[i];

		if (!tally_wanted(waited, i) || !m->live_known || m->live.stalls_count == 0)
			continue;
		const struct stall *s = &m->live.stalls[0];
		char since[32];

		run_decide(run, RUN_FAILED, "%s: %s; node %s: worker %llu has been in %s for %s (file %s, state %s)",
		    phase_title(run_phase(run)), what, m->record.info.name, (unsigned long long)s->worker,
		    s->call != NULL ? s->call : "?", units_format_duration(s->since_ns, since, sizeof(since)),
		    s->file != NULL ? s->file : "unknown", s->state != NULL ? s->state : "unknown");
		return;
	}
	run_decide(run, RUN_FAILED, "%s: %s: %s", phase_title(run_phase(run)), what,
	    run_missing(run, waited, names, sizeof(names)));
}

static void
look_at_running(struct run *run)
{
	const struct phase *p = run_phase(run);
	int64_t limit = p->deadline;
	int64_t now = ls_mono_now().ns;
	int64_t since = run->barrier.start.ns > 0 ? run->barrier.start.ns : run->stage_since.ns;

	if (limit == 0 && p->time > 0)
		limit = 10 * (p->time + p->warmup) + STILL_NS;
	if (limit > 0 && now - since > limit)
		decide_too_long(run, "the phase's deadline has passed without a result", &run->received);
	else if (now - run->progress_at.ns > STILL_NS)
		decide_too_long(run, "no counter has moved for 10 minutes", &run->received);
	else {
		run_steady_look(run);
		run_set_deadline(run, LOOK_NS);
		return;
	}
	run_raise(run, EV_DEADLINE);
}

void
run_on_deadline_phase(struct run *run)
{
	const char *title = phase_title(run_phase(run));
	char names[256];

	if (run->stage == STAGE_RUNNING) {
		look_at_running(run);
		return;
	}
	if (store_waits(run))
		return;
	if (run->stage == STAGE_VOIDING && run->interrupted) {
		run_raise(run, EV_ALL_VOIDED);
		return;
	}
	if (run->stage == STAGE_SETTING) {
		run->void_by_time = true;
		snprintf(run->void_reason, sizeof(run->void_reason), "not set in time: %s",
		    run_missing(run, &run->barrier.set, names, sizeof(names)));
	} else if (run->stage == STAGE_LAYING) {
		decide_too_long(run, "files not laid out in time", &run->answers);
	} else if (run->stage == STAGE_ARMING) {
		const struct barrier *b = &run->barrier;
		const struct tally *late = tally_complete(&b->armed) ? &b->measured : &b->armed;

		decide_too_long(run, "not armed in time", late);
	} else if (run->stage == STAGE_VOIDING) {
		decide_too_long(run, "a void attempt was not stopped in time", &run->answers);
	} else {
		run_decide(run, RUN_FAILED, "%s: results could not be stored in time", title);
	}
	run_raise(run, EV_DEADLINE);
}
