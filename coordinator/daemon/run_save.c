/* What a run puts into the store, and when that is done. */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/daemon/assemble.h"
#include "coordinator/daemon/insist.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/watch.h"
#include "proto/codec/json.h"

struct save_job {
	struct daemon *daemon;
	struct run *run;
	struct store_run row;
	struct store_attempt attempt; /* run NULL: none */
	struct store_phase phase;     /* run NULL: none */
	bool arms;                    /* arm waits for it ... */
	enum run_stage stage;         /* ... in this stage */
	enum ls_rc rc;
	struct ls_err err;
};

struct line_job {
	struct daemon *daemon;
	struct run *run;
	char id[RUN_ID_BYTES];
	uint64_t phase, repetition;
	char *line;
	enum ls_rc rc;
	struct ls_err err;
};

void
run_tell_in_order(struct run *run, const char *text)
{
	if (run->lines_pending == 0) {
		watch_tell(run, text);
		return;
	}
	free(run->held_line);
	run->held_line = ls_strdup(text);
}

static void
job_over(struct run *run)
{
	run->pending--;
	if (run->stage == STAGE_ENDED && run->pending == 0 && !run->handling)
		run_release(run);
}

/* --- the line for people when a phase is over --------------------------------------------------------------------------- */

static void
line_work(void *arg)
{
	struct line_job *job = arg;

	job->rc =
	    assemble_phase_line(job->daemon->store_reader, job->id, job->phase, job->repetition, &job->line, &job->err);
}

static void
line_done(void *arg)
{
	struct line_job *job = arg;
	struct run *run = job->run;

	run->lines_pending--;
	if (!job->daemon->stopping) {
		if (job->line != NULL)
			watch_tell(run, job->line);
		else
			ls_log(LS_LOG_WARN, "no line for a phase", "run=%s why=\"%s\"", run->id, job->err.text);
		if (run->held_line != NULL && run->lines_pending == 0) {
			watch_tell(run, run->held_line);
			free(run->held_line);
			run->held_line = NULL;
		}
	}
	job_over(run);
	free(job->line);
	free(job);
}

static void
make_line(struct run *run, uint64_t phase, uint64_t repetition)
{
	struct line_job *job;

	if (run->watcher_count == 0)
		return;
	job = ls_calloc(1, sizeof(*job));
	job->daemon = run->daemon;
	job->run = run;
	memcpy(job->id, run->id, sizeof(job->id));
	job->phase = phase;
	job->repetition = repetition;
	run->pending++;
	run->lines_pending++;
	daemon_read(run->daemon, line_work, line_done, job);
}

/* --- rows ------------------------------------------------------------------------------------------------------------------ */

static enum ls_rc
save_once(struct store *store, void *arg, struct ls_err *err)
{
	const struct save_job *job = arg;

	return store_save(store, &job->row, job->attempt.run != NULL ? &job->attempt : NULL,
	    job->phase.run != NULL ? &job->phase : NULL, err);
}

static void
save_work(void *arg)
{
	struct save_job *job = arg;

	job->rc = insist_do(job->daemon->insist, job->daemon->store, save_once, job, &job->err);
}

/* Has the run come no further since that was submitted? */
static bool
is_present(const struct save_job *job)
{
	const struct run *run = job->run;

	return run->stage == job->stage && run->phase == job->row.phase && run->repetition == job->row.repetition &&
	    run->attempt == job->row.attempt;
}

static void
save_done(void *arg)
{
	struct save_job *job = arg;
	struct run *run = job->run;

	if (!job->daemon->stopping) {
		if (!run->kept) /* the first one */
			run_on_kept(run, job->rc == LS_OK ? NULL : &job->err);
		if (job->rc != LS_OK)
			run_on_store_failed(run, &job->err);
		else if (job->phase.run != NULL)
			make_line(run, job->phase.phase, job->phase.repetition);
		if (job->rc == LS_OK && job->arms && is_present(job))
			run_on_arm_stored(run);
	}
	job_over(run);
	store_run_fini(&job->row);
	store_attempt_fini(&job->attempt);
	store_phase_fini(&job->phase);
	free(job);
}

static char *
encode_nodes(const struct run *run)
{
	struct run_members all = { .members_count = run->member_count };
	char *text;

	all.members = ls_calloc(run->member_count + 1, sizeof(*all.members));
	for (size_t i = 0; i < run->member_count; i++)
		all.members[i] = run->members[i].record; /* borrowed */
	text = json_encode_struct(&run_members_desc, &all, false, NULL);
	free(all.members);
	return text;
}

static char *
encode_warnings(const struct run *run)
{
	struct run_notes notes = { .warnings = run->warnings, .warnings_count = run->warning_count };
	char *text;

	if (run->committed) {
		notes.steady = run->steady_told; /* borrowed */
		notes.clocks_count = run->member_count;
		notes.clocks = ls_calloc(run->member_count + 1, sizeof(*notes.clocks));
	}
	for (size_t i = 0; i < notes.clocks_count; i++) {
		const struct member *m = &run->members[i];

		notes.clocks[i] = (struct phase_clock){ .node = m->record.info.name, /* borrowed */
			.workers = m->workers,
			.offset_ns = m->clock.known ? m->clock.used.offset_ns : LS_UNKNOWN_I64,
			.uncertainty_ns = m->clock.known ? m->clock.used.uncertainty_ns : LS_UNKNOWN_I64 };
	}
	text = json_encode_struct(&run_notes_desc, &notes, false, NULL);
	free(notes.clocks);
	return text;
}

