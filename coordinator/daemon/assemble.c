#include "coordinator/daemon/assemble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/base/version.h"
#include "coordinator/daemon/store/labels.h"
#include "coordinator/daemon/store/records.h"
#include "coordinator/import/tool_figures.h"
#include "coordinator/report/by_op.h"
#include "proto/codec/json.h"
#include "proto/model/aggregate.h"
#include "proto/model/cluster.h"

/* What is read once for all phases. */
struct source {
	struct store *store;
	const char *run;
	struct job job;
	struct run_members members;
	struct store_phase *phases;
	size_t phase_count;
	struct store_attempt *attempts;
	size_t attempt_count;
};

static void
source_fini(struct source *s)
{
	field_struct_fini(&job_desc, &s->job);
	field_struct_fini(&run_members_desc, &s->members);
	for (size_t i = 0; i < s->phase_count; i++)
		store_phase_fini(&s->phases[i]);
	free(s->phases);
	for (size_t i = 0; i < s->attempt_count; i++)
		store_attempt_fini(&s->attempts[i]);
	free(s->attempts);
}

static enum ls_rc
source_read(struct source *s, const struct store_run *row, struct ls_err *err)
{
	enum ls_rc rc = record_decode(&job_desc, row->job, "stored job", &s->job, err);

	if (rc == LS_OK)
		rc = record_decode(&run_members_desc, row->nodes, "stored nodes", &s->members, err);
	if (rc == LS_OK)
		rc = store_list_phases(s->store, s->run, &s->phases, &s->phase_count, err);
	if (rc == LS_OK)
		rc = store_list_attempts(s->store, s->run, &s->attempts, &s->attempt_count, err);
	return rc;
}

static void
set_str(char **slot, const char *text)
{
	free(*slot);
	*slot = ls_strdup(text);
}

static void
shift(int64_t *t, int64_t by)
{
	if (*t != LS_UNKNOWN_I64)
		*t += by;
}

/* Agents count from the instant on their own clock; a better offset known later moves that instant. */
static void
correct_times(struct node_result *n, int64_t by)
{
	shift(&n->start_ns, by);
	shift(&n->end_ns, by);
	for (size_t i = 0; i < n->workers_count; i++) {
		shift(&n->workers[i].first_op_ns, by);
		shift(&n->workers[i].start_ns, by);
		shift(&n->workers[i].end_ns, by);
	}
}

/* A result that came and cannot be read: without numbers, and the report says why. */
static void
unreadable(struct node_result *n, const struct ls_err *why)
{
	field_struct_init(&node_result_desc, n);
	n->state = NODE_FAILED;
	n->error_list = ls_calloc(1, sizeof(*n->error_list));
	n->error_list_count = 1;
	field_struct_init(&io_error_desc, &n->error_list[0]);
	free(n->error_list[0].text);
	n->error_list[0].text = ls_asprintf("the result cannot be read: %s", why->text);
}

/* Fills *n; a result that is not there makes a node without numbers. Errors: LS_E_STORE. */
static enum ls_rc
read_node(const struct source *s, const struct store_phase *p, const struct phase_clock *c, struct node_result *n,
    struct ls_err *err)
{
	struct ls_err why = { 0 };
	enum ls_rc rc = record_read_result(s->store, s->run, p->phase, p->repetition, p->attempt, c->node, n, &why);

	if (rc == LS_E_NOTFOUND) {
		field_struct_init(&node_result_desc, n);
		set_str(&n->node, c->node);
		n->state = c->workers == 0 && !c->lost ? NODE_IDLE : NODE_LOST;
		return LS_OK;
	}
	if (rc == LS_E_STORE)
		return ls_err_set(err, rc, "node %s: %s", c->node, why.text);
	if (rc != LS_OK)
		unreadable(n, &why);
	set_str(&n->node, c->node);
	correct_times(n, c->correction_ns);
	node_result_derive(n);
	return LS_OK;
}

static enum ls_rc
read_nodes(const struct source *s, const struct store_phase *p, const struct phase_note *note, struct phase_result *out,
    struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	if (note->clocks_count == 0)
		return LS_OK;
	out->nodes = ls_calloc(note->clocks_count, sizeof(*out->nodes));
	for (size_t i = 0; i < note->clocks_count; i++) {
		const struct phase_clock *c = &note->clocks[i];

		/* Those that the phase did not ask for: with each node alone once they would be nodes times nodes. */
		if (out->spec.nodes_count > 0 && c->workers == 0 && !c->lost)
			continue;
		rc = read_node(s, p, c, &out->nodes[out->nodes_count], err);
		if (rc != LS_OK)
			return rc;
		out->nodes_count++;
	}
	return rc;
}

static void
add_attempts(const struct source *s, const struct store_phase *p, struct phase_result *out)
{
	for (size_t i = 0; i < s->attempt_count; i++) {
		const struct store_attempt *a = &s->attempts[i];

		if (a->phase != p->phase || a->repetition != p->repetition)
			continue;
		out->attempts = ls_grow(out->attempts, out->attempts_count, sizeof(*out->attempts));
		out->attempts[out->attempts_count++] =
		    (struct attempt){ .index = a->attempt, .reason = ls_strdup(a->reason) };
	}
}

