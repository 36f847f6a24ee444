#include "proto/model/job.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"

#define NODE_NAME_MAX   63
#define JOB_RESULTS_MAX 1000000

const char *const job_on_node_loss_names[] = {
	[ON_LOSS_ABORT] = "abort",
	[ON_LOSS_CONTINUE] = "continue",
	NULL,
};

const char *const grid_cut_over_names[] = {
	[CUT_OVER_AUTO] = "auto",
	[CUT_OVER_ON] = "on",
	[CUT_OVER_OFF] = "off",
	NULL,
};

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "proto/model/job.def"
#include "common/base/field_undef.h"
/* clang-format on */

static enum ls_rc
validate_path(const char *path, struct ls_err *err)
{
	const char *p = path;

	if (path == NULL || path[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "path: missing; it names a directory on the volume under test");
	if (path[0] != '/')
		return ls_err_set(err, LS_E_INVALID, "path: \"%s\" is not absolute", path);
	while (*p != '\0') {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return ls_err_set(err, LS_E_INVALID, "path: \"%s\" has a \"..\" in it", path);
		p += n;
		p += *p == '/';
	}
	return LS_OK;
}

/* Node names become parts of file names on the volume. */
static bool
node_name_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > NODE_NAME_MAX || name[0] == '.' || name[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c >= 0x80 || (!isalnum(c) && c != '.' && c != '-' && c != '_'))
			return false;
	}
	return true;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum ls_rc
validate_no_node_twice(char *const *nodes, size_t count, struct ls_err *err)
{
	const char **sorted;
	enum ls_rc rc = LS_OK;

	if (count < 2)
		return LS_OK;
	sorted = ls_calloc(count, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = nodes[i];
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 1; i < count && rc == LS_OK; i++)
		if (strcmp(sorted[i - 1], sorted[i]) == 0)
			rc = ls_err_set(err, LS_E_INVALID, "nodes: \"%s\" is named twice", sorted[i]);
	free(sorted);
	return rc;
}

static enum ls_rc
validate_names(char *const *nodes, size_t count, struct ls_err *err)
{
	for (size_t i = 0; i < count; i++)
		if (!node_name_valid(nodes[i]))
			return ls_err_set(err, LS_E_INVALID,
			    "nodes[%zu]: \"%s\" is no node name (letters, digits, '.', '_', '-', at most %d of them)",
			    i, nodes[i], NODE_NAME_MAX);
	return validate_no_node_twice(nodes, count, err);
}

static enum ls_rc
validate_nodes(const struct job *job, struct ls_err *err)
{
	if (job->nodes_count > 0 && job->min_nodes > job->nodes_count)
		return ls_err_set(err, LS_E_INVALID,
		    "min_nodes: %" PRIu64 " are more than the %zu nodes that are named", job->min_nodes,
		    job->nodes_count);
	return validate_names(job->nodes, job->nodes_count, err);
}

static enum ls_rc
validate_phases(const struct job *job, struct ls_err *err)
{
	if (job->phases_count == 0)
		return ls_err_set(err, LS_E_INVALID, "phases: at least one is needed");
	if (job->repeat > JOB_RESULTS_MAX / job->phases_count)
		return ls_err_set(err, LS_E_RANGE, "repeat: %" PRIu64 " times %zu phases are more than %d results",
		    job->repeat, job->phases_count, JOB_RESULTS_MAX);
	for (size_t i = 0; i < job->phases_count; i++) {
		struct ls_err inner;

		/* the place is part of the field's name, not a context of its own */
		if (phase_validate(&job->phases[i], &inner) != LS_OK ||
		    validate_names(job->phases[i].nodes, job->phases[i].nodes_count, &inner) != LS_OK)
			return ls_err_set(err, inner.rc, "phases[%zu].%s", i, inner.text);
		if (job->phases[i].kind == PHASE_RECOVERY && job->phases[i].expect_loss > 0 &&
		    job->on_node_loss != ON_LOSS_CONTINUE)
			return ls_err_set(err, LS_E_INVALID,
			    "phases[%zu].expect_loss: a node may be lost only with on_node_loss: continue", i);
		if ((phase_kind_info((enum phase_kind)job->phases[i].kind)->groups & PHASE_TOOL) &&
		    job->phases[i].steps == 0)
			return ls_err_set(err, LS_E_INVALID,
			    "phases[%zu].steps: not taken apart (lockstep does so with a job file)", i);
	}
	return job->nodes_count > 0 ? job_check_phase_nodes(job, job->nodes, job->nodes_count, err) : LS_OK;
}

enum ls_rc
job_validate(const struct job *job, struct ls_err *err)
{
	enum ls_rc rc = validate_path(job->path, err);

	if (rc == LS_OK)
		rc = validate_nodes(job, err);
	if (rc == LS_OK && (job->workers == 0 || job->repeat == 0))
		rc = ls_err_set(err, LS_E_RANGE, "%s: must be at least 1", job->workers == 0 ? "workers" : "repeat");
	if (rc == LS_OK && job->grid != NULL)
		rc = ls_err_set(
		    err, LS_E_INVALID, "grid: its phases must be written out (lockstep does so with a job file)");
	if (rc == LS_OK)
		rc = validate_phases(job, err);
	return rc == LS_OK ? job_check_caps(job, err) : rc;
}

uint64_t
job_phase_workers(const struct job *job, const struct phase *phase)
{
	if (phase_kind_info((enum phase_kind)phase->kind)->groups & (PHASE_TOOL | PHASE_CLUSTER))
		return 1; /* the program itself; or a node is one that looks */
	return phase->workers != 0 ? phase->workers : job->workers;
}

