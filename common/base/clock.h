/*
 * Points in time as types that cannot be mixed: this machine's CLOCK_MONOTONIC, another machine's, and the wall clock.
 * One sign everywhere: an offset is remote minus local, positive when the remote clock is ahead.
 */
#ifndef LS_COMMON_BASE_CLOCK_H
#define LS_COMMON_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/defs.h"

struct ls_mono {
	int64_t ns; /* CLOCK_MONOTONIC of this process */
};

struct ls_rmono {
	int64_t ns; /* CLOCK_MONOTONIC of the other side */
};

struct ls_wall {
	int64_t ns; /* since 1970-01-01T00:00:00Z; for people only, never for measuring */
};

/* Now. Any thread, no system call where the kernel has a vDSO. */
struct ls_mono ls_mono_now(void);
struct ls_wall ls_wall_now(void);

/* Sleeps until t (CLOCK_MONOTONIC, absolute); goes on after signals. Returns at once when t has passed. */
void ls_mono_sleep_until(struct ls_mono t);

/* "2026-11-30T15:04:05.123Z" into buf (at least 32 bytes) and returns it. Any thread. */
const char *ls_wall_format(struct ls_wall t, char *buf, size_t len);

/* The reverse, fractions of a second down to ms; false, and *out as it was, for any other text. Any thread. */
bool ls_wall_parse(const char *text, struct ls_wall *out);

#endif
