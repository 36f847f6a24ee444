/* Changing the mode of files, round by round to and fro. */
#include <errno.h>
#include <sys/stat.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
change_mode(struct worker *w)
{
	mode_t mode =
	    atomic_load_explicit(&w->shm->done, memory_order_relaxed) / w->engine->spec.files % 2 == 0 ? 0640 : 0600;

	if (fchmodat(w->meta.dir_fd, w->meta.name, mode, 0) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_CHMOD, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = change_mode,
	.call = SHM_CALL_CHMOD,
	.class = META_FILES,
	.goes_round = true,
	.changes = true,
	.flush = META_FLUSH_VOLUME,
};

const struct phase_ops phase_ops_chmod = META_OPS(phase);
