/*
 * What runs left behind on a volume that this machine has mounted: lockstep-runner looks and removes, in a process of its own with a
 * deadline, as a volume may hang.
 */
#ifndef LS_COORDINATOR_CLI_LEFTOVERS_H
#define LS_COORDINATOR_CLI_LEFTOVERS_H

#include <stdint.h>

#include "common/base/err.h"

/* What lockstepd says of the run. */
enum leftover_run {
	LEFTOVER_NOT_ASKED, /* lockstepd could not be asked */
	LEFTOVER_UNKNOWN,   /* lockstepd does not have it */
	LEFTOVER_ACTIVE,
	LEFTOVER_ENDED,
};

/* One directory. Texts are borrowed from the list. */
struct leftover {
	const char *run, *created, *nodes;
	const char *problem; /* NULL: none */
	uint64_t bytes, files;
	int64_t age_ns; /* LS_UNKNOWN_I64: not known */
	enum leftover_run state;
};

struct leftovers {
	char *text;
	struct leftover *list;
	size_t count;
};

/* Looks below path. Errors: LS_E_SYS, LS_E_TIMEOUT (no answer), LS_E_INVALID (the runner's words). */
enum ls_rc leftovers_find(const char *path, struct leftovers *out, struct ls_err *err) LS_MUST_CHECK;
void leftovers_free(struct leftovers *l);

/*
 * The lines of a runner's answer, cut in place: takes text over, also on error. now_ns: wall clock, for the age. Pure.
 * Errors: LS_E_INVALID.
 */
enum ls_rc leftovers_parse(char *text, int64_t now_ns, struct leftovers *out, struct ls_err *err) LS_MUST_CHECK;

/* Removes one run's. *left: what stayed, for people; heap, NULL when nothing did. */
enum ls_rc leftovers_remove(const char *path, const char *run, char **left, struct ls_err *err) LS_MUST_CHECK;

/* Why it must not be removed, or NULL. forced: the user answers for it that the run is over. */
const char *leftovers_refusal(const struct leftover *l, bool forced);

#endif
