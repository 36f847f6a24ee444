/* Overwriting the first record again and again: iozone's test 4. */
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	return data_arm(w, &(const struct data_traits){ .write = true, .order = OFFSETS_FIXED });
}

const struct phase_ops phase_ops_record_rewrite = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
