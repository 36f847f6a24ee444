/* What a run has removed before one of its phases begins: creating just after that is slower on file systems that put it off. */
#include "common/base/mem.h"
#include "common/base/sat.h"
#include "proto/model/job.h"

/* Sets of objects that exist side by side: bonnie++'s trees, and each class in private directories and in a shared one. */
enum { SET_TREE = 0, SET_NAMED, CLASSES = 4, SET_COUNT = SET_NAMED + 2 * CLASSES };

static unsigned
set_of(const struct phase *phase)
{
	const struct phase_kind_info *info = phase_kind_info((enum phase_kind)phase->kind);
	unsigned class = 0;

	if ((info->groups & PHASE_TREE) != 0)
		return SET_TREE;
	if (info->op == OP_MKDIR || info->op == OP_RMDIR)
		class = 1;
	else if (info->op == OP_SYMLINK)
		class = 2;
	else if (info->op == OP_LINK)
		class = 3;
	return class + (unsigned)(phase->dirs == DIRS_SHARED ? SET_NAMED + CLASSES : SET_NAMED);
}

static bool
is_metadata(const struct phase *phase)
{
	return (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_META) != 0;
}

static bool
makes(const struct phase *phase)
{
	return is_metadata(phase) && phase_kind_info((enum phase_kind)phase->kind)->needs == PHASE_FRESH;
}

static bool
removes(const struct phase *phase)
{
	enum op_kind op = phase_kind_info((enum phase_kind)phase->kind)->op;

	return is_metadata(phase) && (op == OP_DELETE || op == OP_RMDIR);
}

static uint64_t
objects_of(const struct job *job, const struct phase *phase, uint64_t node_count)
{
	uint64_t nodes = phase->nodes_count > 0 ? phase->nodes_count : node_count;

	return sat_mul(phase->files, sat_mul(job_phase_workers(job, phase), nodes));
}

/* Takes a phase into account: what there is after it, what it has removed. */
static void
pass(const struct job *job, const struct phase *phase, uint64_t node_count, uint64_t have[SET_COUNT], uint64_t *removed)
{
	uint64_t n = objects_of(job, phase, node_count);
	uint64_t *set = &have[set_of(phase)];

	if (makes(phase)) {
		*removed = sat_add(*removed, *set);
		*set = n;
	} else if (is_metadata(phase)) {
		*set = LS_MAX(*set, n);
	}
	if (removes(phase)) {
		*removed = sat_add(*removed, n);
		*set -= n;
	}
}

uint64_t
job_removed_before(const struct job *job, uint64_t node_count, uint64_t repetition, uint64_t index)
{
	uint64_t have[SET_COUNT] = { 0 };
	uint64_t removed = 0;

	if (index >= job->phases_count || !makes(&job->phases[index]))
		return 0;
	/* Two rounds are enough: the second finds what the first left, and so do all after it. */
	for (uint64_t round = repetition > 0 ? repetition - 1 : 0; round <= repetition; round++)
		for (uint64_t i = 0; i < (round == repetition ? index : job->phases_count); i++)
			pass(job, &job->phases[i], node_count, have, &removed);
	return sat_add(removed, have[set_of(&job->phases[index])]);
}
