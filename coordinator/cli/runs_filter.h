/*
 * Which runs of a list are wanted. Pure.
 */
#ifndef LS_COORDINATOR_CLI_RUNS_FILTER_H
#define LS_COORDINATOR_CLI_RUNS_FILTER_H

#include <stdbool.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "proto/codec/msg.h"

/* As the operator wrote them; NULL: any. Borrowed. */
struct runs_wanted {
	const char *name;  /* a pattern as of the shell */
	const char *state; /* a state's name */
	const char *since, *until;
	const char *tag;    /* a pattern as of the shell: one of its tags */
	const char *volume; /* likewise: the job's path, or a directory above it */
};

struct runs_filter {
	const char *name;
	int state;      /* -1: any */
	char since[32]; /* beginnings of times as they stand in rows, such as "2026-11"; "": any */
	char until[32];
	const char *tag, *volume;
};

/*
 * Understands what was written. Times are dates (UTC, "2026-11-30" or a longer or shorter part of "2026-11-30T15:04:05") or a
 * duration before now ("7d"). out borrows name, tag and volume. Errors: LS_E_INVALID, the sentence names the option.
 */
enum ls_rc runs_filter_parse(
    const struct runs_wanted *wanted, struct ls_wall now, struct runs_filter *out, struct ls_err *err) LS_MUST_CHECK;

/* Is that run wanted? A run whose time is not known is so only when no time was asked for. */
bool runs_filter_keeps(const struct runs_filter *filter, const struct run_row *run);

#endif
