/*
 * Rates of a run that goes on, as terminal, web page and metrics show them: the one place that keeps reads and writes of phases that mix
 * them apart there. Pure.
 */
#ifndef LS_PROTO_CODEC_LIVE_H
#define LS_PROTO_CODEC_LIVE_H

#include <stdbool.h>

#include "proto/codec/msg.h"

/* Before people see it: what both operations of a mixed phase did together becomes unknown, by_op says it. Nothing for other phases. */
void live_node_keep_apart(struct live_node *node);

/*
 * How fast a node goes, to be held against other nodes of the phase and never shown: bytes per second, else operations, of mixed phases
 * those of both. NAN: not known.
 */
double live_node_pace(const struct live_node *node);

/* All nodes together, over the last sample of each; NAN: no node tells. */
struct live_totals {
	bool apart; /* the phase mixes: rates are by operation, and rate is unknown */
	struct rate rate;
	struct rate by_op[OP_COUNT]; /* NAN for those that are not done */
};

/* Of the nodes of an event. */
struct live_totals live_totals_of(const struct msg_run_event *event);

/* "12.3 MiB/s", or "read 12.3 MiB/s, write 5.2 MiB/s" where rates are apart; "" when nothing is known. Returns buf. */
const char *live_totals_text(const struct live_totals *totals, char *buf, size_t len);

/* The same of a node whose phase mixes: "read 12.3 MiB/s, write 5.2 MiB/s". */
const char *live_node_text(const struct live_node *node, char *buf, size_t len);

#endif
