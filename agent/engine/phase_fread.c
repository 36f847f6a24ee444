/* Reading through a stream: iozone's test 7, first pass. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .io = &io_engine_stdio });
}

const struct phase_ops phase_ops_fread = {
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
