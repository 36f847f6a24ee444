/* Overwriting with pwrite once more: iozone's test 9, second pass. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .write = true });
}

const struct phase_ops phase_ops_re_pwrite = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
