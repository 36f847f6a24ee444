/* Reading in random order. */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w,
	    &(const struct data_traits){ .order = w->engine->spec.random_repeats ? OFFSETS_REPEATS : OFFSETS_RANDOM });
}

const struct phase_ops phase_ops_random_read = {
	.lay_out = data_lay_out,
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
