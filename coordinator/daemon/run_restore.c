/* After a restart of lockstepd: runs from the store, and what each can still become. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "coordinator/daemon/run_int.h"

#define RESUME_EXTRA_NS (10 * NS_PER_S)

static enum run_event
resume_event(const struct store_run *row)
{
	switch (row->state) {
	case RUN_PREPARING:
		return EV_BACK_PREPARE;
	case RUN_ARMING:
	case RUN_SETTING:
		return EV_BACK_ARM;
	case RUN_RUNNING:
	case RUN_COLLECTING:
		return row->phase_committed ? EV_BACK_RUN : EV_BACK_ARM;
	case RUN_QUEUED:
	case RUN_FINISHING:
	case RUN_FINISHED:
	case RUN_FAILED:
	case RUN_ABORTED:
	case RUN_REFUSED:
	case RUN_STATE_COUNT:
		break;
	}
	return EV_BACK_CLEAN;
}

static enum ls_rc
read_texts(struct run *run, const struct store_run *row, struct run_members *members, struct run_notes *out_notes,
    struct ls_err *err)
{
	struct run_notes notes;
	struct job job;
	enum ls_rc rc = record_decode(&job_desc, row->job, "stored job", &job, err);

	if (rc != LS_OK)
		return rc;
	field_struct_fini(&job_desc, &run->job);
	run->job = job;
	rc = job_validate(&run->job, err);
	if (rc == LS_OK)
		rc = record_decode(&run_notes_desc, row->warnings, "stored warnings", &notes, err);
	if (rc != LS_OK)
		return rc;
	run->warnings = notes.warnings;
	run->warning_count = notes.warnings_count;
	notes.warnings = NULL;
	notes.warnings_count = 0;
	*out_notes = notes;
	return record_decode(&run_members_desc, row->nodes, "stored nodes", members, err);
}

/* Members move from the decoded row into the run; their nodes are known by name, connected or not. */
static enum ls_rc
adopt_members(struct run *run, struct run_members *members, struct ls_err *err)
{
	if (members->members_count == 0)
		return LS_OK;
	run_set_members(run, members->members_count);
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];
		enum ls_rc rc;

		field_struct_fini(&run_member_desc, &m->record);
		m->record = members->members[i];
		field_struct_init(&run_member_desc, &members->members[i]);
		m->prepared = m->record.info.facts.volume != NULL;
		rc = registry_get(&run->daemon->registry, m->record.info.name, &m->node, err);
		if (rc != LS_OK)
			return rc;
		m->node->run = run;
		m->node->member = i;
	}
	return LS_OK;
}

/*
 * The clocks by which the nodes were told the instant of the phase that is under way. Their workers' times are relative to that instant,
 * so that the start skew stays known with the uncertainty of then.
 */
static void
recover_clocks(struct run *run, const struct run_notes *notes)
{
	for (size_t i = 0; i < run->member_count && notes->clocks_count == run->member_count; i++) {
		const struct phase_clock *c = &notes->clocks[i];
		struct member *m = &run->members[i];

		if (c->offset_ns == LS_UNKNOWN_I64 || c->uncertainty_ns == LS_UNKNOWN_I64)
			continue;
		start_clock_told(&m->clock,
		    &(struct clock_estimate){
			.offset_ns = c->offset_ns, .uncertainty_ns = c->uncertainty_ns, .drift_ppb = LS_UNKNOWN_I64 });
	}
}

static void
recover_place(struct run *run, const struct store_run *row)
{
	bool *wanted = run_present(run);

	run->phase = row->phase;
	run->repetition = row->repetition;
	run->attempt = row->attempt;
	run->phases_done = row->phases_done;
	run->committed = row->phase_committed;
	run->verdict = row->verdict;
	run->reason = ls_strdup(row->reason);
	run->started_ns = row->started_ns;
	run->job_saved = true;
	run->warnings_changed = false;
	run->nodes_changed = false;
	run_set_workers(run);
	tally_reset(&run->answers, wanted);
	tally_reset(&run->received, wanted);
	tally_reset(&run->stored, wanted);
	free(wanted);
}