/* --- footprint --- */

/* A phase's file set: how many files, how large each. */
struct file_set {
	uint64_t files;
	uint64_t bytes;
};

/* Most of each kind of file, first those of data; the kinds have names of their own and exist side by side. */
enum set_kind {
	SET_WORKER = 0,
	SET_WORKER_MANY,
	SET_NODE,
	SET_SHARED,
	SET_INTERLEAVED,
	SET_SAME,
	SET_FILES, /* of metadata phases: private, then in a shared directory */
	SET_FILES_SHARED,
	SET_DIRECTORIES,
	SET_DIRECTORIES_SHARED,
	SET_SYMLINKS,
	SET_SYMLINKS_SHARED,
	SET_TREE,
	SET_TOOL,
	SET_CLUSTER,
	SET_COUNT
};

/* Hard links are none: they are names of files. */
static enum set_kind
named_set_kind(const struct phase *phase)
{
	enum op_kind op = phase_kind_info((enum phase_kind)phase->kind)->op;
	bool shared = phase->dirs == DIRS_SHARED;

	if (op == OP_MKDIR || op == OP_RMDIR)
		return shared ? SET_DIRECTORIES_SHARED : SET_DIRECTORIES;
	if (op == OP_SYMLINK)
		return shared ? SET_SYMLINKS_SHARED : SET_SYMLINKS;
	return shared ? SET_FILES_SHARED : SET_FILES;
}

static enum set_kind
phase_set_kind(const struct phase *phase)
{
	if (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_TREE)
		return SET_TREE;
	if (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_TOOL)
		return SET_TOOL;
	if (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_CLUSTER)
		return SET_CLUSTER;
	if (!(phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_DATA))
		return named_set_kind(phase);
	switch ((enum phase_layout)phase->layout) {
	case LAYOUT_WORKER:
		return phase->files_per_worker > 1 ? SET_WORKER_MANY : SET_WORKER;
	case LAYOUT_NODE:
		return SET_NODE;
	case LAYOUT_SHARED:
		return SET_SHARED;
	case LAYOUT_INTERLEAVED:
		return SET_INTERLEAVED;
	case LAYOUT_SAME:
		return SET_SAME;
	}
	return SET_WORKER;
}

/*
 * The largest that file sets of one kind can become together. File number n of a data layout is one file in all phases
 * and grows to the largest that any phase with more than n files asks for, hence a staircase: from the largest size down,
 * each set adds those files that no larger set has counted yet.
 */
static int
compare_sets(const void *a, const void *b)
{
	const struct file_set *x = a, *y = b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static struct file_set
staircase(struct file_set *sets, size_t count)
{
	struct file_set total = { 0 };

	qsort(sets, count, sizeof(*sets), compare_sets);
	for (size_t i = 0; i < count; i++) {
		if (sets[i].files <= total.files)
			continue;
		total.bytes = sat_add(total.bytes, sat_mul(sets[i].files - total.files, sets[i].bytes));
		total.files = sets[i].files;
	}
	return total;
}

/* Metadata phases make their files anew: what is larger at a time counts. */
static struct file_set
largest(const struct file_set *sets, size_t count)
{
	struct file_set most = { 0 };

	for (size_t i = 0; i < count; i++) {
		most.files = LS_MAX(most.files, sets[i].files);
		most.bytes = LS_MAX(most.bytes, sat_mul(sets[i].files, sets[i].bytes));
	}
	return most;
}

static struct file_set
all_of(const struct file_set *sets, size_t count)
{
	struct file_set all = { 0 };

	for (size_t i = 0; i < count; i++) {
		all.files = sat_add(all.files, sets[i].files);
		all.bytes = sat_add(all.bytes, sat_mul(sets[i].files, sets[i].bytes));
	}
	return all;
}

static size_t
collect_sets(const struct job *job, uint64_t node_count, enum set_kind kind, struct file_set *sets)
{
	size_t n = 0;

	for (size_t i = 0; i < job->phases_count; i++) {
		const struct phase *phase = &job->phases[i];
		uint64_t workers = sat_mul(job_phase_workers(job, phase), node_count);
		uint64_t bytes, files;

		if (phase_set_kind(phase) != kind)
			continue;
		phase_footprint(phase, node_count, workers, &bytes, &files);
		sets[n++] = (struct file_set){ .files = files, .bytes = files > 0 ? bytes / files : 0 };
		if (bytes == UINT64_MAX)
			sets[n - 1].bytes = UINT64_MAX;
	}
	return n;
}

void
job_footprint(const struct job *job, uint64_t node_count, uint64_t *out_bytes, uint64_t *out_files)
{
	struct file_set *sets = ls_calloc(job->phases_count + 1, sizeof(*sets));
	uint64_t bytes = 0, files = 0;

	for (enum set_kind kind = SET_WORKER; kind < SET_COUNT; kind++) {
		size_t n = collect_sets(job, node_count, kind, sets);
		bool data = kind <= SET_SAME;
		struct file_set most = data ? staircase(sets, n) : largest(sets, n);

		/* Each row has files of its own, and none goes before the run's end. */
		if (kind == SET_CLUSTER)
			most = all_of(sets, n);

		bytes = sat_add(bytes, most.bytes);
		files = sat_add(files, most.files);
	}
	free(sets);
	*out_bytes = bytes;
	*out_files = files;
}
