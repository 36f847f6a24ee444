/*
 * Phases that an external program does (fio, bonnie++, iozone). The only worker of the node lets it go at the instant and then looks at
 * its counters until the phase is over. What it counts is what can be seen from outside.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/tally.h"
#include "common/base/clock.h"

#define LOOK_NS (100 * NS_PER_MS)

static bool
stopped(void *arg)
{
	struct worker *w = arg;

	return tally_stopped(&w->tool_tally);
}

static bool
tool_arm(struct worker *w)
{
	const struct engine *e = w->engine;
	const struct phase_kind_info *kind = phase_kind_info((enum phase_kind)e->spec.kind);
	struct ls_err err = { 0 };

	tally_arm(&w->tool_tally, w->shm, e->control, e->epoch, kind->op);
	snprintf(w->shm->file, sizeof(w->shm->file), "%s", kind->name);
	tally_call(&w->tool_tally, SHM_CALL_TOOL);
	if (e->config.tools == NULL)
		(void)ls_err_set(&err, LS_E_REFUSED, "%s: no external programs here", kind->name);
	else if (e->config.tools->arm(e->config.tools_arg, &e->spec, stopped, w, &err) == LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

/* What is new since the last look. */
static void
take_counts(struct tally *t, const struct engine_tool_counts *c, int64_t now_ns)
{
	struct shm_worker *s = t->shm;
	uint64_t bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed);
	uint64_t ops = atomic_load_explicit(&s->ops, memory_order_relaxed);

	/* processes that end between two looks can make the sum smaller for a moment */
	if (c->bytes > bytes)
		atomic_store_explicit(&s->bytes, c->bytes, memory_order_relaxed);
	if (c->ops > ops)
		atomic_store_explicit(&s->ops, c->ops, memory_order_relaxed);
	if (c->bytes > bytes || c->ops > ops)
		hist_bump(&s->done, 1);
	atomic_store_explicit(&s->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&s->cpu_user_ns, c->cpu_user_ns, memory_order_relaxed);
	atomic_store_explicit(&s->cpu_system_ns, c->cpu_system_ns, memory_order_relaxed);
	t->end_ns = now_ns;
	tally_step(t, now_ns);
}

static void
tool_run(struct worker *w, const struct rusage *cpu)
{
	const struct engine *e = w->engine;
	const struct engine_tools *tools = e->config.tools;
	struct tally *t = &w->tool_tally;
	enum engine_tool_state state = ENGINE_TOOL_RUNS;
	struct engine_tool_counts counts = { 0 };
	struct ls_err err = { 0 };
	int64_t end_ns = 0;

	t->cpu = *cpu;
	tally_go(t, e->start_ns, 0);
	tally_call(t, SHM_CALL_TOOL);
	tally_begin(t, io_now_ns());
	if (tools->release(e->config.tools_arg, &err) != LS_OK)
		state = ENGINE_TOOL_FAILED;
	for (int64_t next = e->start_ns + LOOK_NS; state == ENGINE_TOOL_RUNS; next += LOOK_NS) {
		state = tools->poll(e->config.tools_arg, next, &counts, &end_ns, &err);
		take_counts(t, &counts, state == ENGINE_TOOL_DONE ? end_ns : io_now_ns());
		if (state != ENGINE_TOOL_RUNS || !tally_stopped(t))
			continue;
		tools->stop(e->config.tools_arg);
		(void)ls_err_set(&err, LS_E_CLOSED, "stopped while the program ran");
		state = ENGINE_TOOL_FAILED;
	}
	tally_finish(t, end_ns);
	/* the program's, not this thread's */
	atomic_store_explicit(&w->shm->cpu_user_ns, counts.cpu_user_ns, memory_order_relaxed);
	atomic_store_explicit(&w->shm->cpu_system_ns, counts.cpu_system_ns, memory_order_relaxed);
	if (state == ENGINE_TOOL_FAILED)
		worker_fail_err(w, "run", &err);
}

static void
tool_flush(struct worker *w)
{
	tally_call(&w->tool_tally, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (syncfs(w->engine->config.run_dir_fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_SYNCFS, ".", errno);
	tally_call(&w->tool_tally, SHM_CALL_NONE);
}

/* A program goes on to its next phase: it ends with its last one, with a failure, or with the run. */
static void
tool_disarm(struct worker *w)
{
	const struct engine *e = w->engine;

	if (w->failed && e->config.tools != NULL)
		e->config.tools->stop(e->config.tools_arg);
}

const struct phase_ops phase_ops_run_fio = {
	.arm = tool_arm, .run = tool_run, .flush = tool_flush, .disarm = tool_disarm
};
const struct phase_ops phase_ops_run_bonnie = {
	.arm = tool_arm, .run = tool_run, .flush = tool_flush, .disarm = tool_disarm
};
const struct phase_ops phase_ops_run_iozone = {
	.arm = tool_arm, .run = tool_run, .flush = tool_flush, .disarm = tool_disarm
};
