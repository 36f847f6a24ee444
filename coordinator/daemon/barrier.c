#include "coordinator/daemon/barrier.h"

void
barrier_init(struct barrier *b, size_t nodes)
{
	*b = (struct barrier){ 0 };
	tally_init(&b->armed, nodes);
	tally_init(&b->measured, nodes);
	tally_init(&b->set, nodes);
}

void
barrier_fini(struct barrier *b)
{
	tally_fini(&b->armed);
	tally_fini(&b->measured);
	tally_fini(&b->set);
}

void
barrier_begin(struct barrier *b, const bool *wanted)
{
	tally_reset(&b->armed, wanted);
	tally_reset(&b->measured, wanted);
	tally_reset(&b->set, wanted);
	b->worst_rtt_ns = 0;
	b->start = (struct ls_mono){ 0 };
	b->committed = false;
}

bool
barrier_armed(struct barrier *b, size_t i)
{
	return tally_give(&b->armed, i);
}

bool
barrier_measured(struct barrier *b, size_t i, int64_t rtt_ns)
{
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
	tally_drop(&b->armed, i);
	tally_drop(&b->measured, i);
	tally_drop(&b->set, i);
}

bool
barrier_ready(const struct barrier *b)
{
	return tally_complete(&b->armed) && tally_complete(&b->measured);
}

int64_t
barrier_lead_ns(const struct barrier *b)
{
	int64_t lead = 2 * LS_MIN(b->worst_rtt_ns, BARRIER_LEAD_MAX_NS) + BARRIER_LEAD_FLOOR_NS;

	for (unsigned i = 0; i < b->timeouts && lead < BARRIER_LEAD_MAX_NS; i++)
		lead *= 2;
	return lead;
}

int64_t
barrier_margin_ns(const struct barrier *b)
{
	return LS_MAX(b->worst_rtt_ns, BARRIER_MARGIN_FLOOR_NS);
}

enum barrier_verdict
barrier_judge(const struct barrier *b, struct ls_mono now)
{
	if (b->start.ns - now.ns < barrier_margin_ns(b))
		return BARRIER_LATE;
	return tally_complete(&b->set) ? BARRIER_COMMIT : BARRIER_WAIT;
}
