/* Writing character by character: bonnie++'s phase 0. Since 1.97 these are system calls, and no more than 3 MiB. */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	bool bytes = w->engine->spec.semantics == BONNIE_2_00;

	return data_arm(w,
	    &(const struct data_traits){ .write = true,
		.fresh = true,
		.bonnie = true,
		.io = bytes ? &io_engine_bytes : &io_engine_putc,
		.bound = phase_byte_limit(&w->engine->spec) });
}

const struct phase_ops phase_ops_char_write = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
