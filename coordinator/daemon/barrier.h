/*
 * The decisions at a phase's barrier: when all are armed and their clocks measured, how far ahead the instant lies, whether commit
 * may still be sent. Pure: no clock is read and nothing is sent here.
 */
#ifndef LS_COORDINATOR_DAEMON_BARRIER_H
#define LS_COORDINATOR_DAEMON_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "coordinator/daemon/tally.h"

#define BARRIER_LEAD_FLOOR_NS   (3 * NS_PER_MS)
#define BARRIER_LEAD_CALM_NS    (1500 * NS_PER_US) /* instead, where so many phases ... */
#define BARRIER_CALM            8                  /* ... in a row began without anybody being late */
#define BARRIER_LATE_NS         (20 * NS_PER_MS)   /* a node that wakes later than this misses the start ... */
#define BARRIER_LATE_AGAIN      3                  /* ... but where so many attempts of a phase are void */
#define BARRIER_MARGIN_FLOOR_NS (200 * NS_PER_US)
#define BARRIER_LEAD_MAX_NS     (5 * NS_PER_S)
#define BARRIER_LEAD_GROWTH                                                                                            \
	4 /* times as far ahead after an attempt for which somebody was late: the fifth waits for a second */
#define BARRIER_ATTEMPTS_MAX 5 /* void attempts after which a run fails */

/*
 * What a node costs the loop beyond the first few: go out, set in, commit out, about 50 us with TLS, three times that allowed for;
 * commit alone half of it. Measured by tests/bench/swarm.
 */
#define BARRIER_NODES_FREE     16
#define BARRIER_NODE_LEAD_NS   (150 * NS_PER_US)
#define BARRIER_NODE_MARGIN_NS (25 * NS_PER_US)

/* Bursts of pings under way at a time: with more, each would wait for the others and measure that. */
#define BARRIER_BURSTS_MAX 8
#define BARRIER_NOBODY     SIZE_MAX

struct barrier {
	struct tally armed;    /* who has said armed */
	struct tally measured; /* whose burst of pings is done */
	struct tally set;      /* who has said set */
	size_t nodes;          /* that take part in this attempt */
	size_t *turns;         /* nodes in the order in which they were armed: the turns for bursts */
	size_t turn_count, turn_next;
	bool *bursting; /* a burst of pings to that node is under way */
	size_t bursts;
	int64_t worst_rtt_ns; /* of all in this attempt */
	unsigned timeouts;    /* attempts that failed by time, less phases begun since: the lead grows with each */
	unsigned calm;        /* phases begun since the last such attempt */
	struct ls_mono start; /* the instant T, once it is chosen */
	bool committed;
};

enum barrier_verdict {
	BARRIER_WAIT = 0, /* somebody is not set yet, and there is time */
	BARRIER_COMMIT,   /* all set, and commit can still reach them */
	BARRIER_LATE,     /* the instant is too near */
};

/* A barrier for so many nodes, none of which has said anything; barrier_fini frees what it keeps of them. */
void barrier_init(struct barrier *b, size_t nodes);
void barrier_fini(struct barrier *b);

/* The attempt came to nothing because somebody was late; the phase began and is over. */
void barrier_was_late(struct barrier *b);
void barrier_has_begun(struct barrier *b);

/* A new attempt of those for whom wanted[i] is true; timeouts and calm stay. */
void barrier_begin(struct barrier *b, const bool *wanted);

/* Answers; false when not expected. rtt_ns: the worst round trip of the burst to that node. */
bool barrier_armed(struct barrier *b, size_t i);
bool barrier_measured(struct barrier *b, size_t i, int64_t rtt_ns);
bool barrier_set(struct barrier *b, size_t i);

/* The armed node whose burst is to begin now, or BARRIER_NOBODY; and of how many exchanges: fewer when there are many nodes. */
size_t barrier_next_burst(struct barrier *b);
unsigned barrier_burst(const struct barrier *b);

/* A node that is lost is waited for no longer. */
void barrier_drop(struct barrier *b, size_t i);

/* All armed and measured: T can be chosen. */
bool barrier_ready(const struct barrier *b);

/*
 * How far ahead of now T is to lie: go, set and commit take one and a half round trips, so two of the worst that the bursts
 * have just seen, 3 ms (half of it after 8 phases without trouble), and what many nodes cost; four times that for each timeout.
 */
int64_t barrier_lead_ns(const struct barrier *b);

/*
 * How late a node may wake and still start, in that attempt (from 0) of a phase. On a machine that is too busy for three attempts in a row the
 * fourth and the fifth allow four times as much each: when a node really began is measured and stands in the start skew, with a warning where
 * it counts, which says more than a run that never begins.
 */
int64_t barrier_late_limit_ns(uint64_t attempt);

/* How long before T commit must have left at the latest: a worst round trip, 200 us at least, and what many nodes cost. */
int64_t barrier_margin_ns(const struct barrier *b);

/* Commit, wait or give the attempt up? */
enum barrier_verdict barrier_judge(const struct barrier *b, struct ls_mono now);

#endif
