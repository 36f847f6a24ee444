/* Reading through a stream once more: iozone's test 7, second pass. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .io = &io_engine_stdio });
}

const struct phase_ops phase_ops_freread = {
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