static void
move_warnings(struct phase_note *note, struct phase_result *out)
{
	for (size_t i = 0; i < note->warnings_count; i++)
		warnings_add(&out->warnings, &out->warnings_count, "%s", note->warnings[i]);
}

/* out is initialised. */
static enum ls_rc
read_phase(const struct source *s, const struct store_phase *p, struct phase_result *out, struct ls_err *err)
{
	struct phase_note note = { 0 };
	struct phase spec;
	enum ls_rc rc = record_decode(&phase_desc, p->spec, "stored phase", &spec, err);

	if (rc != LS_OK)
		return rc;
	field_struct_fini(&phase_desc, &out->spec);
	out->spec = spec;
	set_str(&out->name, phase_title(&out->spec));
	out->kind = out->spec.kind;
	out->index = p->phase;
	out->repetition = p->repetition;
	out->state = (int)p->state;
	out->start_skew_uncertainty_ns = p->skew_uncertainty_ns;
	rc = record_decode(&phase_note_desc, p->note, "stored note", &note, err);
	if (rc != LS_OK)
		return rc;
	move_warnings(&note, out);
	out->steady = note.steady;
	note.steady = NULL;
	add_attempts(s, p, out);
	rc = read_nodes(s, p, &note, out, err);
	if (rc == LS_OK)
		tool_figures_before(out);
	if (rc == LS_OK)
		rc = phase_result_aggregate(out, &s->job, err);
	/* Of a visibility phase it is that of the times between nodes. */
	if (rc == LS_OK && out->start_skew_ns == LS_UNKNOWN_I64 && out->kind != PHASE_VISIBILITY)
		out->start_skew_uncertainty_ns = LS_UNKNOWN_I64;
	field_struct_fini(&phase_note_desc, &note);
	return rc;
}

static enum ls_rc
fill_run(const struct store_run *row, struct run_info *out, struct ls_err *err)
{
	struct run_notes notes;
	char stamp[40];
	enum ls_rc rc;

	set_str(&out->id, row->id);
	set_str(&out->name, row->name);
	out->state = (int)row->state;
	set_str(&out->reason, row->reason);
	set_str(&out->started_at, ls_wall_format((struct ls_wall){ row->started_ns }, stamp, sizeof(stamp)));
	out->duration_ns = row->duration_ns;
	set_str(&out->lockstep.version, lockstep_version);
	set_str(&out->lockstep.build, lockstep_build);
	rc = record_decode(&run_notes_desc, row->warnings, "stored warnings", &notes, err);
	if (rc != LS_OK)
		return rc;
	out->warnings = notes.warnings;
	out->warnings_count = notes.warnings_count;
	notes.warnings = NULL;
	notes.warnings_count = 0;
	field_struct_fini(&run_notes_desc, &notes);
	return LS_OK;
}

/* Moves what the document and the source both need: the source keeps what is still used for the phases. */
static void
move_nodes(struct source *s, struct results *out)
{
	if (s->members.members_count == 0)
		return;
	out->nodes = ls_calloc(s->members.members_count, sizeof(*out->nodes));
	for (size_t i = 0; i < s->members.members_count; i++) {
		out->nodes[i] = s->members.members[i].info;
		field_struct_init(&run_node_desc, &s->members.members[i].info);
	}
	out->nodes_count = s->members.members_count;
}

/* An import is a document already. LS_E_NOTFOUND: it is none. */
static enum ls_rc
read_document(struct store *store, const char *run, struct results *out, struct ls_err *err)
{
	char *text;
	enum ls_rc rc = store_get_document(store, run, &text, err);

	if (rc != LS_OK)
		return rc;
	rc = json_decode_struct(&results_desc, text, strlen(text), JSON_UNKNOWN_IGNORED, run, out, err);
	free(text);
	return rc;
}

/* Its own numbers, from the rows. */
static enum ls_rc
assemble_own(struct store *store, const char *run, struct results *out, struct ls_err *err)
{
	struct source s = { .store = store, .run = run };
	struct store_run row = { 0 };
	struct results r;
	enum ls_rc rc = store_get_run(store, run, &row, err);

	if (rc != LS_OK)
		return rc;
	field_struct_init(&results_desc, &r);
	rc = source_read(&s, &row, err);
	if (rc == LS_OK)
		rc = fill_run(&row, &r.run, err);
	if (rc != LS_OK)
		goto out;
	move_nodes(&s, &r);
	if (s.phase_count > 0)
		r.phases = ls_calloc(s.phase_count, sizeof(*r.phases));
	for (size_t i = 0; rc == LS_OK && i < s.phase_count; i++) {
		field_struct_init(&phase_result_desc, &r.phases[i]);
		r.phases_count++;
		rc = read_phase(&s, &s.phases[i], &r.phases[i], err);
	}
	field_struct_fini(&job_desc, &r.run.job);
	r.run.job = s.job;
	memset(&s.job, 0, sizeof(s.job));
	if (rc == LS_OK) {
		tool_figures_after(r.phases, r.phases_count);
		results_add_scaling(&r);
		results_add_contention(&r);
		results_add_quality_warnings(&r);
		results_judge_promises(&r);
	}
out:
	source_fini(&s);
	store_run_fini(&row);
	if (rc != LS_OK) {
		field_struct_fini(&results_desc, &r);
		return ls_err_wrap(err, "run %s", run);
	}
	*out = r;
	return LS_OK;
}

