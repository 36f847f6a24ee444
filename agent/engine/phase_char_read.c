/* Reading character by character: bonnie++'s phase 3. */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_data.h"

static bool
arm(struct worker *w)
{
	bool bytes = w->engine->spec.semantics == BONNIE_2_00;

	return data_arm(w,
	    &(const struct data_traits){ .bonnie = true,
		.io = bytes ? &io_engine_bytes : &io_engine_putc,
		.bound = phase_byte_limit(&w->engine->spec) });
}

const struct phase_ops phase_ops_char_read = {
	.arm = arm,
	.run = data_run,
	.disarm = data_disarm,
};
