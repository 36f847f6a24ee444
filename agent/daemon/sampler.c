#include "agent/daemon/sampler.h"

#include <stdlib.h>

#include "common/base/mem.h"

/* How far a worker's ring is read. */
struct cursor {
	uint64_t next; /* number of the next step to read */
	int64_t at_ns; /* the last point known; 0: none yet */
	uint64_t bytes, ops;
};

struct sampler {
	struct shm_map *map;
	uint32_t workers_max, workers;
	struct ls_mono start;
	struct cursor *cursors; /* [workers_max] */
	struct series_grid grid;
	struct series_grid *own; /* [min(workers_max, SAMPLER_OWN_WORKERS)] */
	bool has_own;            /* in this phase */
	uint64_t lost;
};

static uint32_t
own_max(const struct sampler *s)
{
	return LS_MIN(s->workers_max, (uint32_t)SAMPLER_OWN_WORKERS);
}

struct sampler *
sampler_new(struct shm_map *map, uint32_t workers)
{
	struct sampler *s = ls_calloc(1, sizeof(*s));
	s->map = map;
	s->workers_max = workers;
	s->cursors = ls_calloc(workers, sizeof(*s->cursors));
	series_init(&s->grid, SHM_STEP_NS, RESULTS_SERIES_MAX);
	s->own = ls_calloc(own_max(s), sizeof(*s->own));
	for (uint32_t i = 0; i < own_max(s); i++)
		series_init(&s->own[i], SHM_STEP_NS, SAMPLER_OWN_CELLS);
	return s;
}

void
sampler_free(struct sampler *s)
{
	if (!s)
		return;
	series_fini(&s->grid);
	for (uint32_t i = 0; i < own_max(s); i++)
		series_fini(&s->own[i]);
	free(s->own);
	free(s->cursors);
	free(s);
}

void
sampler_begin(struct sampler *s, uint32_t workers, struct ls_mono start, bool own)
{
	s->workers = LS_MIN(workers, s->workers_max);
	s->start = start;
	s->lost = 0;
	series_reset(&s->grid, SHM_STEP_NS);
	s->has_own = own && s->workers > 1 && s->workers <= own_max(s);
	for (uint32_t i = 0; s->has_own && i < s->workers; i++)
		series_reset(&s->own[i], SHM_STEP_NS);
	for (uint32_t i = 0; i < s->workers_max; i++)
		s->cursors[i] = (struct cursor){ 0 };
}

/* The line from the last point known to this one. Steps come from another process: nonsense is left out. */
static void
add_point(struct sampler *s, uint32_t worker, int64_t at_ns, uint64_t bytes, uint64_t ops)
{
	struct cursor *c = &s->cursors[worker];

	if (c->at_ns == 0) {
		const struct shm_worker *w = shm_map_worker(s->map, worker);
		int64_t started = atomic_load_explicit(&w->start_ns, memory_order_relaxed);
		c->at_ns = started > 0 ? LS_MAX(started, s->start.ns) : s->start.ns;
	}
	if (bytes < c->bytes || ops < c->ops)
		return;
	if (at_ns < c->at_ns)
		at_ns = c->at_ns;
	series_add(&s->grid, c->at_ns - s->start.ns, at_ns - s->start.ns, bytes - c->bytes, ops - c->ops);
	if (s->has_own)
		series_add(
		    &s->own[worker], c->at_ns - s->start.ns, at_ns - s->start.ns, bytes - c->bytes, ops - c->ops);
	c->at_ns = at_ns;
	c->bytes = bytes;
	c->ops = ops;
}

static void
drain_worker(struct sampler *s, uint32_t worker, struct ls_mono now)
{
	const struct shm_worker *w = shm_map_worker(s->map, worker);
	struct cursor *c = &s->cursors[worker];
	uint64_t count = atomic_load_explicit(&w->ring_count, memory_order_acquire);

	while (c->next < count) {
		/* The step that is being written may already lie over the oldest one. */
		if (count - c->next >= SHM_RING) {
			s->lost += count - c->next - (SHM_RING - 1);
			c->next = count - (SHM_RING - 1);
		}
		const struct shm_step *step = &w->ring[c->next % SHM_RING];
		int64_t at_ns = atomic_load_explicit(&step->at_ns, memory_order_acquire);
		uint64_t bytes = atomic_load_explicit(&step->bytes, memory_order_acquire);
		uint64_t ops = atomic_load_explicit(&step->ops, memory_order_acquire);

		/*
		 * Read before the writer came round? Only then the three belong together. Acquire above keeps this read behind
		 * them, as a fence would (which TSan does not know).
		 */
		count = atomic_load_explicit(&w->ring_count, memory_order_relaxed);
		if (count - c->next >= SHM_RING)
			continue;
		c->next++;
		add_point(s, worker, LS_MIN(at_ns, now.ns), bytes, ops);
	}
}

void
sampler_drain(struct sampler *s, struct ls_mono now)
{
	for (uint32_t i = 0; i < s->workers; i++)
		drain_worker(s, i, now);
}

uint64_t
sampler_lost(const struct sampler *s)
{
	return s->lost;
}

void
sampler_end_worker(struct sampler *s, uint32_t worker, struct ls_mono end, uint64_t bytes, uint64_t ops)
{
	if (worker < s->workers)
		add_point(s, worker, end.ns, bytes, ops);
}

const struct series_grid *
sampler_end(struct sampler *s, struct ls_mono end)
{
	if (end.ns - s->start.ns >= SAMPLER_COARSE_AFTER_NS)
		series_coarsen(&s->grid, SAMPLER_COARSE_NS);
	return &s->grid;
}

const struct series_grid *
sampler_own(const struct sampler *s, uint32_t worker)
{
	return s->has_own && worker < s->workers ? &s->own[worker] : NULL;
}
