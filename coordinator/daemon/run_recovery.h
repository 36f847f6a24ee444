/*
 * Phases in which a node is expected to be lost. All of it is harmless where no recovery phase is.
 */
#ifndef LS_COORDINATOR_DAEMON_RUN_RECOVERY_H
#define LS_COORDINATOR_DAEMON_RUN_RECOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;

/* A phase is armed: what nodes had fsynced in an earlier one, or in a void attempt, is forgotten where it writes anew. */
void run_recovery_begin(struct run *run);

/* Records of each node that the present step looks for; heap, or NULL: it is no such step. */
int64_t *run_recovery_wanted(const struct run *run);

/* Member i was lost: when, in its record. */
void run_recovery_lost(struct run *run, size_t i);

/* Were more members lost in the present recovery phase than it expects? */
bool run_recovery_too_many(const struct run *run);

/* A lost member is connected again. */
void run_recovery_back(struct run *run, size_t i);

/* How long the present step may wait for lost nodes to come back; 0: for none. */
int64_t run_recovery_wait_ns(const struct run *run);

#endif
