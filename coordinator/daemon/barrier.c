#include "coordinator/daemon/barrier.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define BURST_LONG   8
#define BURST_SHORT  3
#define BURST_BUDGET 1024 /* exchanges for all nodes of an attempt together, as far as that goes */

void
barrier_init(struct barrier *b, size_t nodes)
{
	*b = (struct barrier){ 0 };
	tally_init(&b->armed, nodes);
	tally_init(&b->measured, nodes);
	tally_init(&b->set, nodes);
	b->turns = ls_calloc(nodes + 1, sizeof(*b->turns));
	b->bursting = ls_calloc(nodes + 1, sizeof(*b->bursting));
}

void
barrier_fini(struct barrier *b)
{
	tally_fini(&b->armed);
	tally_fini(&b->measured);
	tally_fini(&b->set);
	free(b->turns);
	free(b->bursting);
	b->turns = NULL;
	b->bursting = NULL;
}

void
barrier_was_late(struct barrier *b)
{
	b->timeouts++;
	b->calm = 0;
}

void
barrier_has_begun(struct barrier *b)
{
	if (b->timeouts > 0)
		b->timeouts--; /* a machine that was busy for one phase is likely to be so for the next */
	if (b->calm < BARRIER_CALM)
		b->calm++;
}

void
barrier_begin(struct barrier *b, const bool *wanted)
{
	tally_reset(&b->armed, wanted);
	tally_reset(&b->measured, wanted);
	tally_reset(&b->set, wanted);
	b->nodes = b->armed.missing;
	b->turn_count = b->turn_next = b->bursts = 0;
	memset(b->bursting, 0, b->armed.n * sizeof(*b->bursting));
	b->worst_rtt_ns = 0;
	b->start = (struct ls_mono){ 0 };
	b->committed = false;
}

bool
barrier_armed(struct barrier *b, size_t i)
{
	if (!tally_give(&b->armed, i))
		return false;
	b->turns[b->turn_count++] = i;
	return true;
}

unsigned
barrier_burst(const struct barrier *b)
{
	size_t share = BURST_BUDGET / LS_MAX(b->nodes, (size_t)1);

	return (unsigned)LS_MIN(LS_MAX(share, (size_t)BURST_SHORT), (size_t)BURST_LONG);
}

size_t
barrier_next_burst(struct barrier *b)
{
	while (b->bursts < BARRIER_BURSTS_MAX && b->turn_next < b->turn_count) {
		size_t i = b->turns[b->turn_next++];

		if (!tally_wanted(&b->measured, i))
			continue;
		b->bursting[i] = true;
		b->bursts++;
		return i;
	}
	return BARRIER_NOBODY;
}

static void
burst_over(struct barrier *b, size_t i)
{
	if (i >= b->armed.n || !b->bursting[i])
		return;
	b->bursting[i] = false;
	b->bursts--;
}

bool
barrier_measured(struct barrier *b, size_t i, int64_t rtt_ns)
{
	burst_over(b, i);
	if (!tally_give(&b->measured, i))
		return false;
	b->worst_rtt_ns = LS_MAX(b->worst_rtt_ns, rtt_ns);
	return true;
}

bool
barrier_set(struct barrier *b, size_t i)
{
	return tally_give(&b->set, i);
}

void
barrier_drop(struct barrier *b, size_t i)
{
	burst_over(b, i);
	tally_drop(&b->armed, i);
	tally_drop(&b->measured, i);
	tally_drop(&b->set, i);
}

bool
barrier_ready(const struct barrier *b)
{
	return tally_complete(&b->armed) && tally_complete(&b->measured);
}

/* Nodes that cost extra time. */
static int64_t
many(const struct barrier *b)
{
	return b->nodes > BARRIER_NODES_FREE ? (int64_t)(b->nodes - BARRIER_NODES_FREE) : 0;
}

int64_t
barrier_lead_ns(const struct barrier *b)
{
	int64_t least = b->calm >= BARRIER_CALM ? BARRIER_LEAD_CALM_NS : BARRIER_LEAD_FLOOR_NS;
	int64_t lead = 2 * LS_MIN(b->worst_rtt_ns, BARRIER_LEAD_MAX_NS) + least + many(b) * BARRIER_NODE_LEAD_NS;

	for (unsigned i = 0; i < b->timeouts && lead < BARRIER_LEAD_MAX_NS; i++)
		lead = LS_MIN(lead * BARRIER_LEAD_GROWTH, BARRIER_LEAD_MAX_NS);
	return lead;
}

int64_t
barrier_late_limit_ns(uint64_t attempt)
{
	int64_t limit = BARRIER_LATE_NS;

	for (uint64_t i = BARRIER_LATE_AGAIN; i <= attempt && i < BARRIER_ATTEMPTS_MAX; i++)
		limit *= BARRIER_LEAD_GROWTH;
	return limit;
}

int64_t
barrier_margin_ns(const struct barrier *b)
{
	return LS_MAX(b->worst_rtt_ns, BARRIER_MARGIN_FLOOR_NS) + many(b) * BARRIER_NODE_MARGIN_NS;
}

enum barrier_verdict
barrier_judge(const struct barrier *b, struct ls_mono now)
{
	if (b->start.ns - now.ns < barrier_margin_ns(b))
		return BARRIER_LATE;
	return tally_complete(&b->set) ? BARRIER_COMMIT : BARRIER_WAIT;
}
