/*
 * A node's clock as pings and pongs show it: which pings are out, the window of exchanges, bursts. Sends nothing itself and reads no
 * clock: whoever owns the connection asks for a ping and hands in the pong.
 */
#ifndef LS_COORDINATOR_DAEMON_CLOCK_SYNC_H
#define LS_COORDINATOR_DAEMON_CLOCK_SYNC_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/stat/clockfit.h"
#include "proto/codec/msg.h"

#define CLOCK_SYNC_OUT_MAX 8 /* pings that may be unanswered */
#define CLOCK_SYNC_BURST   8 /* exchanges in a burst, one after the other */

struct clock_sync {
	struct clockfit fit;
	uint64_t seq; /* of the last ping */
	struct {
		uint64_t seq; /* 0: free */
		int64_t t0;
	} out[CLOCK_SYNC_OUT_MAX]; /* by seq modulo */
	unsigned burst_left;       /* exchanges still to do in the present burst; 0: none */
	uint64_t burst_seq;        /* the burst's ping that is out */
	int64_t burst_worst_ns;    /* the longest round trip of the burst so far, or of the last one */
};

enum clock_sync_next {
	CLOCK_SYNC_IDLE = 0,   /* nothing more to do */
	CLOCK_SYNC_PING,       /* a burst is on: send the next ping now */
	CLOCK_SYNC_BURST_DONE, /* that was the last of the burst */
};

/* Forgets everything: the node's clock may be another one (its agent was started anew). */
void clock_sync_reset(struct clock_sync *cs);

/* The connection is gone: pings that are out stay unanswered, a burst is off. The window stays. */
void clock_sync_disconnected(struct clock_sync *cs);

/* Begins a burst of so many exchanges; the caller sends a ping at once. */
void clock_sync_begin_burst(struct clock_sync *cs, unsigned exchanges);

/* The next ping, to be sent right now. */
struct msg_ping clock_sync_ping(struct clock_sync *cs, struct ls_mono now);

/*
 * Takes a pong in. received: when it was read off the socket. Errors: LS_E_PROTO when it answers no ping that is out (each ping
 * is answered once), or its t0 is not the ping's. A clock that went back is counted out silently.
 */
enum ls_rc clock_sync_pong(struct clock_sync *cs, const struct msg_pong *pong, struct ls_mono received,
    enum clock_sync_next *next, struct ls_err *err) LS_MUST_CHECK;

/* node_clock of now, all unknown when nothing was measured. */
void clock_sync_fill(const struct clock_sync *cs, struct ls_mono now, struct node_clock *out);

#endif
