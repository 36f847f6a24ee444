#include "coordinator/daemon/tally.h"

#include <stdlib.h>

#include "common/base/mem.h"

void
tally_init(struct tally *t, size_t n)
{
	*t = (struct tally){ .state = ls_calloc(n > 0 ? n : 1, 1), .n = n };
}

void
tally_fini(struct tally *t)
{
	free(t->state);
	*t = (struct tally){ 0 };
}

void
tally_reset(struct tally *t, const bool *wanted)
{
	t->missing = 0;
	for (size_t i = 0; i < t->n; i++) {
		bool want = wanted == NULL || wanted[i];

		t->state[i] = want ? TALLY_WANTED : TALLY_OUT;
		t->missing += want;
	}
}

bool
tally_give(struct tally *t, size_t i)
{
	if (!tally_wanted(t, i))
		return false;
	t->state[i] = TALLY_GIVEN;
	t->missing--;
	return true;
}

void
tally_drop(struct tally *t, size_t i)
{
	if (i >= t->n)
		return;
	if (t->state[i] == TALLY_WANTED)
		t->missing--;
	t->state[i] = TALLY_OUT;
}
