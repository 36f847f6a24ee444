/* Asking for the attributes of files, again and again if there is a time. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
stat_file(struct worker *w)
{
	struct stat st;

	if (fstatat(w->meta.dir_fd, w->meta.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_STAT, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = stat_file,
	.call = SHM_CALL_STAT,
	.class = META_FILES,
	.goes_round = true,
};

const struct phase_ops phase_ops_stat = META_OPS(phase);
