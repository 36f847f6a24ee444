/* Removing empty directories. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
remove_directory(struct worker *w)
{
	if (unlinkat(w->meta.dir_fd, w->meta.name, AT_REMOVEDIR) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_RMDIR, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = remove_directory,
	.call = SHM_CALL_RMDIR,
	.class = META_DIRECTORIES,
	.changes = true,
	.flush = META_FLUSH_DIRECTORIES,
	.after = meta_note_removed,
};

const struct phase_ops phase_ops_rmdir = META_OPS(phase);
