/* Reading all and checking every block; that it checks, whatever the job says, is the engine's doing (set_phase). */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .order = OFFSETS_FORWARD });
}

const struct phase_ops phase_ops_verify = {
	.lay_out = data_lay_out,
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
