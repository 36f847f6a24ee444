/*
 * Drains the workers' rings of counter steps into one series of the node, while a phase runs. Reads the mapping only.
 */
#ifndef LS_AGENT_DAEMON_SAMPLER_H
#define LS_AGENT_DAEMON_SAMPLER_H

#include "agent/daemon/series.h"
#include "agent/shm/counters.h"
#include "common/base/clock.h"

#define SAMPLER_COARSE_AFTER_NS (10 * NS_PER_S)   /* a phase this long ... */
#define SAMPLER_COARSE_NS       (100 * NS_PER_MS) /* ... is told in steps of at least this */

#define SAMPLER_OWN_WORKERS 64 /* at most so many workers have a series of their own ... */
#define SAMPLER_OWN_CELLS   64 /* ... of so many steps */

struct sampler;

/* map is borrowed. workers: at most so many take part in a phase. */
struct sampler *sampler_new(struct shm_map *map, uint32_t workers);
void sampler_free(struct sampler *s);

/*
 * A phase begins at start on the first `workers` of the mapping, whose rings are empty or become so before. own: keep a coarse series
 * of each worker, too, if they are 2 to SAMPLER_OWN_WORKERS (that of one is the node's).
 */
void sampler_begin(struct sampler *s, uint32_t workers, struct ls_mono start, bool own);

/* The same for a phase that mixes reads and writes: each has a series of its own, and no worker has. */
void sampler_begin_apart(struct sampler *s, uint32_t workers, struct ls_mono start);

/* What a worker has done. */
struct sampler_work {
	uint64_t bytes, ops;
	uint64_t write_bytes, write_ops; /* of these, writes */
};

/* Takes what is new in the rings: at least every SHM_RING * SHM_STEP_NS, or steps are lost and the gap becomes a line. */
void sampler_drain(struct sampler *s, struct ls_mono now);

/* Steps that were overwritten before they were drained, since sampler_begin. */
uint64_t sampler_lost(const struct sampler *s);

/* A worker's last word: what it had done at end. Totals smaller than what was seen are ignored. */
void sampler_end_worker(struct sampler *s, uint32_t worker, struct ls_mono end, const struct sampler_work *work);

/* After the last worker: the grid, coarser if the phase was long. Borrowed until sampler_begin. */
const struct series_grid *sampler_end(struct sampler *s, struct ls_mono end);

/* After sampler_end_worker: the worker's own series, NULL when there is none. Borrowed until sampler_begin. */
const struct series_grid *sampler_own(const struct sampler *s, uint32_t worker);

/* After sampler_end: all reads (OP_READ) or writes (OP_WRITE) of a phase that was begun apart, else NULL. Borrowed until sampler_begin. */
const struct series_grid *sampler_apart(const struct sampler *s, enum op_kind op);

#endif
