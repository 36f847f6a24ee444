/* Opening files for reading and closing them: one operation. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
open_and_close(struct worker *w)
{
	int fd = openat(w->meta.dir_fd, w->meta.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return meta_fail(w, "run", SHM_CALL_OPEN, LS_UNKNOWN_U64, errno);
	tally_call(&w->meta.tally, SHM_CALL_CLOSE);
	return close(fd) == 0 || meta_fail(w, "run", SHM_CALL_CLOSE, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = open_and_close,
	.call = SHM_CALL_OPEN,
	.class = META_FILES,
	.goes_round = true,
};

const struct phase_ops phase_ops_open_close = META_OPS(phase);
