#include "coordinator/cli/plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"
#include "common/base/units.h"
#include "proto/model/phase_work.h"
#include "proto/model/tool.h"

#include "common/base/field_table.h"
#include "coordinator/cli/plan.def"
#include "common/base/field_undef.h"

/* --- what would refuse ----------------------------------------------------------------------------------------------------- */

LS_PRINTF(5, 6)
static void
add_limit(struct plan *plan, enum check_level level, const char *check, const char *node, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	plan->limits = ls_grow(plan->limits, plan->limits_count, sizeof(*plan->limits));

	struct check_row *row = &plan->limits[plan->limits_count++];
	field_struct_init(&check_row_desc, row);
	free(row->check);
	free(row->text);
	row->check = ls_strdup(check);
	row->node = ls_strdup(node);
	row->level = (int)level;
	row->text = ls_strdup(text);
}

static const struct node_row *
find_row(const struct plan_nodes *nodes, const char *name)
{
	for (size_t i = 0; i < nodes->known_count; i++)
		if (strcmp(nodes->known[i].name, name) == 0)
			return &nodes->known[i];
	return NULL;
}

static bool
lies_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return strncmp(dir, path, n) == 0 && (n == 1 || path[n] == '\0' || path[n] == '/');
}

static bool
is_allowed(const struct node_limits *limits, const char *path)
{
	for (size_t i = 0; i < limits->allow_count; i++)
		if (lies_below(limits->allow[i], path))
			return true;
	return false;
}

static void
check_amounts(struct plan *plan, const struct job *job, const char *node, const struct node_limits *limits)
{
	uint64_t workers = 0;
	char wants[32], most[32];

	for (size_t p = 0; p < job->phases_count; p++)
		workers = LS_MAX(workers, job_phase_workers(job, &job->phases[p]));
	if (!is_allowed(limits, plan->path))
		add_limit(plan, CHECK_FAILED, "allow", node,
		    "%s lies below none of the directories that allow of its agent.conf names", plan->path);
	if (limits->max_bytes > 0 && plan->need_bytes > limits->max_bytes)
		add_limit(plan, CHECK_FAILED, "max_bytes", node, "the run needs %s on the volume, the node allows %s",
		    units_format_size(plan->need_bytes, wants, sizeof(wants)),
		    units_format_size(limits->max_bytes, most, sizeof(most)));
	if (limits->max_files > 0 && plan->need_files > limits->max_files)
		add_limit(plan, CHECK_FAILED, "max_files", node,
		    "the run makes %" PRIu64 " files, the node allows %" PRIu64, plan->need_files, limits->max_files);
	if (limits->max_workers > 0 && workers > limits->max_workers)
		add_limit(plan, CHECK_FAILED, "max_workers", node,
		    "the run has %" PRIu64 " workers on each node, this one allows %" PRIu64, workers,
		    limits->max_workers);
	for (size_t i = 0; i < limits->quiet_hours_count; i++)
		add_limit(plan, CHECK_WARNING, "quiet_hours", node, "no runs between %s, by its own clock",
		    limits->quiet_hours[i]);
}

/* Its own cap, as its agent will apply it; for the job's phases only whether that works. */
static void
check_own_cap(struct plan *plan, const struct job *job, const char *node, const struct node_limits *limits)
{
	struct ls_err why;
	char rate[32];

	if (limits->max_bandwidth == 0)
		return;
	for (size_t p = 0; p < job->phases_count; p++) {
		struct phase copy = job->phases[p]; /* only its numbers change */

		if (phase_hold(&copy, limits->max_bandwidth, 0, job_phase_workers(job, &copy), &why) == LS_OK)
			continue;
		add_limit(plan, CHECK_FAILED, "max_bandwidth", node, "%s", why.text);
		return;
	}
	add_limit(plan, CHECK_WARNING, "max_bandwidth", node, "its workers together are held to %s",
	    units_format_rate((double)limits->max_bandwidth, rate, sizeof(rate)));
}

