/* Reading with pread once more: iozone's test 10, second pass. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .order = OFFSETS_FORWARD });
}

const struct phase_ops phase_ops_re_pread = {
	.lay_out = data_lay_out,
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
