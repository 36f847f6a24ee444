#include "agent/engine/phase_data.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/layout.h"

/* --- arming ---------------------------------------------------------------------------------------------------------- */

static bool
refuse(struct worker *w, const char *what, uint64_t value)
{
	struct ls_err err;

	ls_err_set(&err, LS_E_INVALID, "direct I/O on this volume needs multiples of %llu bytes: %s is %llu",
	    (unsigned long long)w->engine->config.dio_align, what, (unsigned long long)value);
	worker_fail_err(w, "arm", &err);
	return false;
}

static bool
check_alignment(struct worker *w)
{
	const struct phase *spec = &w->engine->spec;
	uint64_t align = w->engine->config.dio_align;

	if (!spec->direct || align <= 1)
		return true;
	if (spec->record_size % align != 0)
		return refuse(w, "record_size", spec->record_size);
	if (spec->file_size % align != 0)
		return refuse(w, "file_size", spec->file_size);
	if (spec->amount % align != 0)
		return refuse(w, "amount", spec->amount);
	return true;
}

/* Buffers that would take more than half of the memory would measure swapping at best. */
static bool
check_memory(struct worker *w, uint64_t slots, uint64_t slot_bytes)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct ls_err err;

	if (slot_bytes <= memory / 2 / slots / w->engine->active)
		return true;
	ls_err_set(&err, LS_E_REFUSED,
	    "%u workers with %llu buffers of %llu bytes each need more than half of the memory", w->engine->active,
	    (unsigned long long)slots, (unsigned long long)slot_bytes);
	worker_fail_err(w, "arm", &err);
	return false;
}

