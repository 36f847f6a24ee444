/* Opening files for reading and closing them: one operation. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
operation(struct worker *w)
{
	int fd = openat(w->meta.dir_fd, w->meta.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return meta_fail(w, "run", SHM_CALL_OPEN, LS_UNKNOWN_U64, errno);
	tally_call(&w->meta.tally, SHM_CALL_CLOSE);
	return close(fd) == 0 || meta_fail(w, "run", SHM_CALL_CLOSE, LS_UNKNOWN_U64, errno);
}

static bool
arm(struct worker *w)
{
	return meta_arm(w, true);
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	const struct meta_loop loop = {
		.op = operation,
		.call = SHM_CALL_OPEN,
		.goes_round = w->engine->spec.time > 0,
	};

	meta_run(w, cpu, &loop);
}

const struct phase_ops phase_ops_open_close = {
	.arm = arm,
	.run = run,
	.disarm = meta_disarm,
};
