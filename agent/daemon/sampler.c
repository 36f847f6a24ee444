#include "agent/daemon/sampler.h"

#include <stdlib.h>

#include "common/base/mem.h"

/* How far a worker's ring is read. */
struct cursor {
	uint64_t next; /* number of the next step to read */
	int64_t at_ns; /* the last point known; 0: none yet */
	struct sampler_work done;
};

struct sampler {
	struct shm_map *map;
	uint32_t workers_max, workers;
	struct ls_mono start;
	struct cursor *cursors; /* [workers_max] */
	struct series_grid grid;
	struct series_grid *own; /* [min(workers_max, SAMPLER_OWN_WORKERS)] */
	bool has_own;            /* in this phase */
	struct series_grid reads, writes;
	bool apart; /* these two are in use in this phase */
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
	series_init(&s->reads, SHM_STEP_NS, RESULTS_SERIES_MAX);
	series_init(&s->writes, SHM_STEP_NS, RESULTS_SERIES_MAX);
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
	series_fini(&s->reads);
	series_fini(&s->writes);
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
	s->apart = false;
	series_reset(&s->grid, SHM_STEP_NS);
	series_reset(&s->reads, SHM_STEP_NS);
	series_reset(&s->writes, SHM_STEP_NS);
	s->has_own = own && s->workers > 1 && s->workers <= own_max(s);
	for (uint32_t i = 0; s->has_own && i < s->workers; i++)
		series_reset(&s->own[i], SHM_STEP_NS);
	for (uint32_t i = 0; i < s->workers_max; i++)
		s->cursors[i] = (struct cursor){ 0 };
}

void
sampler_begin_apart(struct sampler *s, uint32_t workers, struct ls_mono start)
{
	sampler_begin(s, workers, start, false);
	s->apart = true;
}

/* Counters only grow, and writes are a part of all. */
static bool
makes_sense(const struct sampler_work *before, const struct sampler_work *now)
{
	return now->bytes >= before->bytes && now->ops >= before->ops && now->write_bytes >= before->write_bytes &&
	    now->write_ops >= before->write_ops &&
	    now->bytes - before->bytes >= now->write_bytes - before->write_bytes &&
	    now->ops - before->ops >= now->write_ops - before->write_ops;
}

/* The line from the last point known to this one. Steps come from another process: nonsense is left out. */
static void
add_point(struct sampler *s, uint32_t worker, int64_t at_ns, const struct sampler_work *now)
{
	struct cursor *c = &s->cursors[worker];
	struct sampler_work more;

	if (c->at_ns == 0) {
		const struct shm_worker *w = shm_map_worker(s->map, worker);
		int64_t started = atomic_load_explicit(&w->start_ns, memory_order_relaxed);
		c->at_ns = started > 0 ? LS_MAX(started, s->start.ns) : s->start.ns;
	}
	if (!makes_sense(&c->done, now))
		return;
	if (at_ns < c->at_ns)
		at_ns = c->at_ns;
	int64_t from = c->at_ns - s->start.ns, to = at_ns - s->start.ns;
	more = (struct sampler_work){
		.bytes = now->bytes - c->done.bytes,
		.ops = now->ops - c->done.ops,
		.write_bytes = now->write_bytes - c->done.write_bytes,
		.write_ops = now->write_ops - c->done.write_ops,
	};
	series_add(&s->grid, from, to, more.bytes, more.ops);
	if (s->has_own)
		series_add(&s->own[worker], from, to, more.bytes, more.ops);
	if (s->apart) {
		series_add(&s->reads, from, to, more.bytes - more.write_bytes, more.ops - more.write_ops);
		series_add(&s->writes, from, to, more.write_bytes, more.write_ops);
	}
	c->at_ns = at_ns;
	c->done = *now;
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
		struct sampler_work done = {
			.bytes = atomic_load_explicit(&step->bytes, memory_order_acquire),
			.ops = atomic_load_explicit(&step->ops, memory_order_acquire),
			.write_bytes = atomic_load_explicit(&step->write_bytes, memory_order_acquire),
			.write_ops = atomic_load_explicit(&step->write_ops, memory_order_acquire),
		};

		/*
		 * Read before the writer came round? Only then they belong together. Acquire above keeps this read behind
		 * them, as a fence would (which TSan does not know).
		 */
		count = atomic_load_explicit(&w->ring_count, memory_order_relaxed);
		if (count - c->next >= SHM_RING)
			continue;
		c->next++;
		add_point(s, worker, LS_MIN(at_ns, now.ns), &done);
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
sampler_end_worker(struct sampler *s, uint32_t worker, struct ls_mono end, const struct sampler_work *work)
{
	if (worker < s->workers)
		add_point(s, worker, end.ns, work);
}

const struct series_grid *
sampler_end(struct sampler *s, struct ls_mono end)
{
	if (end.ns - s->start.ns >= SAMPLER_COARSE_AFTER_NS) {
		series_coarsen(&s->grid, SAMPLER_COARSE_NS);
		series_coarsen(&s->reads, SAMPLER_COARSE_NS);
		series_coarsen(&s->writes, SAMPLER_COARSE_NS);
	}
	return &s->grid;
}

const struct series_grid *
sampler_apart(const struct sampler *s, enum op_kind op)
{
	return !s->apart ? NULL : op == OP_READ ? &s->reads : op == OP_WRITE ? &s->writes : NULL;
}

const struct series_grid *
sampler_own(const struct sampler *s, uint32_t worker)
{
	return s->has_own && worker < s->workers ? &s->own[worker] : NULL;
}
