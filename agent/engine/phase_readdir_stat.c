/*
 * Reading directories and asking for the attributes of each entry. An operation is an entry with its attributes; the first one
 * of a call of getdents64 takes that call's time as well.
 */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static uint64_t
all(struct worker *w)
{
	return meta_read_directories(w, true);
}

static const struct meta_phase phase = {
	.all = all,
	.call = SHM_CALL_READDIR,
	.class = META_FILES,
	.goes_round = true,
};

const struct phase_ops phase_ops_readdir_stat = META_OPS(phase);
