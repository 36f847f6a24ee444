/*
 * Reading directories: open, getdents64 until the end, close. An operation is an entry (. and .. are none); it takes as long as the
 * call that delivered it.
 */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static uint64_t
all(struct worker *w)
{
	return meta_read_directories(w, false);
}

static const struct meta_phase phase = {
	.all = all,
	.call = SHM_CALL_READDIR,
	.class = META_FILES,
	.goes_round = true,
};

const struct phase_ops phase_ops_readdir = META_OPS(phase);
