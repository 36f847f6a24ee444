/* Reading in order once more: does what read does; its place after read makes the difference. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .write = false });
}

const struct phase_ops phase_ops_reread = {
	.lay_out = data_lay_out,
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
