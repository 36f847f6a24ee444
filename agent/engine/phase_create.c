/* Creating files: open (O_CREAT and O_EXCL), write, fsync if it counts, close: one operation. */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
arm(struct worker *w)
{
	return meta_arm(w, false);
}

static bool
create(struct worker *w)
{
	return meta_create_file(w, "run", w->engine->spec.fsync);
}

static void
run(struct worker *w, const struct rusage *cpu)
{
	const struct meta_loop loop = {
		.op = create,
		.call = SHM_CALL_OPEN,
		.op_bytes = w->engine->spec.size,
	};
	uint64_t done = meta_run(w, cpu, &loop);

	/* One that failed half-way may be there as well. */
	*w->meta.present = (struct meta_range){ 0, done + (w->failed ? 1 : 0) };
}

const struct phase_ops phase_ops_create = {
	.arm = arm,
	.run = run,
	.flush = meta_flush,
	.disarm = meta_disarm,
};
