/* Seeks by several workers in one file, one of ten an update: bonnie++'s phase 5. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w,
	    &(const struct data_traits){
		.write = true, .update = true, .seeks = true, .bonnie = true, .io = &io_engine_update });
}

const struct phase_ops phase_ops_seeks = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
