/*
 * Writes to the store that wait for better times: while its disk is full or read-only, or another process locks the database, the
 * writer's thread tries again. Nothing that is to be written gets lost in between: agents keep results that are not acknowledged, and
 * the loop goes on. Only what another attempt cannot change is an error.
 */
#ifndef LS_COORDINATOR_DAEMON_INSIST_H
#define LS_COORDINATOR_DAEMON_INSIST_H

#include <stdbool.h>

#include "coordinator/daemon/store/store.h"

struct insist;

/* One attempt. Runs in the writer's thread. */
typedef enum ls_rc (*insist_fn)(struct store *store, void *arg, struct ls_err *err);

/* Nothing waits yet. */
struct insist *insist_new(void);
void insist_free(struct insist *insist); /* after the writer's thread has ended; NULL-safe */

/* In the writer's thread: tries until it works, fails for good or insist_give_up is called. Errors: those of the last attempt. */
enum ls_rc insist_do(
    struct insist *insist, struct store *store, insist_fn fn, void *arg, struct ls_err *err) LS_MUST_CHECK;

/* In the loop: does a write wait? Then why goes to text. */
bool insist_waits(struct insist *insist, char *text, size_t len);

/* In the loop: no more waiting, from now on; each write is tried once. */
void insist_give_up(struct insist *insist);

#endif
