/*
 * How far a phase is: from its size or its time. Pure.
 */
#ifndef LS_COORDINATOR_DAEMON_PROGRESS_H
#define LS_COORDINATOR_DAEMON_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "proto/model/job.h"

/* Share 0 to 1 of the phase, NAN when it cannot be told. planned: as phase_planned tells; done in the same unit; elapsed_ns since the start. */
double progress_share(const struct phase *phase, uint64_t planned, uint64_t done, int64_t elapsed_ns);

/* Time left, LS_UNKNOWN_I64 when it cannot be told. */
int64_t progress_left_ns(const struct phase *phase, double share, int64_t elapsed_ns);

/* The largest power of two that divides all sizes of direct phases; 0: none is direct. */
uint64_t progress_direct_align(const struct job *job);

/* job_footprint, cut to INT64_MAX, where the wire's integers end. */
void progress_footprint(const struct job *job, uint64_t node_count, uint64_t *out_bytes, uint64_t *out_files);

#endif