/* Which results of the phase under way are in the store already? */
static enum ls_rc
recover_results(struct run *run, struct ls_err *err)
{
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];
		struct node_result result;
		enum ls_rc rc = record_read_result(run->daemon->store, run->id, run->phase, run->repetition,
		    run->attempt, m->record.info.name, &result, err);

		if (rc == LS_E_NOTFOUND)
			continue;
		if (rc == LS_E_STORE)
			return rc;
		m->failed = rc != LS_OK || result.state == NODE_FAILED;
		if (rc == LS_OK) {
			if (m->failed && result.error_list_count > 0)
				m->failed_text =
				    ls_asprintf("node %s: %s", m->record.info.name, result.error_list[0].text);
			field_struct_fini(&node_result_desc, &result);
		}
		tally_give(&run->received, i);
		tally_give(&run->stored, i);
	}
	return LS_OK;
}

/* A run that cannot be read any more still gets an end. */
static void
give_up(struct run *run, const struct ls_err *why)
{
	run_drop_members(run);
	run_decide(run, RUN_FAILED, "interrupted: %s", why->text);
	run->job_saved = true;
	run->nodes_changed = run->warnings_changed = false;
	run_raise(run, EV_REFUSED);
}

static void
resume(struct run *run, const struct store_run *row)
{
	run->resume_event = resume_event(row);
	run->interrupted = run->resume_event != EV_BACK_CLEAN;
	run->stage = STAGE_RESUMING;
	run->stage_since = run->progress_at = ls_mono_now();
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];

		if (m->record.lost)
			continue;
		snprintf(m->away_why, sizeof(m->away_why), "it did not come back after the restart of the coordinator");
		loop_timer_set(m->loss, run->job.grace + RESUME_EXTRA_NS);
	}
	run_warn(run, "the coordinator was restarted while the run was %s", run_state_names[row->state]);
	ls_log(LS_LOG_INFO, "run taken up", "run=%s state=%s phase=%llu attempt=%llu", run->id,
	    run_state_names[row->state], (unsigned long long)run->phase, (unsigned long long)run->attempt);
}

static void
restore_one(struct daemon *d, const struct store_run *row)
{
	struct run *run = run_new(d, row->id);
	struct run_members members = { 0 };
	struct run_notes notes = { 0 };
	struct ls_err err = { 0 };
	enum ls_rc rc;

	run->kept = true;
	run_add(d, run);
	rc = read_texts(run, row, &members, &notes, &err);
	if (rc == LS_OK && (row->phase >= run->job.phases_count || row->repetition >= run->job.repeat))
		rc = ls_err_set(&err, LS_E_STORE, "its row names a phase that the job does not have");
	if (rc == LS_OK && row->state != RUN_QUEUED)
		rc = adopt_members(run, &members, &err);
	if (rc == LS_OK)
		recover_place(run, row);
	if (rc == LS_OK && row->phase_committed) {
		recover_clocks(run, &notes);
		run->steady_told = notes.steady;
		notes.steady = NULL;
	}
	if (rc == LS_OK && row->state != RUN_QUEUED)
		rc = recover_results(run, &err);
	field_struct_fini(&run_members_desc, &members);
	field_struct_fini(&run_notes_desc, &notes);
	if (rc != LS_OK)
		give_up(run, &err);
	else if (row->state != RUN_QUEUED && run->member_count > 0)
		resume(run, row);
	else
		run->wait_ns = RESUME_EXTRA_NS; /* its agents have lost their connection as well */
}

enum ls_rc
run_restore_all(struct daemon *d, struct ls_err *err)
{
	const struct store_wanted wanted = { .only_live = true, .with_texts = true };
	struct store_run *rows = NULL;
	size_t count = 0;
	enum ls_rc rc = store_list_runs(d->store, &wanted, &rows, &count, err);

	if (rc != LS_OK)
		return rc;
	for (size_t i = 0; i < count; i++) {
		restore_one(d, &rows[i]);
		store_run_fini(&rows[i]);
	}
	free(rows);
	run_queue_next(d);
	return LS_OK;
}

void
run_resume_check(struct run *run)
{
	if (run->stage != STAGE_RESUMING || !tally_complete(&run->answers))
		return;
	if (run->resume_event == EV_BACK_ARM) {
		snprintf(run->void_reason, sizeof(run->void_reason), "the coordinator was restarted");
		run->redo = true;
	}
	run_raise(run, run->resume_event);
}
