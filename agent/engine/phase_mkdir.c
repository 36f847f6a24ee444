/* Making directories. */
#include <errno.h>
#include <sys/stat.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

#define DIR_MODE 0700

static bool
make_directory(struct worker *w)
{
	if (mkdirat(w->meta.dir_fd, w->meta.name, DIR_MODE) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_MKDIR, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = make_directory,
	.call = SHM_CALL_MKDIR,
	.class = META_DIRECTORIES,
	.fresh = true,
	.changes = true,
	.flush = META_FLUSH_DIRECTORIES,
	.after = meta_note_made,
};

const struct phase_ops phase_ops_mkdir = META_OPS(phase);
