/*
 * What the other files of this folder need of the loop and nobody else.
 */
#ifndef LS_COMMON_NET_LOOP_INT_H
#define LS_COMMON_NET_LOOP_INT_H

#include <pthread.h>

#include "common/net/loop.h"

/*
 * Something that lives on although its owner has let go of it (a connection that still sends what was queued), and that
 * loop_free must end. Embedded; zeroed before the first use.
 */
struct loop_orphan {
	struct loop_orphan *next, **link; /* link NULL: not listed */
	loop_fn end;                      /* must call loop_orphan_remove */
	void *arg;
};

void loop_orphan_add(struct loop *loop, struct loop_orphan *orphan, loop_fn end, void *arg);
void loop_orphan_remove(struct loop_orphan *orphan); /* harmless when not listed */

/* pthread_create with all signals blocked in the new thread: they belong to the loop. Returns 0 or an errno. */
int loop_thread_create(pthread_t *out, void *(*fn)(void *), void *arg);

#endif
