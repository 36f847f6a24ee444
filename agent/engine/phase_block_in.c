/* Reading chunk after chunk: bonnie++'s phase 4. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .bonnie = true });
}

const struct phase_ops phase_ops_block_in = {
	.lay_out = data_lay_out,
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
