#include "proto/model/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"

#define PHASES_MAX  4096
#define RESULTS_MAX 1000000
#define BLOCK_BYTES 4096

static bool
is_cluster(const struct phase *phase)
{
	return (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_CLUSTER) != 0;
}

/* --- what a row is about ----------------------------------------------------------------------------------------- */

static enum promise_row
coherence_row(const struct phase *phase)
{
	static const enum promise_row rows[CHECK_COUNT] = {
		[CHECK_DATA] = ROW_DATA_BUFFERED,
		[CHECK_APPEND] = ROW_APPEND,
		[CHECK_EXCL] = ROW_EXCL,
		[CHECK_RENAME] = ROW_RENAME,
		[CHECK_UNLINK] = ROW_UNLINK,
		[CHECK_TRUNCATE] = ROW_TRUNCATE,
		[CHECK_ATTRIBUTES] = ROW_ATTRIBUTES,
	};

	if (phase->check != CHECK_DATA)
		return rows[phase->check];
	if (phase->write_access == ACCESS_DIRECT || phase->read_access == ACCESS_DIRECT)
		return ROW_DATA_DIRECT;
	if (phase->write_access == ACCESS_MMAP || phase->read_access == ACCESS_MMAP)
		return ROW_DATA_MMAP;
	return ROW_DATA_BUFFERED;
}

enum promise_row
cluster_row(const struct phase *phase)
{
	if (phase->kind == PHASE_COHERENCE)
		return coherence_row(phase);
	if (phase->kind == PHASE_VISIBILITY)
		return ROW_SEEN;
	if (phase->kind == PHASE_RECOVERY)
		return ROW_DURABLE;
	return phase->lock == LOCK_FLOCK ? ROW_FLOCK : phase->lock == LOCK_RANGE ? ROW_RANGE : ROW_FCNTL;
}

