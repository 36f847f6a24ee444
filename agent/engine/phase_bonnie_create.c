/* Making small files: bonnie++'s phases 6 and 9. */
#include "agent/engine/phase_tree.h"

static bool
arm(struct worker *w)
{
	return tree_arm(w, false);
}

const struct phase_ops phase_ops_bonnie_create = {
	.arm = arm,
	.run = tree_create,
	.flush = tree_flush,
	.disarm = tree_disarm,
};
