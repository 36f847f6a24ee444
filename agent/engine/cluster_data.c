/* What blocks hold in phases that look at what others wrote: a function of run, row, node and round, so that any node can make it. */
#include <inttypes.h>
#include <string.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/offsets.h"

void
cluster_make_piece(const struct worker *w, const struct cluster_piece *p, unsigned char *out)
{
	const struct engine *e = w->engine;
	/* No clock is in it, so that all nodes make the same. */
	struct data_source source = {
		.seed = e->config.seed,
		.file = data_file(LAYOUT_NODE, p->rank, 0),
		.writer = data_writer(p->node, 0),
		.epoch = e->cluster.row,
		.sums = true,
	};

	for (size_t at = 0; at < p->size; at += DATA_BLOCK)
		data_fill(out + at, DATA_BLOCK,
		    offsets_mix(e->config.seed ^ offsets_mix(e->cluster.row ^ p->rank << 32 ^ p->round << 48) ^
			(p->offset + at)));
	data_stamp_record(&source, out, p->offset, p->size, p->round);
}

bool
cluster_block_round(
    const struct worker *w, const struct cluster_piece *p, const unsigned char *found, uint64_t *out_round)
{
	const struct data_stamp *stamp = (const struct data_stamp *)(const void *)found;

	if (stamp->magic != DATA_MAGIC || stamp->writer != data_writer(p->node, 0) || stamp->offset != p->offset)
		return false;
	*out_round = stamp->generation - data_generation(w->engine->cluster.row, 0);
	return true;
}

void
cluster_tell_block(
    struct worker *w, const struct cluster_piece *p, const unsigned char *found, const unsigned char *wanted)
{
	const struct data_stamp *stamp = (const struct data_stamp *)(const void *)found;
	uint64_t round;
	size_t at = 0;

	while (at < DATA_BLOCK - 1 && found[at] == wanted[at])
		at++;
	if (stamp->magic != DATA_MAGIC)
		cluster_look(w, false, "file of {%u}, offset %" PRIu64 ": nothing that lockstep wrote (0x%02x ...)",
		    p->node, p->offset, found[0]);
	else if (!cluster_block_round(w, p, found, &round))
		cluster_look(w, false,
		    "file of {%u}, offset %" PRIu64 ": a block of another place (offset %" PRIu64 ")", p->node,
		    p->offset, stamp->offset);
	else if (round != p->round)
		cluster_look(w, false,
		    "file of {%u}, offset %" PRIu64 ": stale, of round %" PRIu64 " instead of %" PRIu64, p->node,
		    p->offset, round + 1, p->round + 1);
	else
		cluster_look(w, false, "file of {%u}, offset %" PRIu64 ": differs from byte %zu of the block on",
		    p->node, p->offset, at);
}