const char *
cluster_about(const struct phase *phase, char *buf, size_t len)
{
	static const char *const checks[CHECK_COUNT] = {
		[CHECK_DATA] = "data",
		[CHECK_APPEND] = "O_APPEND by all",
		[CHECK_EXCL] = "O_EXCL by all",
		[CHECK_RENAME] = "rename over a file that is read",
		[CHECK_UNLINK] = "unlink of a file that is open elsewhere",
		[CHECK_TRUNCATE] = "truncate against O_APPEND",
		[CHECK_ATTRIBUTES] = "size and mtime seen elsewhere",
	};

	if (phase->kind == PHASE_LOCKS)
		snprintf(buf, len, "%s locks%s", phase->lock == LOCK_FLOCK ? "flock" : "fcntl",
		    phase->lock == LOCK_RANGE ? " of separate ranges" : "");
	else if (phase->kind == PHASE_VISIBILITY)
		snprintf(buf, len, "visibility of %s", field_enum_name(phase_change_names, phase->change));
	else if (phase->kind == PHASE_RECOVERY)
		snprintf(buf, len, "fsynced records after a node's loss");
	else if (phase->check == CHECK_DATA)
		snprintf(buf, len, "data written %s, read %s", field_enum_name(phase_access_names, phase->write_access),
		    field_enum_name(phase_access_names, phase->read_access));
	else
		snprintf(buf, len, "%s", checks[phase->check]);
	return buf;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

size_t
cluster_steps(const struct phase *phase, size_t nodes)
{
	static const size_t steps[CHECK_COUNT] = {
		[CHECK_DATA] = (size_t)2 * CLUSTER_ROUNDS,
		[CHECK_APPEND] = 2,
		[CHECK_EXCL] = 2,
		[CHECK_RENAME] = 2,
		[CHECK_UNLINK] = 4,
		[CHECK_TRUNCATE] = 2,
		[CHECK_ATTRIBUTES] = (size_t)2 * CLUSTER_ROUNDS,
	};

	if (phase->kind == PHASE_LOCKS)
		return CLUSTER_LOCK_FIRST + 2 * nodes;
	if (phase->kind == PHASE_RECOVERY)
		return RECOVERY_STEPS;
	return phase->kind == PHASE_VISIBILITY ? nodes : steps[phase->check];
}

uint64_t
recovery_places(const struct phase *phase)
{
	/* Validated before; who did not must not divide by it. */
	return LS_MAX(phase->bytes / RECOVERY_RECORD, (uint64_t)1);
}

bool
recovery_is(const struct phase *phase, uint64_t step)
{
	return phase->kind == PHASE_RECOVERY && phase->steps > 0 && phase->step == step;
}

size_t
cluster_step_nodes(const struct phase *phase, size_t step, size_t nodes)
{
	if (phase->kind != PHASE_LOCKS || step < CLUSTER_LOCK_FIRST)
		return nodes;
	return LS_MIN((step - CLUSTER_LOCK_FIRST) / 2 + 1, nodes);
}

/* What happens in the step, for its name. */
static const char *
step_words(const struct phase *phase, size_t step, size_t nodes, const char *node, char *buf, size_t len)
{
	static const char *const unlink_words[] = { "made", "opened", "removed", "looked at" };
	static const char *const recovery_words[] = { "written", "looked at", "looked at once it is back" };
	bool odd = step % 2 == 1;

	if (phase->kind == PHASE_RECOVERY)
		snprintf(buf, len, "%s", recovery_words[LS_MIN(step, (size_t)RECOVERY_AGAIN)]);
	else if (phase->kind == PHASE_VISIBILITY)
		snprintf(buf, len, "made by %s", node);
	else if (phase->kind == PHASE_LOCKS && step >= CLUSTER_LOCK_FIRST)
		snprintf(buf, len, "%zu node%s%s", cluster_step_nodes(phase, step, nodes),
		    cluster_step_nodes(phase, step, nodes) == 1 ? "" : "s", odd ? ", counts read" : "");
	else if (phase->kind == PHASE_LOCKS)
		snprintf(buf, len, "%s", odd ? "tried by the others" : "taken by one");
	else if (phase->check == CHECK_UNLINK)
		snprintf(buf, len, "%s", unlink_words[LS_MIN(step, (size_t)3)]);
	else if (phase->check == CHECK_DATA || phase->check == CHECK_ATTRIBUTES)
		snprintf(buf, len, "round %zu %s", step / 2 + 1, odd ? "looked at" : "made");
	else
		snprintf(buf, len, "%s", odd ? "looked at" : "done");
	return buf;
}

static void
add_step(const struct phase *phase, size_t step, char *const *nodes, size_t count, struct phase *out)
{
	size_t part = cluster_step_nodes(phase, step, count);
	char about[96], words[96];

	phase_copy(phase, out);
	out->step = step;
	out->steps = cluster_steps(phase, count);
	if (phase->kind == PHASE_RECOVERY && step != RECOVERY_WRITE)
		out->time = 0; /* looking ends with its work */
	free(out->name);
	out->name = ls_asprintf("%s: %s",
	    phase->name != NULL && phase->name[0] != '\0' ? phase->name : cluster_about(phase, about, sizeof(about)),
	    step_words(phase, step, count, nodes[LS_MIN(step, count - 1)], words, sizeof(words)));
	if (strlen(out->name) > PHASE_NAME_MAX)
		out->name[PHASE_NAME_MAX] = '\0';
	if (part == count)
		return;
	for (size_t i = 0; i < out->nodes_count; i++)
		free(out->nodes[i]);
	free(out->nodes);
	out->nodes = ls_calloc(part, sizeof(*out->nodes));
	out->nodes_count = part;
	for (size_t i = 0; i < part; i++)
		out->nodes[i] = ls_strdup(nodes[i]);
}

static bool
is_whole(const struct phase *phase)
{
	return is_cluster(phase) && phase->steps == 0;
}

/* The nodes of a phase in the run's order, which is that of ranks; borrowed names. */
static char **
nodes_of(const struct phase *phase, char *const *nodes, size_t count, size_t *out_count)
{
	char **picked = ls_calloc(count + 1, sizeof(*picked));
	bool *part = ls_calloc(count + 1, sizeof(*part));
	size_t n = 0;

	phase_takes_part(phase, nodes, count, part);
	for (size_t i = 0; i < count; i++)
		if (part[i])
			picked[n++] = nodes[i];
	free(part);
	*out_count = n;
	return picked;
}

static enum ls_rc
count_steps(const struct job *job, char *const *nodes, size_t count, size_t *out_total, struct ls_err *err)
{
	size_t total = 0;

	for (size_t p = 0; p < job->phases_count; p++) {
		const struct phase *phase = &job->phases[p];
		size_t part;

		if (!is_whole(phase)) {
			total++;
			continue;
		}
		free(nodes_of(phase, nodes, count, &part));
		if (part < 2)
			return ls_err_set(err, LS_E_INVALID, "phases[%zu]: %s needs at least two nodes, it has %zu", p,
			    phase_kind_info((enum phase_kind)phase->kind)->name, part);
		total += cluster_steps(phase, part);
	}
	if (total > PHASES_MAX || job->repeat > RESULTS_MAX / LS_MAX(total, (size_t)1))
		return ls_err_set(
		    err, LS_E_RANGE, "phases: the steps on %zu nodes make %zu phases of them, too many", count, total);
	*out_total = total;
	return LS_OK;
}

enum ls_rc
job_expand_cluster(struct job *job, char *const *nodes, size_t count, struct ls_err *err)
{
	struct phase *out;
	size_t total = 0, n = 0;
	enum ls_rc rc = count_steps(job, nodes, count, &total, err);

	if (rc != LS_OK || total == 0)
		return rc;
	out = ls_calloc(total, sizeof(*out));
	for (size_t p = 0; p < job->phases_count; p++) {
		const struct phase *phase = &job->phases[p];
		size_t part;
		char **picked = nodes_of(phase, nodes, count, &part);

		if (!is_whole(phase))
			phase_copy(phase, &out[n++]);
		for (size_t s = 0; is_whole(phase) && s < cluster_steps(phase, part); s++)
			add_step(phase, s, picked, part, &out[n++]);
		free(picked);
	}
	for (size_t p = 0; p < job->phases_count; p++)
		field_struct_fini(&phase_desc, &job->phases[p]);
	free(job->phases);
	job->phases = out;
	job->phases_count = total;
	return LS_OK;
}

/* --- parameters -------------------------------------------------------------------------------------------------- */

enum ls_rc
cluster_phase_validate(const struct phase *phase, struct ls_err *err)
{
	if (phase->solo)
		return ls_err_set(err, LS_E_INVALID, "solo: %s needs more than one node",
		    phase_kind_info((enum phase_kind)phase->kind)->name);
	if (phase->workers > 1)
		return ls_err_set(err, LS_E_INVALID, "workers: each node has one in this kind of phase");
	if (phase->warmup > 0)
		return ls_err_set(err, LS_E_INVALID, "warmup: what is done before counting cannot be checked");
	if (phase->time > 0 && phase->kind == PHASE_COHERENCE)
		return ls_err_set(err, LS_E_INVALID, "time: coherence ends with its count");
	if (phase->kind == PHASE_RECOVERY && phase->step == RECOVERY_WRITE && phase->time == 0)
		return ls_err_set(err, LS_E_INVALID, "time: recovery writes until its time is over");
	if (phase->kind == PHASE_RECOVERY && phase->bytes % RECOVERY_RECORD != 0)
		return ls_err_set(
		    err, LS_E_INVALID, "bytes: %" PRIu64 " is not a multiple of %d", phase->bytes, RECOVERY_RECORD);
	if (phase->bytes % BLOCK_BYTES != 0)
		return ls_err_set(
		    err, LS_E_INVALID, "bytes: %" PRIu64 " is not a multiple of %d", phase->bytes, BLOCK_BYTES);
	if (phase->steps > 0 && phase->step >= phase->steps)
		return ls_err_set(err, LS_E_RANGE, "step: %" PRIu64 ", there are %" PRIu64, phase->step, phase->steps);
	return LS_OK;
}

void
cluster_footprint(const struct phase *phase, uint64_t node_count, uint64_t *out_bytes, uint64_t *out_files)
{
	uint64_t files = 1, bytes = BLOCK_BYTES;

	*out_bytes = *out_files = 0;
	/* Later steps of coherence work on the files of the first. */
	if ((phase->kind == PHASE_COHERENCE || phase->kind == PHASE_RECOVERY) && phase->step > 0)
		return;
	if (phase->kind == PHASE_VISIBILITY || (phase->kind == PHASE_COHERENCE && phase->check == CHECK_EXCL))
		files = phase->count;
	else if (phase->kind == PHASE_RECOVERY ||
	    (phase->kind == PHASE_COHERENCE && (phase->check == CHECK_DATA || phase->check == CHECK_ATTRIBUTES)))
		files = node_count;
	else if (phase->kind == PHASE_COHERENCE && phase->check == CHECK_RENAME)
		files = 2;
	if (phase->kind == PHASE_RECOVERY ||
	    (phase->kind == PHASE_COHERENCE && (phase->check == CHECK_DATA || phase->check == CHECK_UNLINK)))
		bytes = phase->bytes;
	else if (phase->kind == PHASE_COHERENCE && (phase->check == CHECK_APPEND || phase->check == CHECK_TRUNCATE))
		bytes = sat_mul(sat_mul(phase->count, (uint64_t)12 * CLUSTER_RECORD), node_count) + BLOCK_BYTES;
	*out_files = files;
	*out_bytes = sat_mul(files, bytes);
}

void
cluster_node_copy(const struct cluster_node *from, struct cluster_node *to)
{
	*to = *from;
	to->untested = ls_strdup(from->untested);
	to->list = NULL;
	to->numbers = NULL;
	if (from->list_count > 0)
		to->list = ls_calloc(from->list_count, sizeof(*to->list));
	for (size_t i = 0; i < from->list_count; i++)
		to->list[i] = ls_strdup(from->list[i]);
	if (from->numbers_count > 0) {
		to->numbers = ls_calloc(from->numbers_count, sizeof(*to->numbers));
		memcpy(to->numbers, from->numbers, from->numbers_count * sizeof(*to->numbers));
	}
}
