/* Reading from the last record to the first: iozone's test 3. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .order = OFFSETS_BACKWARD });
}

const struct phase_ops phase_ops_backward_read = {
	.lay_out = data_lay_out,
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
