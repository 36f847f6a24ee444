/*
 * Who of a run's nodes has answered: a flag for each and a count, so that "have all?" costs nothing. Pure.
 */
#ifndef LS_COORDINATOR_DAEMON_TALLY_H
#define LS_COORDINATOR_DAEMON_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally {
	uint8_t *state; /* [n]: enum tally_state, owned */
	size_t n;
	size_t missing; /* members in state TALLY_WANTED */
};

enum tally_state {
	TALLY_OUT = 0, /* not asked, or no longer counted */
	TALLY_WANTED,
	TALLY_GIVEN,
};

void tally_init(struct tally *t, size_t n); /* all out */
void tally_fini(struct tally *t);           /* frees what it keeps, not t */

/* Asks all of whom wanted[i] is true; NULL: all. */
void tally_reset(struct tally *t, const bool *wanted);

/* Notes an answer; false when it was not asked for or had been given. i may be out of range. */
bool tally_give(struct tally *t, size_t i);

/* No longer counts i. */
void tally_drop(struct tally *t, size_t i);

/* Has everyone given what counts? */
static inline bool
tally_complete(const struct tally *t)
{
	return t->missing == 0;
}

/* Has i? False for one that does not count. */
static inline bool
tally_given(const struct tally *t, size_t i)
{
	return i < t->n && t->state[i] == TALLY_GIVEN;
}

/* Is i still waited for? */
static inline bool
tally_wanted(const struct tally *t, size_t i)
{
	return i < t->n && t->state[i] == TALLY_WANTED;
}

#endif