/* May the caches be emptied as the job wants it? What the root helper allows shows only when the run is prepared. */
static void
check_caches(struct plan *plan, const struct job *job, const char *node, const struct node_limits *limits)
{
	const struct {
		enum phase_caches how;
		bool allowed;
		const char *key;
	} rows[] = {
		{ CACHES_FADVISE, limits->allow_fadvise, "allow_fadvise" },
		{ CACHES_DROP, limits->allow_drop_caches, "allow_drop_caches" },
		{ CACHES_REMOUNT, limits->allow_remount, "allow_remount" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!rows[i].allowed && job_empties_caches(job, rows[i].how))
			add_limit(plan, CHECK_FAILED, "caches", node, "caches %s: %s of its agent.conf is no",
			    phase_caches_names[rows[i].how], rows[i].key);
	if (job->abort_if != NULL && job->abort_if->heartbeat_age > 0 && !limits->watch_heartbeat)
		add_limit(
		    plan, CHECK_FAILED, "abort_if", node, "heartbeat_age: watch_heartbeat of its agent.conf is no");
}

/* The external programs of the job's phases, as far as the node says which it may run. */
static void
check_tools(struct plan *plan, const struct job *job, const struct node_row *row)
{
	for (enum tool_kind tool = 0; tool < TOOL_COUNT; tool++) {
		const char *name = tool_info(tool)->name;
		const struct tool_facts *there = NULL;
		bool wanted = false;

		for (size_t p = 0; p < job->phases_count; p++)
			wanted |= tool_of((enum phase_kind)job->phases[p].kind) == tool;
		for (size_t i = 0; i < row->facts.tools_count; i++)
			if (strcmp(row->facts.tools[i].name, name) == 0)
				there = &row->facts.tools[i];
		if (wanted && there == NULL)
			add_limit(plan, CHECK_FAILED, "tools", row->name,
			    "it may not run %s: its agent.conf names none", name);
		else if (wanted && there->problem != NULL && there->problem[0] != '\0')
			add_limit(plan, CHECK_FAILED, "tools", row->name, "%s: %s", name, there->problem);
	}
}

/* Against the first node that is known: what lockstepd compares with is its own build, which it does not tell. */
static void
check_build(struct plan *plan, const struct job *job, const struct node_row *row, const struct node_row *first)
{
	const char *a = row->facts.build, *b = first->facts.build;

	if (!job->allow_mixed_builds && a != NULL && b != NULL && strcmp(a, b) != 0)
		add_limit(plan, CHECK_FAILED, "build", row->name,
		    "it has build %s, node %s has %s (see allow_mixed_builds)", a, first->name, b);
}

static void
check_nodes(struct plan *plan, const struct job *job, const struct plan_nodes *nodes)
{
	if (nodes->count < job->min_nodes)
		add_limit(
		    plan, CHECK_FAILED, "min_nodes", NULL, "the job wants at least %" PRIu64 " nodes", job->min_nodes);
	const struct node_row *first = NULL;
	for (size_t i = 0; nodes->known != NULL && i < nodes->count; i++) {
		const struct node_row *row = find_row(nodes, nodes->names[i]);

		if (row == NULL || !row->connected) {
			add_limit(plan, CHECK_FAILED, "nodes", nodes->names[i], "is not connected");
			continue;
		}
		first = first != NULL ? first : row;
		check_build(plan, job, row, first);
		check_tools(plan, job, row);
		if (row->facts.limits == NULL)
			continue;
		check_amounts(plan, job, row->name, row->facts.limits);
		check_own_cap(plan, job, row->name, row->facts.limits);
		check_caches(plan, job, row->name, row->facts.limits);
	}
}

/* --- the phases ------------------------------------------------------------------------------------------------------------- */

/* Of nodes that are asked together; what does not divide evenly goes to none of them in particular. */
static void
share_out(struct plan_phase *phase)
{
	uint64_t workers = 0;

	for (size_t i = 0; i < phase->nodes_count; i++)
		workers += phase->nodes[i].workers;
	for (size_t i = 0; i < phase->nodes_count; i++) {
		struct plan_part *part = &phase->nodes[i];

		if (part->workers == 0)
			part->bytes = 0;
		else if (phase->bytes == LS_UNKNOWN_U64)
			part->bytes = LS_UNKNOWN_U64;
		else
			part->bytes = (uint64_t)((double)phase->bytes * (double)part->workers / (double)workers);
	}
}

static void
reckon_phase(const struct job *job, size_t index, const struct plan_nodes *nodes, struct plan_phase *out)
{
	const struct phase *spec = &job->phases[index];
	bool *takes_part = ls_calloc(nodes->count + 1, sizeof(*takes_part));
	uint64_t *workers = ls_calloc(nodes->count + 1, sizeof(*workers));
	uint64_t all = 0, at_work = 0;

	field_struct_init(&plan_phase_desc, out);
	free(out->name);
	out->name = ls_strdup(phase_title(spec));
	out->kind = spec->kind;
	out->index = index;
	out->nodes = ls_calloc(nodes->count + 1, sizeof(*out->nodes));
	out->nodes_count = nodes->count;
	phase_takes_part(spec, nodes->names, nodes->count, takes_part);
	for (size_t i = 0; i < nodes->count; i++) {
		workers[i] = takes_part[i] ? job_phase_workers(job, spec) : 0;
		all += workers[i];
		at_work += takes_part[i];
		field_struct_init(&plan_part_desc, &out->nodes[i]);
		free(out->nodes[i].node);
		out->nodes[i].node = ls_strdup(nodes->names[i]);
		out->nodes[i].workers = workers[i];
	}
	if ((phase_kind_info((enum phase_kind)spec->kind)->groups & PHASE_TOOL) == 0 && !phase_reads_device(spec))
		phase_footprint(spec, at_work, all, &out->file_bytes, &out->files);
	uint64_t bytes;
	if (phase_estimate_bytes(spec, workers, nodes->count, &bytes))
		out->bytes = LS_MIN(bytes, (uint64_t)INT64_MAX);
	out->file_bytes = LS_MIN(out->file_bytes, (uint64_t)INT64_MAX);
	out->files = LS_MIN(out->files, (uint64_t)INT64_MAX);
	share_out(out);
	if (spec->time > 0) {
		out->time_ns = spec->time + spec->warmup + spec->pause;
		out->from = ls_strdup("job");
	}
	free(takes_part);
	free(workers);
}

/* As lockstepd does once it has the nodes. */
static void
fit_job(struct plan *plan, struct job *job, const struct plan_nodes *nodes)
{
	struct ls_err err;

	if (job_check_phase_nodes(job, nodes->names, nodes->count, &err) != LS_OK ||
	    job_hold(job, nodes->count, &err) != LS_OK ||
	    job_expand_solo(job, nodes->names, nodes->count, &err) != LS_OK)
		add_limit(plan, CHECK_FAILED, "job", NULL, "%s", err.text);
	job_settle_caches(job);
}

void
plan_make(struct job *job, const struct plan_nodes *nodes, struct plan *out)
{
	field_struct_init(&plan_desc, out);
	fit_job(out, job, nodes);
	free(out->name);
	free(out->path);
	out->name = ls_strdup(job->name);
	out->path = ls_strdup(job->path);
	out->repeat = job->repeat;
	out->nodes = ls_calloc(nodes->count + 1, sizeof(*out->nodes));
	out->nodes_count = nodes->count;
	for (size_t i = 0; i < nodes->count; i++)
		out->nodes[i] = ls_strdup(nodes->names[i]);
	job_footprint(job, nodes->count, &out->need_bytes, &out->need_files);
	out->need_bytes = LS_MIN(out->need_bytes, (uint64_t)INT64_MAX);
	out->need_files = LS_MIN(out->need_files, (uint64_t)INT64_MAX);
	out->phases = ls_calloc(job->phases_count + 1, sizeof(*out->phases));
	out->phases_count = job->phases_count;
	for (size_t p = 0; p < job->phases_count; p++)
		reckon_phase(job, p, nodes, &out->phases[p]);
	check_nodes(out, job, nodes);
}

/* --- an earlier run ---------------------------------------------------------------------------------------------------------- */

static size_t
planned_at_work(const struct plan_phase *phase)
{
	size_t count = 0;

	for (size_t i = 0; i < phase->nodes_count; i++)
		count += phase->nodes[i].workers > 0;
	return count;
}

static size_t
measured_at_work(const struct phase_result *phase)
{
	size_t count = 0;

	for (size_t i = 0; i < phase->nodes_count; i++)
		count += phase->nodes[i].state != NODE_IDLE;
	return count;
}

static bool
did_the_same(
    const struct plan_phase *plan, const struct phase *spec, uint64_t workers, const struct results *earlier, size_t i)
{
	const struct phase_result *then = &earlier->phases[i];

	return then->state == PHASE_STATE_DONE && then->imported == NULL && then->duration_ns != LS_UNKNOWN_I64 &&
	    phase_same_work(spec, &then->spec) && measured_at_work(then) == planned_at_work(plan) &&
	    job_phase_workers(&earlier->run.job, &then->spec) == workers;
}

static void
learn_phase(struct plan_phase *plan, const struct phase *spec, uint64_t workers, const struct results *earlier)
{
	double time = 0, bytes = 0;
	size_t count = 0;

	for (size_t i = 0; i < earlier->phases_count; i++) {
		if (!did_the_same(plan, spec, workers, earlier, i))
			continue;
		time += (double)earlier->phases[i].duration_ns;
		if (earlier->phases[i].aggregate.bytes != LS_UNKNOWN_U64)
			bytes += (double)earlier->phases[i].aggregate.bytes;
		count++;
	}
	if (count == 0)
		return;
	if (plan->time_ns == LS_UNKNOWN_I64)
		plan->time_ns = (int64_t)(time / (double)count) + spec->pause;
	if (plan->bytes == LS_UNKNOWN_U64)
		plan->bytes = (uint64_t)(bytes / (double)count);
	free(plan->from);
	plan->from = ls_asprintf("run %s", earlier->run.id);
	share_out(plan);
}

void
plan_learn(struct plan *plan, const struct job *job, const struct results *earlier)
{
	for (size_t p = 0; p < plan->phases_count && p < job->phases_count; p++) {
		struct plan_phase *phase = &plan->phases[p];

		if (phase->time_ns == LS_UNKNOWN_I64 || phase->bytes == LS_UNKNOWN_U64)
			learn_phase(phase, &job->phases[p], job_phase_workers(job, &job->phases[p]), earlier);
	}
}

/* --- all together ------------------------------------------------------------------------------------------------------------ */

static void
check_run_time(struct plan *plan, const struct plan_nodes *nodes)
{
	char takes[32], most[32];

	for (size_t i = 0; i < nodes->known_count; i++) {
		const struct node_row *row = &nodes->known[i];
		int64_t limit = row->facts.limits != NULL ? row->facts.limits->max_run_time : 0;
		bool ours = false;

		for (size_t n = 0; n < plan->nodes_count; n++)
			ours |= strcmp(plan->nodes[n], row->name) == 0;
		if (!ours || limit == 0 || plan->time_ns <= limit)
			continue;
		add_limit(plan, CHECK_WARNING, "max_run_time", row->name,
		    "the phases take %s, the node stops a run after %s",
		    units_format_duration(plan->time_ns, takes, sizeof(takes)),
		    units_format_duration(limit, most, sizeof(most)));
	}
}

void
plan_finish(struct plan *plan, const struct plan_nodes *nodes)
{
	double time = 0;

	for (size_t p = 0; p < plan->phases_count; p++) {
		const struct plan_phase *phase = &plan->phases[p];

		if (phase->bytes == LS_UNKNOWN_U64)
			plan->bytes_unknown += plan->repeat;
		else
			plan->bytes = sat_add(plan->bytes, sat_mul(phase->bytes, plan->repeat));
		if (phase->time_ns == LS_UNKNOWN_I64)
			plan->time_unknown += plan->repeat;
		else
			time += (double)phase->time_ns * (double)plan->repeat;
	}
	plan->bytes = LS_MIN(plan->bytes, (uint64_t)INT64_MAX);
	plan->time_ns = time >= (double)INT64_MAX ? INT64_MAX : (int64_t)time;
	check_run_time(plan, nodes);
}
