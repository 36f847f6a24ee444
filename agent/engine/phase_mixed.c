/*
 * Reads and writes side by side. Either each worker does one of them, as in iozone's test 8, or each operation is drawn anew.
 */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_data.h"

/* Its number among all workers of all nodes, and how many there are. */
static uint64_t
rank_of(const struct worker *w, uint64_t *total)
{
	const struct engine *e = w->engine;
	uint64_t rank = 0;

	*total = 0;
	for (uint64_t i = 0; i < e->config.node_count; i++) {
		if (i == e->config.node_index)
			rank = *total + w->index;
		*total += e->node_workers[i];
	}
	return rank;
}

/* Does this worker only read? */
static bool
is_reader(const struct worker *w)
{
	uint64_t total, rank = rank_of(w, &total);

	if (w->engine->spec.mix == MIX_ALTERNATE)
		return rank % 2 == 0;
	return rank * 100 < w->engine->spec.read_percent * total;
}

static bool
arm(struct worker *w)
{
	const struct phase *spec = &w->engine->spec;
	struct data_traits traits = { .write = true };

	traits.order = spec->mix_order == MIX_RANDOM ? OFFSETS_RANDOM : OFFSETS_FORWARD;
	if (spec->mix == MIX_OPERATIONS) {
		traits.read_percent = (unsigned)spec->read_percent;
		/* Whoever only reads has nothing to stamp. */
		traits.write = spec->read_percent < 100;
	} else {
		traits.write = !is_reader(w);
	}
	return data_arm(w, &traits);
}

const struct phase_ops phase_ops_mixed = {
	.arm = arm,
	.run = data_run,
	.flush = data_flush,
	.disarm = data_disarm,
};
