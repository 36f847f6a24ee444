/* Phases in which only some nodes of the run take part. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"
#include "proto/model/job.h"
#include "proto/model/phase_work.h"

#define PHASES_MAX  4096
#define RESULTS_MAX 1000000

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, borrowed. */
static const char **
sorted_names(char *const *names, size_t count)
{
	const char **sorted = ls_calloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = names[i];
	qsort(sorted, count, sizeof(*sorted), compare_names);
	return sorted;
}

static bool
is_among(const char *const *sorted, size_t count, const char *name)
{
	return count > 0 && bsearch(&name, sorted, count, sizeof(*sorted), compare_names) != NULL;
}

void
phase_takes_part(const struct phase *phase, char *const *nodes, size_t count, bool *out)
{
	const char **wanted;

	for (size_t i = 0; i < count; i++)
		out[i] = true;
	if (phase->nodes_count == 0)
		return;
	wanted = sorted_names(phase->nodes, phase->nodes_count);
	for (size_t i = 0; i < count; i++)
		out[i] = is_among(wanted, phase->nodes_count, nodes[i]);
	free(wanted);
}

static enum ls_rc
check_nodes(const struct job *job, const char *const *known, size_t count, struct ls_err *err)
{
	for (size_t p = 0; p < job->phases_count; p++)
		for (size_t i = 0; i < job->phases[p].nodes_count; i++)
			if (!is_among(known, count, job->phases[p].nodes[i]))
				return ls_err_set(err, LS_E_INVALID,
				    "phases[%zu].nodes[%zu]: \"%s\" is no node of the run", p, i,
				    job->phases[p].nodes[i]);
	return LS_OK;
}

enum ls_rc
job_check_phase_nodes(const struct job *job, char *const *nodes, size_t count, struct ls_err *err)
{
	const char **known = sorted_names(nodes, count);
	enum ls_rc rc = check_nodes(job, known, count, err);

	free(known);
	return rc;
}

/* The nodes of a phase: its own list, or the run's. */
static char *const *
nodes_of(const struct phase *phase, char *const *nodes, size_t count, size_t *out_count)
{
	*out_count = phase->nodes_count > 0 ? phase->nodes_count : count;
	return phase->nodes_count > 0 ? phase->nodes : nodes;
}

/* One node is alone already. */
static size_t
solo_count(const struct phase *phase, size_t count)
{
	size_t own = phase->nodes_count > 0 ? phase->nodes_count : count;

	return phase->solo && own > 1 ? own : 0;
}

static void
add_alone(const struct phase *phase, const char *node, struct phase *out)
{
	phase_copy(phase, out);
	for (size_t i = 0; i < out->nodes_count; i++)
		free(out->nodes[i]);
	free(out->nodes);
	free(out->name);
	out->solo = false;
	out->name = ls_asprintf("%s, %s alone", phase_title(phase), node);
	if (strlen(out->name) > PHASE_NAME_MAX)
		out->name[PHASE_NAME_MAX] = '\0';
	out->nodes = ls_calloc(1, sizeof(*out->nodes));
	out->nodes[0] = ls_strdup(node);
	out->nodes_count = 1;
}

static void
add_with_solos(const struct phase *phase, char *const *nodes, size_t count, struct job *out)
{
	size_t own;
	char *const *names = nodes_of(phase, nodes, count, &own);

	for (size_t i = 0; i < own && solo_count(phase, count) > 0; i++)
		add_alone(phase, names[i], &out->phases[out->phases_count++]);
	phase_copy(phase, &out->phases[out->phases_count]);
	out->phases[out->phases_count++].solo = false;
}

enum ls_rc
job_expand_solo(struct job *job, char *const *nodes, size_t count, struct ls_err *err)
{
	struct job out = { 0 };
	size_t total = 0;
	size_t more = 0;

	for (size_t p = 0; p < job->phases_count; p++) {
		more += solo_count(&job->phases[p], count);
		total += solo_count(&job->phases[p], count) + 1;
	}
	if (total > PHASES_MAX || job->repeat > RESULTS_MAX / LS_MAX(total, (size_t)1))
		return ls_err_set(err, LS_E_RANGE, "phases: each of %zu nodes alone makes %zu phases of them, too many",
		    count, total);
	if (more == 0) {
		for (size_t p = 0; p < job->phases_count; p++)
			job->phases[p].solo = false;
		return LS_OK;
	}

	out.phases = ls_calloc(total, sizeof(*out.phases));
	for (size_t p = 0; p < job->phases_count; p++)
		add_with_solos(&job->phases[p], nodes, count, &out);
	for (size_t p = 0; p < job->phases_count; p++)
		field_struct_fini(&phase_desc, &job->phases[p]);
	free(job->phases);
	job->phases = out.phases;
	job->phases_count = out.phases_count;
	return LS_OK;
}

static enum ls_rc
hold_one(const struct job *job, size_t p, uint64_t workers, struct phase *phase, struct ls_err *err)
{
	const struct {
		const char *key;
		uint64_t cap, bytes, ops;
	} caps[] = {
		{ "max_bandwidth", job->max_bandwidth, job->max_bandwidth, 0 },
		{ "max_ops", job->max_ops, 0, job->max_ops },
	};
	struct ls_err why;

	for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
		if (caps[i].cap == LS_UNKNOWN_U64 || caps[i].cap == 0)
			continue;
		enum ls_rc rc = phase_hold(phase, caps[i].bytes, caps[i].ops, workers, &why);
		if (rc != LS_OK)
			return ls_err_set(err, rc, "%s: phases[%zu]: %s", caps[i].key, p, why.text);
	}
	return LS_OK;
}

enum ls_rc
job_hold(struct job *job, size_t node_count, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	for (size_t p = 0; rc == LS_OK && p < job->phases_count; p++) {
		struct phase *phase = &job->phases[p];
		size_t nodes = phase->nodes_count > 0 ? phase->nodes_count : node_count;

		rc = hold_one(job, p, sat_mul(nodes, job_phase_workers(job, phase)), phase, err);
	}
	return rc;
}

enum ls_rc
job_check_caps(const struct job *job, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	for (size_t p = 0; rc == LS_OK && p < job->phases_count; p++) {
		struct phase copy = job->phases[p]; /* only its numbers change */
		rc = hold_one(job, p, job_phase_workers(job, &copy), &copy, err);
	}
	return rc;
}

/* --- caches between phases ------------------------------------------------------------------------------------------ */

static enum phase_caches
settled(const struct job *job, const struct phase *phase)
{
	enum phase_caches how = (enum phase_caches)(phase->caches == CACHES_AS_JOB ? job->caches : phase->caches);
	unsigned groups = phase_kind_info((enum phase_kind)phase->kind)->groups;

	if (phase->step > 0 && (groups & PHASE_CLUSTER) != 0)
		return CACHES_NONE;
	if (phase->step > 0 && (groups & PHASE_TOOL) != 0 && how == CACHES_REMOUNT)
		return CACHES_NONE;
	return how;
}

void
job_settle_caches(struct job *job)
{
	for (size_t p = 0; p < job->phases_count; p++)
		job->phases[p].caches = (int)settled(job, &job->phases[p]);
}

bool
job_empties_caches(const struct job *job, enum phase_caches how)
{
	for (size_t p = 0; p < job->phases_count; p++)
		if (job->phases[p].caches == (int)how)
			return true;
	return false;
}
