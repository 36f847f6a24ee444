/* Updating each chunk: bonnie++'s phase 2. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(
	    w, &(const struct data_traits){ .write = true, .update = true, .bonnie = true, .io = &io_engine_update });
}

const struct phase_ops phase_ops_bonnie_rewrite = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
