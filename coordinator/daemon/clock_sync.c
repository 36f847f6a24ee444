#include "coordinator/daemon/clock_sync.h"

#include <string.h>

void
clock_sync_reset(struct clock_sync *cs)
{
	uint64_t seq = cs->seq;

	memset(cs, 0, sizeof(*cs));
	cs->seq = seq;
}

void
clock_sync_disconnected(struct clock_sync *cs)
{
	memset(cs->out, 0, sizeof(cs->out));
	cs->burst_left = 0;
}

void
clock_sync_begin_burst(struct clock_sync *cs, unsigned exchanges)
{
	cs->burst_left = exchanges;
	cs->burst_worst_ns = 0;
	cs->burst_seq = cs->seq + 1;
}

struct msg_ping
clock_sync_ping(struct clock_sync *cs, struct ls_mono now)
{
	size_t slot;

	cs->seq++;
	slot = cs->seq % CLOCK_SYNC_OUT_MAX;
	cs->out[slot].seq = cs->seq;
	cs->out[slot].t0 = now.ns;
	return (struct msg_ping){ .seq = cs->seq, .t0 = now.ns };
}

enum ls_rc
clock_sync_pong(struct clock_sync *cs, const struct msg_pong *pong, struct ls_mono received, enum clock_sync_next *next,
    struct ls_err *err)
{
	size_t slot = pong->seq % CLOCK_SYNC_OUT_MAX;
	struct clock_sample sample;

	if (pong->seq == 0 || cs->out[slot].seq != pong->seq || cs->out[slot].t0 != pong->t0)
		return ls_err_set(err, LS_E_PROTO, "pong %llu answers no ping", (unsigned long long)pong->seq);
	cs->out[slot].seq = 0;
	if (clockfit_exchange((struct ls_mono){ pong->t0 }, (struct ls_rmono){ pong->t1 },
		(struct ls_rmono){ pong->t2 }, received, &sample) == LS_OK)
		clockfit_add(&cs->fit, &sample);

	*next = CLOCK_SYNC_IDLE;
	if (cs->burst_left == 0 || pong->seq != cs->burst_seq)
		return LS_OK;
	cs->burst_left--;
	cs->burst_worst_ns = LS_MAX(cs->burst_worst_ns, received.ns - pong->t0);
	cs->burst_seq = cs->seq + 1;
	*next = cs->burst_left > 0 ? CLOCK_SYNC_PING : CLOCK_SYNC_BURST_DONE;
	return LS_OK;
}

void
clock_sync_fill(const struct clock_sync *cs, struct ls_mono now, struct node_clock *out)
{
	struct clock_estimate e;

	*out = (struct node_clock){ LS_UNKNOWN_I64, LS_UNKNOWN_I64, LS_UNKNOWN_I64, LS_UNKNOWN_I64 };
	if (clockfit_estimate(&cs->fit, now, &e) != LS_OK)
		return;
	out->offset_ns = e.offset_ns;
	out->uncertainty_ns = e.uncertainty_ns;
	out->rtt_ns = e.rtt_ns;
	out->drift_ppb = e.drift_ppb;
}
