/* Overwriting through a stream: iozone's test 6, first pass. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .write = true, .io = &io_engine_stdio });
}

const struct phase_ops phase_ops_fwrite = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
