/*
 * Is a phase steady? Decided from the counters that all of its nodes send while it runs: the time after the warm-up is cut into
 * intervals, and the rates of all nodes together in five intervals in a row are a window. Pure: no clock is read and nothing is sent here.
 *
 * The rule is that of the SNIA's Solid State Storage Performance Test Specification ("steady state"): the rates' range is no more than 20 % of
 * their mean, and the line fitted to them changes by no more than 10 % of it, both percentages the job's to choose.
 */
#ifndef LS_COORDINATOR_DAEMON_STEADY_H
#define LS_COORDINATOR_DAEMON_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/model/phase.h"

#define STEADY_RING 16 /* boundaries kept per node: how far one may be ahead of another is this less a window */

/* What is asked of a phase. Instants are ns from its start. */
struct steady_rule {
	int64_t from_ns;     /* end of the warm-up: the first interval begins */
	int64_t until_ns;    /* end of its time: nothing counts that lies behind */
	int64_t interval_ns; /* a fifth of the window */
	double range_percent, slope_percent;
};

/* A window. */
struct steady_figures {
	double rates[STEADY_INTERVALS]; /* per second */
	double mean;
	double range_percent; /* largest less smallest, of the mean */
	double
	    slope_percent; /* change of the fitted line from the first interval to the last, of the mean; below 0: it falls */
	int64_t end_ns; /* of the last interval */
	bool steady;
};

/* A node's counter at the ends of the intervals. */
struct steady_node {
	bool counts;
	int64_t at_ns; /* of its last sample */
	uint64_t done;
	int64_t known;              /* the last boundary whose value is known; number 0 is the warm-up's end */
	uint64_t ring[STEADY_RING]; /* by number modulo STEADY_RING */
};

struct steady_watch {
	struct steady_rule rule;
	struct steady_node *nodes; /* owned */
	size_t n;
	int64_t judged;   /* boundary at which the last window ended that was judged */
	uint64_t windows; /* that were judged */
	struct steady_figures last;
};

/*
 * Judges the rates of a window by the percentages of rule: fills all of out but end_ns. Without any work (mean 0) nothing is steady, and the
 * percentages are NAN.
 */
void steady_figures_of(
    const struct steady_rule *rule, const double rates[STEADY_INTERVALS], struct steady_figures *out);

/* Watches a phase on n nodes, of which those count for which counts[i] is true. What was watched before is forgotten. */
void steady_begin(struct steady_watch *w, const struct steady_rule *rule, const bool *counts, size_t n);

/* Forgets all; w may be zeroed memory or have been ended. */
void steady_end(struct steady_watch *w);

/* Is anything watched? */
bool steady_watches(const struct steady_watch *w);

/*
 * What node i had done at that instant since the warm-up's end. Between two samples it is taken to have worked evenly. One that lies before the
 * last or tells less is dropped.
 */
void steady_sample(struct steady_watch *w, size_t i, int64_t at_ns, uint64_t done);

/* Node i is lost: from now on windows are those of the others, their past included. */
void steady_drop(struct steady_watch *w, size_t i);

/*
 * Judges the newest window that all nodes have told of. False: there is none that was not judged before. w->last has its figures.
 */
bool steady_judge(struct steady_watch *w);

#endif
