/*
 * Links, clocks and machines of the starts that test_start_sim.c plays: what is slow, drifts or stands still, and how large the stated
 * uncertainty must be then.
 */
#ifndef LS_TESTS_UNIT_COORDINATOR_DAEMON_START_PROFILES_H
#define LS_TESTS_UNIT_COORDINATOR_DAEMON_START_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/clock.h"

#define US NS_PER_US
#define MS NS_PER_MS
#define S  NS_PER_S

struct range {
	int64_t low, high;
};

/* Node 0 is always on a quiet link; the others are as the profile says. */
struct profile {
	const char *name;
	struct range up, down;         /* one way: node to coordinator, and back */
	unsigned stall_one_in;         /* so often ... */
	int64_t stall_ns;              /* ... a message, and what comes behind it, takes so much longer */
	int64_t go_extra_ns;           /* go alone does */
	bool full_drift;               /* at the limit all the time, not somewhere within it */
	struct range suspend;          /* node 1 stands still for so long, once in each phase */
	bool around_start;             /* ... within a second of the instant, else anywhere in the phase */
	struct range wake;             /* how late a worker gets its turn at the instant */
	int64_t doubt_low, doubt_high; /* the stated uncertainty lies there in most phases; 0, 0: not looked at */
	bool may_fail;                 /* five void attempts in a row are legal */
};

#define QUIET                                                                                                          \
	{                                                                                                              \
		20 * US, 120 * US                                                                                      \
	}

static const struct profile profiles[] = {
	{ .name = "quiet links", .up = QUIET, .down = QUIET, .doubt_low = 1, .doubt_high = 500 * US },
	{ .name = "a drift of 500 ppm",
	    .up = QUIET,
	    .down = QUIET,
	    .full_drift = true,
	    .doubt_low = 1,
	    .doubt_high = 500 * US },
	{ .name = "200 ms of jitter",
	    .up = { 0, 200 * MS },
	    .down = { 0, 200 * MS },
	    .doubt_low = 1 * MS,
	    .doubt_high = 200 * MS },
	{ .name = "200 ms of jitter and a drift of 500 ppm",
	    .up = { 0, 200 * MS },
	    .down = { 0, 200 * MS },
	    .full_drift = true,
	    .doubt_low = 1 * MS,
	    .doubt_high = 200 * MS },
	{ .name = "100 ms with 80 ms of jitter", .up = { 10 * MS, 90 * MS }, .down = { 10 * MS, 90 * MS } },
	{ .name = "80 ms there, constantly",
	    .up = QUIET,
	    .down = { 80 * MS, 80 * MS },
	    .doubt_low = 39 * MS,
	    .doubt_high = 90 * MS },
	{ .name = "80 ms back, constantly",
	    .up = { 80 * MS, 80 * MS },
	    .down = QUIET,
	    .doubt_low = 39 * MS,
	    .doubt_high = 90 * MS },
	{ .name = "80 ms there with 500 ppm",
	    .up = QUIET,
	    .down = { 80 * MS, 80 * MS },
	    .full_drift = true,
	    .doubt_low = 39 * MS,
	    .doubt_high = 90 * MS },
	{ .name = "3 s now and then",
	    .up = QUIET,
	    .down = QUIET,
	    .stall_one_in = 60,
	    .stall_ns = 3 * S,
	    .may_fail = true },
	{ .name = "only go is late", .up = QUIET, .down = QUIET, .go_extra_ns = 12 * MS },
	{ .name = "suspended around the start",
	    .up = QUIET,
	    .down = QUIET,
	    .suspend = { 1 * S, 8 * S },
	    .around_start = true,
	    .may_fail = true },
	{ .name = "suspended in the phase", .up = QUIET, .down = QUIET, .suspend = { 1 * S, 8 * S }, .may_fail = true },
	{ .name = "suspended, with jitter and drift",
	    .up = { 0, 100 * MS },
	    .down = { 0, 100 * MS },
	    .full_drift = true,
	    .suspend = { 1 * S, 8 * S },
	    .around_start = true,
	    .may_fail = true },
	{ .name = "workers that wake late", .up = QUIET, .down = QUIET, .wake = { 0, 40 * MS } },
};

#endif
