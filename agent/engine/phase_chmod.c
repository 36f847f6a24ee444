/* Changing the mode of files, round by round to and fro. */
#include <errno.h>
#include <sys/stat.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
operation(struct worker *w)
{
	mode_t mode =
	    atomic_load_explicit(&w->shm->done, memory_order_relaxed) / w->engine->spec.files % 2 == 0 ? 0640 : 0600;

	if (fchmodat(w->meta.dir_fd, w->meta.name, mode, 0) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_CHMOD, LS_UNKNOWN_U64, errno);
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
		.call = SHM_CALL_CHMOD,
		.goes_round = w->engine->spec.time > 0,
	};

	meta_run(w, cpu, &loop);
}

const struct phase_ops phase_ops_chmod = {
	.arm = arm,
	.run = run,
	.flush = meta_flush,
	.disarm = meta_disarm,
};
