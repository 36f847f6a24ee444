/* Overwriting through a stream once more: iozone's test 6, second pass. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .write = true, .io = &io_engine_stdio });
}

const struct phase_ops phase_ops_frewrite = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