static struct store_run
make_row(struct run *run)
{
	struct store_run row = {
		.id = ls_strdup(run->id),
		.name = ls_strdup(run->job.name != NULL ? run->job.name : ""),
		.state = run_state(run),
		.verdict = run->verdict,
		.reason = ls_strdup(run->reason),
		.started_ns = run->started_ns,
		.duration_ns = run->duration_ns,
		.boot_id = ls_strdup(run->daemon->boot_id),
		.phase = run->phase,
		.repetition = run->repetition,
		.attempt = run->attempt,
		.phase_committed = run->committed,
		.phases_total = run_phases_total(run),
		.node_count = run->member_count,
	};

	if (!run->job_saved)
		row.job = json_encode_struct(&job_desc, &run->job, false, NULL);
	if (run->nodes_changed)
		row.nodes = encode_nodes(run);
	if (run->warnings_changed)
		row.warnings = encode_warnings(run);
	run->job_saved = true;
	run->nodes_changed = run->warnings_changed = false;
	return row;
}

static struct save_job *
new_save(struct run *run)
{
	struct save_job *job = ls_calloc(1, sizeof(*job));

	job->daemon = run->daemon;
	job->run = run;
	return job;
}

static void
submit_save(struct save_job *job)
{
	job->phase = job->run->over;
	job->run->over = (struct store_phase){ 0 };
	job->row = make_row(job->run);
	job->run->pending++;
	daemon_write(job->daemon, save_work, save_done, job);
}

void
run_save(struct run *run)
{
	if (run->check_only)
		return;
	submit_save(new_save(run));
}

void
run_save_then_arm(struct run *run)
{
	struct save_job *job = new_save(run);

	run->arm_stored = false;
	job->arms = true;
	job->stage = run->stage;
	submit_save(job);
}

void
run_save_attempt(struct run *run, const char *reason)
{
	struct save_job *job;

	if (run->check_only)
		return;
	job = new_save(run);
	job->attempt = (struct store_attempt){
		.run = ls_strdup(run->id),
		.phase = run->phase,
		.repetition = run->repetition,
		.attempt = run->attempt,
		.reason = ls_strdup(reason),
	};
	submit_save(job);
}

static int64_t
skew_uncertainty(const struct run *run)
{
	struct skew_doubt doubt = { 0 };

	for (size_t i = 0; i < run->member_count; i++)
		if (run->members[i].workers > 0)
			skew_doubt_add(&doubt, &run->members[i].clock);
	return skew_doubt_ns(&doubt);
}

static char *
encode_note(struct run *run, enum phase_state state)
{
	struct phase_note note = { .clocks_count = run->member_count, .steady = run_steady_take(run, state) };
	char doubt[32];
	char *text;

	if (note.steady != NULL && !note.steady->reached)
		warnings_add(
		    &note.warnings, &note.warnings_count, "the phase did not become steady: %s", note.steady->why_not);
	note.clocks = ls_calloc(run->member_count + 1, sizeof(*note.clocks));
	for (size_t i = 0; i < run->member_count; i++) {
		const struct member *m = &run->members[i];

		field_struct_init(&phase_clock_desc, &note.clocks[i]);
		free(note.clocks[i].node);
		note.clocks[i].node = ls_strdup(m->record.info.name);
		note.clocks[i].workers = m->workers;
		note.clocks[i].lost = m->record.lost && !tally_given(&run->stored, i);
		if (note.clocks[i].lost)
			warnings_add(&note.warnings, &note.warnings_count, "node %s was lost: its result is missing",
			    m->record.info.name);
		if (!m->clock.known)
			continue;
		if (m->clock.stepped)
			warnings_add(&note.warnings, &note.warnings_count,
			    "node %s: its clock was stepped around the start, or the machine was suspended: when it "
			    "began is "
			    "known to +/- %s only",
			    m->record.info.name,
			    units_format_duration(m->clock.better.uncertainty_ns, doubt, sizeof(doubt)));
		note.clocks[i].offset_ns = m->clock.better.offset_ns;
		note.clocks[i].correction_ns = start_clock_correction_ns(&m->clock);
		note.clocks[i].uncertainty_ns = m->clock.better.uncertainty_ns;
	}
	text = json_encode_struct(&phase_note_desc, &note, false, NULL);
	field_struct_fini(&phase_note_desc, &note);
	return text;
}

void
run_save_phase(struct run *run, enum phase_state state)
{
	store_phase_fini(&run->over);
	run->over = (struct store_phase){
		.run = ls_strdup(run->id),
		.phase = run->phase,
		.repetition = run->repetition,
		.attempt = run->attempt,
		.state = state,
		.skew_uncertainty_ns = skew_uncertainty(run),
		.spec = json_encode_struct(&phase_desc, run_phase(run), false, NULL),
		.note = encode_note(run, state),
	};
	run->phases_done++;
	ls_log(LS_LOG_INFO, "phase over", "run=%s phase=%llu repetition=%llu attempt=%llu state=%s", run->id,
	    (unsigned long long)run->phase, (unsigned long long)run->repetition, (unsigned long long)run->attempt,
	    phase_state_names[state]);
}