/* What the store says of tags and note is the truth: they may have changed since a document was written. */
static enum ls_rc
put_labels(struct store *store, const char *run, struct results *out, struct ls_err *err)
{
	struct store_run row = { 0 };
	struct run_info *info = &out->run;
	enum ls_rc rc = store_get_run(store, run, &row, err);

	if (rc != LS_OK)
		return rc;
	for (size_t i = 0; i < info->tags_count; i++)
		free(info->tags[i]);
	free(info->tags);
	info->tags = NULL;
	info->tags_count = 0;
	set_str(&info->note, row.note);
	store_run_fini(&row);
	return store_get_tags(store, run, &info->tags, &info->tags_count, err);
}

static enum ls_rc
assemble(struct store *store, const char *run, struct results *out, struct ls_err *err)
{
	enum ls_rc rc = read_document(store, run, out, err);

	if (rc == LS_E_NOTFOUND)
		rc = assemble_own(store, run, out, err);
	if (rc != LS_OK)
		return rc;
	rc = put_labels(store, run, out, err);
	if (rc != LS_OK)
		field_struct_fini(&results_desc, out);
	return rc;
}

enum ls_rc
assemble_run(struct store *store, const char *run, struct results *out, struct ls_err *err)
{
	enum ls_rc rc = store_view_begin(store, err);

	if (rc != LS_OK)
		return rc;
	rc = assemble(store, run, out, err);
	store_view_end(store);
	return rc;
}

static double
phase_rate(const struct phase_result *p, const struct rate *r)
{
	return phase_kind_info((enum phase_kind)p->kind)->unit == PHASE_BYTES ? r->bytes_per_s : r->ops_per_s;
}

static const char *
format_rate(const struct phase_result *p, const struct rate *r, char *buf, size_t len)
{
	char number[32];

	if (phase_kind_info((enum phase_kind)p->kind)->unit == PHASE_BYTES)
		return units_format_rate(phase_rate(p, r), buf, len);
	snprintf(buf, len, "%s op/s", units_format_count(phase_rate(p, r), number, sizeof(number)));
	return buf;
}

static char *
phase_line(const struct phase_result *p)
{
	char done[48] = "n/a", active[48] = "n/a", skew[32] = "n/a", error[32] = "n/a";
	char apart[160];

	if (!isnan(phase_rate(p, &p->aggregate.last_done)))
		format_rate(p, &p->aggregate.last_done, done, sizeof(done));
	if (!isnan(phase_rate(p, &p->aggregate.all_active)))
		format_rate(p, &p->aggregate.all_active, active, sizeof(active));
	if (p->start_skew_ns != LS_UNKNOWN_I64)
		units_format_duration(p->start_skew_ns, skew, sizeof(skew));
	if (p->start_skew_uncertainty_ns != LS_UNKNOWN_I64)
		units_format_duration(p->start_skew_uncertainty_ns, error, sizeof(error));
	if (by_op_mixes(p))
		return ls_asprintf("%s%s%s: %s, start skew %s +- %s", p->name, p->state == PHASE_STATE_DONE ? "" : " ",
		    p->state == PHASE_STATE_DONE ? "" : phase_state_names[p->state],
		    by_op_rates(p, apart, sizeof(apart)), skew, error);
	return ls_asprintf("%s%s%s: last done %s, all active %s, start skew %s +- %s", p->name,
	    p->state == PHASE_STATE_DONE ? "" : " ", p->state == PHASE_STATE_DONE ? "" : phase_state_names[p->state],
	    done, active, skew, error);
}

enum ls_rc
assemble_phase_line(
    struct store *store, const char *run, uint64_t phase, uint64_t repetition, char **out, struct ls_err *err)
{
	struct source s = { .store = store, .run = run };
	struct store_run row = { 0 };
	struct store_phase stored = { 0 };
	struct phase_result p;
	enum ls_rc rc = store_get_run(store, run, &row, err);

	if (rc != LS_OK)
		return rc;
	/* Not source_read: with all phases' notes read after each phase, a run's cost would grow with their square. */
	rc = record_decode(&job_desc, row.job, "stored job", &s.job, err);
	if (rc == LS_OK)
		rc = store_get_phase(store, run, phase, repetition, &stored, err);
	if (rc == LS_OK) {
		field_struct_init(&phase_result_desc, &p);
		rc = read_phase(&s, &stored, &p, err);
		if (rc == LS_OK)
			*out = phase_line(&p);
		field_struct_fini(&phase_result_desc, &p);
	}
	store_phase_fini(&stored);
	source_fini(&s);
	store_run_fini(&row);
	return rc;
}
