/* Writing into a new file: bonnie++'s phase 1. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .write = true, .fresh = true, .bonnie = true });
}

const struct phase_ops phase_ops_block_out = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