static bool
need_pool(struct worker *w, struct data_pool *pool, uint64_t size)
{
	struct ls_err err;
	uint64_t stream = offsets_mix(w->engine->config.seed) ^ data_writer(w->engine->config.node_index, w->index);

	if (data_pool_need(pool, (size_t)size, engine_alignment(w->engine), stream, &err) == LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

static uint64_t
round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/*
 * Slots for records. Reads need one for each operation in flight. Writes get as many as the part has records, within the
 * budget: a file is then not a repetition of a few buffers.
 */
static bool
make_slots(struct worker *w)
{
	struct io_job *job = &w->data.job;
	uint64_t longest = LS_MIN(w->engine->spec.record_size, w->data.place.length);
	uint64_t slot = round_up(longest, engine_alignment(w->engine));
	uint64_t slots = job->depth;

	if (!check_memory(w, slots, slot))
		return false;
	if (job->write) {
		uint64_t records = w->data.place.length / longest + 1;
		uint64_t wanted = LS_MIN(records, worker_data_budget(w) / slot);
		slots = LS_MAX(slots, wanted / slots * slots);
	}

	struct data_pool *pool = job->write ? &w->write_pool : &w->read_pool;
	if (!need_pool(w, pool, slots * slot))
		return false;
	job->memory = pool->memory;
	job->slot_bytes = (size_t)slot;
	job->slots = (unsigned)slots;
	return true;
}

/* Random data for laying out: as much as writing the part would use. */
static bool
make_layout_data(struct worker *w)
{
	uint64_t size = LS_MIN(w->data.place.length, worker_data_budget(w));

	return need_pool(w, &w->write_pool, LS_MAX(round_up(size, DATA_BLOCK), (uint64_t)DATA_BLOCK));
}

/* How many bytes the worker moves, unless its time is over before. */
static uint64_t
bound(const struct worker *w)
{
	const struct phase *spec = &w->engine->spec;

	if (spec->amount > 0)
		return spec->amount;
	return spec->time > 0 ? OFFSETS_NO_BOUND : w->data.place.length;
}

static void
set_order(struct worker *w, bool random)
{
	const struct engine *e = w->engine;
	struct offsets_config config = {
		.base = w->data.place.offset,
		.length = w->data.place.length,
		.record = e->spec.record_size,
		.bound = bound(w),
		.random = random,
		.seed = offsets_mix(e->config.seed ^ (uint64_t)e->spec.kind << 56) ^
		    data_writer(e->config.node_index, w->index),
	};

	offsets_init(&w->data.job.offsets, &config);
}

static bool
set_up_io(struct worker *w)
{
	struct ls_err err;

	if (w->data.io->setup(&w->data.job, &err) == LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

bool
data_arm(struct worker *w, const struct data_traits *traits)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	bool null = e->spec.engine == ENGINE_NULL; /* touches no file */

	memset(d, 0, sizeof(*d));
	d->io = io_engine_get((enum phase_engine)e->spec.engine);
	d->fresh = traits->fresh;
	d->job.fd = -1;
	d->job.write = traits->write;
	d->job.depth =
	    e->spec.engine == ENGINE_IO_URING || e->spec.engine == ENGINE_LIBAIO ? (unsigned)e->spec.depth : 1;
	d->job.source = worker_data_source(w);
	tally_arm(&d->job.tally, w->shm, e->control, e->epoch, phase_kind_info((enum phase_kind)e->spec.kind)->op);

	if (!layout_place(w) || !check_alignment(w) || !make_slots(w))
		return false;
	snprintf(w->shm->file, sizeof(w->shm->file), "%s", null ? "(none)" : d->path);
	if (!null && traits->fresh && !layout_open_fresh(w))
		return false;
	if (!null && !traits->fresh && (!make_layout_data(w) || !layout_open_filled(w)))
		return false;
	/* The pool may have moved to hold more. */
	d->job.memory = d->job.write ? w->write_pool.memory : w->read_pool.memory;
	set_order(w, traits->random);
	return set_up_io(w);
}

/* --- running --------------------------------------------------------------------------------------------------------- */

static void
fail_io(struct worker *w)
{
	const struct io_failure *f = &w->data.job.failure;

	worker_fail(w,
	    &(struct failure){ .rc = LS_E_SYS,
		.step = "run",
		.call = f->call,
		.path = w->data.path,
		.offset = f->call == SHM_CALL_PREAD || f->call == SHM_CALL_PWRITE ? f->offset : LS_UNKNOWN_U64,
		.errnum = f->errnum,
		.text = f->text });
}

/* What a phase that makes its files has made, for the phases after it. */
static void
note_filled(struct worker *w)
{
	struct data_state *d = &w->data;
	uint64_t length = d->place.length;
	uint64_t done = atomic_load_explicit(&w->shm->done, memory_order_relaxed);

	/* In order, nothing in flight: the first `done` records are there. After a failure nobody knows. */
	if (!d->fresh || w->failed || d->job.fd < 0)
		return;
	if (done <= length / w->engine->spec.record_size)
		length = done * w->engine->spec.record_size;
	if (d->job.offsets.config.bound < length)
		length = d->job.offsets.config.bound;
	filled_add(&w->engine->filled, d->file, d->place.offset, d->place.offset + length);
}

/* The flush that counts. Returns its end, or 0. */
static int64_t
timed_fsync(struct worker *w)
{
	struct data_state *d = &w->data;
	struct tally *t = &d->job.tally;

	if (!w->engine->spec.fsync || !d->job.write || d->job.fd < 0 || w->failed || tally_stopped(t) || !t->began)
		return 0;
	tally_call(t, SHM_CALL_FSYNC);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (fsync(d->job.fd) < 0) {
		worker_fail_sys(w, "run", SHM_CALL_FSYNC, d->path, errno);
		return 0;
	}
	d->dirty = false;
	return io_now_ns();
}

void
data_run(struct worker *w, const struct rusage *cpu)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	struct tally *t = &d->job.tally;

	t->cpu = *cpu;
	d->dirty = d->job.write;
	tally_go(t, e->start_ns, e->spec.warmup, e->spec.time);
	d->io->run(&d->job);
	if (io_failed(&d->job))
		fail_io(w);

	int64_t end_ns = timed_fsync(w);
	/* Without a counted operation the end of the attempt is the only end there is. */
	if (end_ns == 0 && t->end_ns == 0)
		end_ns = io_now_ns();
	tally_finish(t, end_ns);
	note_filled(w);
}

void
data_flush(struct worker *w)
{
	struct data_state *d = &w->data;

	if (!d->dirty || d->job.fd < 0)
		return;
	tally_call(&d->job.tally, SHM_CALL_FSYNC);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (fsync(d->job.fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_FSYNC, d->path, errno);
	tally_call(&d->job.tally, SHM_CALL_NONE);
}

void
data_disarm(struct worker *w)
{
	struct data_state *d = &w->data;

	if (d->io != NULL)
		d->io->teardown(&d->job);
	if (d->job.fd >= 0)
		close(d->job.fd);
	d->job.fd = -1;
	d->io = NULL;
}
