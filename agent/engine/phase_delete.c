/* Removing files. A flush that counts is an fsync of the directory at the end. */
#include <errno.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
arm(struct worker *w)
{
	return meta_arm(w, true);
}

static bool
delete_file(struct worker *w)
{
	if (unlinkat(w->meta.dir_fd, w->meta.name, 0) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_UNLINK, LS_UNKNOWN_U64, errno);
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	const struct meta_loop loop = {
		.op = delete_file,
		.call = SHM_CALL_UNLINK,
		.sync_directory = w->engine->spec.fsync,
	};

	w->meta.present->begin = meta_run(w, cpu, &loop);
}

const struct phase_ops phase_ops_delete = {
	.arm = arm,
	.run = run,
	.flush = meta_flush,
	.disarm = meta_disarm,
};
