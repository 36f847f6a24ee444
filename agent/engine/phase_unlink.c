/* Removing files: unlink, and the same under its older name, delete. */
#include <errno.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
unlink_file(struct worker *w)
{
	if (unlinkat(w->meta.dir_fd, w->meta.name, 0) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_UNLINK, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = unlink_file,
	.call = SHM_CALL_UNLINK,
	.class = META_FILES,
	.changes = true,
	.flush = META_FLUSH_DIRECTORIES,
	.after = meta_note_removed,
};

const struct phase_ops phase_ops_unlink = META_OPS(phase);
const struct phase_ops phase_ops_delete = META_OPS(phase);
