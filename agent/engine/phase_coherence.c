/* Nodes do something, and the others look whether they see it as it must be: the steps of one check after the other. */
#include <errno.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

static const struct cluster_check *const checks[CHECK_COUNT] = {
	[CHECK_DATA] = &cluster_check_data,
	[CHECK_APPEND] = &cluster_check_append,
	[CHECK_EXCL] = &cluster_check_excl,
	[CHECK_RENAME] = &cluster_check_rename,
	[CHECK_UNLINK] = &cluster_check_unlink,
	[CHECK_TRUNCATE] = &cluster_check_truncate,
	[CHECK_ATTRIBUTES] = &cluster_check_attributes,
};

static bool
arm(struct worker *w)
{
	const struct phase *spec = &w->engine->spec;

	return cluster_begin(w, spec->step == 0) && checks[spec->check]->arm(w, spec->step);
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	const struct phase *spec = &w->engine->spec;

	cluster_go(w, cpu);
	checks[spec->check]->run(w, spec->step);
	cluster_stop(w);
}

/* Before the others look. */
static void
flush(struct worker *w)
{
	struct cluster *c = &w->engine->cluster;

	tally_call(&c->tally, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (syncfs(c->dir_fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_SYNCFS, "shared/c", errno);
	tally_call(&c->tally, SHM_CALL_NONE);
}

const struct phase_ops phase_ops_coherence = {
	.arm = arm,
	.run = run,
	.flush = flush,
	.disarm = cluster_end,
};
