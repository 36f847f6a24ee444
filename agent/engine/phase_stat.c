/* Asking for the attributes of files, again and again if there is a time. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
arm(struct worker *w)
{
	return meta_arm(w, true);
}

static bool
stat_file(struct worker *w)
{
	struct stat st;

	if (fstatat(w->meta.dir_fd, w->meta.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_STAT, LS_UNKNOWN_U64, errno);
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	const struct meta_loop loop = {
		.op = stat_file,
		.call = SHM_CALL_STAT,
		.goes_round = w->engine->spec.time > 0,
	};

	meta_run(w, cpu, &loop);
}

const struct phase_ops phase_ops_stat = {
	.arm = arm,
	.run = run,
	.disarm = meta_disarm,
};
