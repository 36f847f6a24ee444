/* Removing small files and their directories: bonnie++'s phases 8 and 11. */
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_tree.h"

static bool
arm(struct worker *w)
{
	return tree_arm(w, true);
}

static int64_t
remove_file(struct worker *w, int dir_fd, const char *name)
{
	return unlinkat(dir_fd, name, 0) == 0 ? 0 : tree_fail(w, SHM_CALL_UNLINK, name);
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	tree_visit(w, cpu,
	    &(const struct tree_loop){ .op = remove_file, .call = SHM_CALL_UNLINK, .removes = true, .syncs = true });
}

const struct phase_ops phase_ops_bonnie_delete = {
	.arm = arm,
	.run = run,
	.flush = tree_flush,
	.disarm = tree_disarm,
};
