#include "agent/engine/phase_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/file_set.h"
#include "agent/engine/layout.h"
#include "agent/engine/locks.h"
#include "agent/engine/raw_device.h"

#define SEEKS_UPDATE_EACH 10

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
	for (size_t i = 0; i < w->engine->size_count; i++)
		if (w->engine->sizes[i].bytes % align != 0)
			return refuse(w, "one of record_sizes", w->engine->sizes[i].bytes);
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
	const struct data_pattern pattern = worker_data_pattern(w);

	if (data_pool_need(pool, (size_t)size, engine_alignment(w->engine), &pattern, &err) == LS_OK)
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
 * budget: a file is then not a repetition of a few buffers. A record that is written again and again needs no variety.
 */
static bool
make_slots(struct worker *w, enum offsets_order order)
{
	struct io_job *job = &w->data.job;
	uint64_t longest = LS_MIN(w->engine->spec.record_size, w->data.place.length);
	uint64_t slot = round_up(longest, engine_alignment(w->engine));
	uint64_t slots = job->depth;

	if (!check_memory(w, slots, slot))
		return false;
	if (job->op == OP_WRITE) {
		uint64_t records = order == OFFSETS_FIXED ? 1 : w->data.place.length / longest + 1;
		uint64_t wanted = LS_MIN(records, (worker_data_budget(w) + slot - 1) / slot);
		slots = round_up(LS_MAX(slots, wanted), slots);
	}
	job->slot_bytes = (size_t)slot;
	job->slots = (unsigned)slots;

	struct data_pool *pool = job->write ? &w->write_pool : &w->read_pool;
	if (!need_pool(w, pool, io_slots(job) * slot))
		return false;
	job->memory = pool->memory;
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
bound(const struct worker *w, const struct data_traits *traits)
{
	const struct phase *spec = &w->engine->spec;

	if (traits->seeks)
		return OFFSETS_NO_BOUND;
	if (spec->amount > 0)
		return spec->amount;
	if (spec->time > 0)
		return OFFSETS_NO_BOUND;
	return traits->bound > 0 ? LS_MIN(traits->bound, w->data.place.length) : w->data.place.length;
}

/* Are the blocks of its files summed up, each by itself? */
static bool
has_sums(const struct engine *e)
{
	const struct phase *spec = &e->spec;

	if (spec->record_size % DATA_BLOCK != 0)
		return false;
	for (size_t i = 0; i < e->size_count; i++)
		if (e->sizes[i].bytes % DATA_BLOCK != 0)
			return false;
	return true;
}

/* What stamps say of the worker's place. */
static void
set_source(struct worker *w)
{
	struct data_source *source = &w->data.job.source;

	data_name_file(w);
	source->sums = has_sums(w->engine);
	source->pool = &w->write_pool;
}

void
data_name_file(struct worker *w)
{
	const struct phase *spec = &w->engine->spec;
	const struct data_state *d = &w->data;

	w->data.job.source.file =
	    data_file((unsigned)spec->layout, d->place.file, spec->files_per_worker > 1 ? d->number + 1 : 0);
}

/* Several write the same block at once: a call of write is whole, copies into a mapping and pieces of direct I/O may mix. */
static bool
may_mix(const struct engine *e)
{
	return e->spec.layout == LAYOUT_SAME && (e->spec.engine == ENGINE_MMAP || e->spec.direct);
}

/*
 * Who checks, and what can be checked. Blocks that later phases cannot check are remembered by the kind of the phase that leaves them, until
 * the files are made anew.
 */
static bool
set_checks(struct worker *w, const struct data_traits *traits)
{
	struct engine *e = w->engine;
	struct ls_err err;
	int left = checks_unchecked(&e->checks, (unsigned)e->spec.layout);
	if (e->spec.verify && left >= 0) {
		ls_err_set(&err, LS_E_INVALID,
		    "verify: an earlier phase, %s, wrote these files in a way that cannot be checked (records that are "
		    "no multiples of %d bytes, duplicate, updates in place, or the same records by all past write "
		    "calls); "
		    "write them anew before",
		    phase_kind_names[left], DATA_BLOCK);
		worker_fail_err(w, "arm", &err);
		return false;
	}
	if (traits->fresh || traits->write)
		checks_note_writer(&e->checks, (unsigned)e->spec.layout, e->spec.kind, traits->fresh,
		    has_sums(e) && !traits->update && e->spec.duplicate == 0 && !may_mix(e));
	if (!e->spec.verify)
		return true;
	layout_begin_check(w);
	return true;
}

static void
set_order(struct worker *w, const struct data_traits *traits)
{
	struct engine *e = w->engine;
	struct offsets_config config = {
		.base = w->data.place.offset,
		.length = w->data.place.length,
		.record = e->spec.record_size,
		.step = w->data.place.step,
		.bound = bound(w, traits),
		.order = traits->order,
		.stride = e->spec.stride,
		/* The same for all phases: random reads and random writes go the same way, as iozone's do. */
		.seed = offsets_mix(e->config.seed) ^ data_writer(e->config.node_index, w->index),
	};

	if (e->spec.zipf > 0 && config.order != OFFSETS_FORWARD) {
		config.order = OFFSETS_ZIPF;
		config.theta = e->spec.zipf;
	}
	config.sizes = e->sizes;
	config.size_count = e->size_count;
	if (traits->seeks) {
		config.base = 0;
		config.length = e->spec.file_size;
		config.step = 0;
		config.order = OFFSETS_TICKETS;
		config.tickets = &e->tickets;
		config.ticket_count = e->spec.seeks;
		config.seed = offsets_mix(e->config.seed) ^ e->config.node_index; /* one pile per node */
	}
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

/* As iozone does before it reads: a flush of what is clean, and the first record once, so that the time holds no first look-ups. */
static bool
prime(struct worker *w)
{
	struct data_state *d = &w->data;
	size_t length = (size_t)LS_MIN(w->engine->spec.record_size, d->place.length);

	tally_call(&d->job.tally, SHM_CALL_FSYNC);
	if (fsync(d->job.fd) < 0) {
		worker_fail_sys(w, "arm", SHM_CALL_FSYNC, d->path, errno);
		return false;
	}
	tally_call(&d->job.tally, SHM_CALL_PREAD);
	/* Its result does not matter: if it fails, so does the first operation, and says so. */
	(void)!pread(d->job.fd, d->job.memory, length, (off_t)d->place.offset);
	return true;
}

static void
begin_job(struct worker *w, const struct data_traits *traits)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	struct io_job *job = &d->job;
	bool null = e->spec.engine == ENGINE_NULL;

	memset(d, 0, sizeof(*d));
	d->step = "arm";
	d->io = traits->io != NULL && !null ? traits->io : io_engine_get((enum phase_engine)e->spec.engine);
	d->fresh = traits->fresh;
	job->fd = -1;
	d->timed_close = e->spec.close || traits->bonnie;
	d->timed_fsync = e->spec.fsync || (traits->bonnie && e->spec.semantics == BONNIE_2_00);
	job->write = traits->write;
	job->op = traits->update ? OP_UPDATE : traits->write ? OP_WRITE : OP_READ;
	if (traits->seeks) {
		job->update_each = SEEKS_UPDATE_EACH;
		job->draw_updates = e->spec.semantics == BONNIE_2_00;
		job->sync_updates = e->spec.fsync;
	}
	job->read_percent = traits->read_percent;
	job->unshared_file = d->timed_close || e->spec.files_per_worker > 1;
	job->read_call = d->io->call != 0 ? d->io->call : d->io->plain_calls ? SHM_CALL_READ : SHM_CALL_PREAD;
	job->write_call = d->io->call != 0 ? d->io->call : d->io->plain_calls ? SHM_CALL_WRITE : SHM_CALL_PWRITE;
	job->file_size = e->spec.file_size;
	job->lock_records = e->spec.locks == LOCKS_RECORD;
	job->mmap_sync = (enum phase_mmap_sync)e->spec.mmap_sync;
	job->io_poll = e->spec.io_poll;
	job->sq_poll = e->spec.sq_poll;
	job->depth = e->spec.engine == ENGINE_IO_URING || e->spec.engine == ENGINE_LIBAIO ? (unsigned)e->spec.depth : 1;
	job->source = worker_data_source(w);
	job->pace = (struct pace){
		.ops_per_s = e->spec.rate_ops, .bytes_per_s = e->spec.rate_bytes, .think_ns = e->spec.think
	};
	tally_arm(&job->tally, w->shm, e->control, e->epoch, job->op);
	if (job->read_percent > 0 || traits->seeks)
		tally_also(&job->tally, OP_READ);
	if (pace_has_rate(&job->pace)) {
		tally_serve(&job->tally, job->op);
		tally_serve(&job->tally, OP_READ);
	}
}

bool
data_lay_out(struct worker *w)
{
	begin_job(w, &(const struct data_traits){ .write = false });
	if (w->engine->spec.engine == ENGINE_NULL)
		return true;
	if (!layout_place(w))
		return false;
	set_source(w);
	if (!make_layout_data(w))
		return false;
	return w->engine->spec.files_per_worker > 1 ? file_set_make_filled(w) : layout_make_filled(w);
}

static bool
fail_device(struct worker *w, struct ls_err *err)
{
	worker_fail_err(w, "arm", err);
	return false;
}

/* The raw device instead of a file: whoever asked for it, it is only read. */
static bool
open_device(struct worker *w)
{
	const struct phase *spec = &w->engine->spec;
	struct data_state *d = &w->data;
	const char *path = w->engine->device;
	struct raw_device device;
	struct ls_err err;

	if (d->job.write) {
		ls_err_set(&err, LS_E_REFUSED, "device %s: a raw device is only ever read", path);
		return fail_device(w, &err);
	}
	tally_call(&d->job.tally, SHM_CALL_OPEN);
	if (raw_device_open(path, &device, &err) != LS_OK)
		return fail_device(w, &err);
	d->job.fd = device.fd;
	d->timed_fsync = false; /* would flush the device's cache */
	snprintf(d->path, sizeof(d->path), "%s", path);
	snprintf(w->shm->file, sizeof(w->shm->file), "%s", path);
	if (device.size < spec->file_size) {
		ls_err_set(&err, LS_E_REFUSED, "device %s: it has %llu bytes, file_size is %llu", path,
		    (unsigned long long)device.size, (unsigned long long)spec->file_size);
		return fail_device(w, &err);
	}
	if (spec->record_size % device.align != 0 || spec->file_size % device.align != 0 ||
	    spec->amount % device.align != 0) {
		ls_err_set(&err, LS_E_REFUSED, "device %s: its blocks have %llu bytes, sizes must be multiples of that",
		    path, (unsigned long long)device.align);
		return fail_device(w, &err);
	}
	return true;
}

/* In the state that the phase needs. */
static bool
open_files(struct worker *w, const struct data_traits *traits)
{
	if (w->engine->device[0] != '\0')
		return open_device(w);
	if (!traits->fresh && !make_layout_data(w))
		return false;
	if (w->engine->spec.files_per_worker > 1)
		return traits->fresh ? file_set_open_fresh(w) : file_set_open_filled(w);
	return traits->fresh ? layout_open_fresh(w) : layout_open_filled(w);
}

bool
data_arm(struct worker *w, const struct data_traits *traits)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	bool null = e->spec.engine == ENGINE_NULL; /* touches no file */

	begin_job(w, traits);
	if (!layout_place(w) || !check_alignment(w))
		return false;
	set_source(w);
	if (!set_checks(w, traits) || !make_slots(w, traits->order))
		return false;
	snprintf(w->shm->file, sizeof(w->shm->file), "%s", null ? "(none)" : d->path);
	if (!null && !open_files(w, traits))
		return false;
	/* The pool may have moved to hold more. */
	d->job.memory = d->job.write ? w->write_pool.memory : w->read_pool.memory;
	if (!null && e->spec.prime && !traits->write && !prime(w))
		return false;
	/* Reads of phases that write land behind the slots; stamps within blocks change what is known of them. */
	if (io_slots(&d->job) > d->job.slots || !has_sums(e))
		data_pool_spoil(&w->write_pool, has_sums(e) ? d->job.slots * d->job.slot_bytes : 0);
	set_order(w, traits);
	if (e->spec.files_per_worker > 1)
		file_set_begin(w);
	return set_up_io(w);
}

/* --- running --------------------------------------------------------------------------------------------------------- */

void
data_fail_io(struct worker *w)
{
	const struct io_failure *f = &w->data.job.failure;

	worker_fail(w,
	    &(struct failure){ .rc = LS_E_SYS,
		.step = "run",
		.call = f->call,
		.path = w->data.path,
		.offset =
		    f->call == w->data.job.read_call || f->call == w->data.job.write_call ? f->offset : LS_UNKNOWN_U64,
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
	layout_note_filled(w, length);
}

/*
 * Whole passes over the part that are certainly done: what was handed out less what may not have been issued. Nothing is known of
 * orders that leave records out, and of reads in between.
 */
static uint64_t
passes_done(const struct data_state *d)
{
	const struct offsets *o = &d->job.offsets;
	enum offsets_order order = o->config.order;
	uint64_t handed = offsets_handed_out(o);
	uint64_t spare = d->job.complete ? 1 : d->job.depth;

	if (d->job.op != OP_WRITE || d->job.read_percent > 0 || o->weights > 0 ||
	    (order != OFFSETS_FORWARD && order != OFFSETS_BACKWARD && order != OFFSETS_RANDOM))
		return 0;
	/* The bound may have cut the last record, unless the part ends there. */
	if (d->job.complete && o->config.bound % o->config.length == 0)
		spare = 0;
	return handed > spare ? (handed - spare) / o->records : 0;
}

static void
note_pass(struct worker *w)
{
	struct data_state *d = &w->data;
	uint64_t passes = passes_done(d);

	if (passes > 0 && !w->failed && d->job.fd >= 0)
		layout_note_pass(w, data_generation(w->engine->epoch, passes - 1));
}

/* May something be timed after the last operation? */
static bool
may_go_on(const struct worker *w)
{
	const struct data_state *d = &w->data;

	return d->job.fd >= 0 && !w->failed && !tally_stopped(&d->job.tally) && d->job.tally.began;
}

static void
begin_call(struct worker *w, enum shm_call call)
{
	tally_call(&w->data.job.tally, call);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
}

/* What the back end holds goes to the kernel, what the kernel holds to the medium. */
static bool
sync_file(struct worker *w, const char *step)
{
	struct data_state *d = &w->data;
	int rc = 0;

	if (d->io->push != NULL && d->job.write) {
		begin_call(w, d->job.write_call);
		rc = d->io->push(&d->job);
	}
	if (rc < 0) {
		worker_fail_sys(w, step, d->job.write_call, d->path, -rc);
		return false;
	}
	if (d->io->sync != NULL && d->job.state != NULL) {
		begin_call(w, SHM_CALL_MSYNC);
		rc = d->io->sync(&d->job);
		if (rc < 0)
			worker_fail_sys(w, step, SHM_CALL_MSYNC, d->path, -rc);
	} else {
		begin_call(w, SHM_CALL_FSYNC);
		rc = fsync(d->job.fd);
		if (rc < 0)
			worker_fail_sys(w, step, SHM_CALL_FSYNC, d->path, errno);
	}
	d->dirty = d->dirty && rc < 0;
	return rc == 0;
}

/* The flush that counts, of reading phases as well. Returns its end, or 0. */
static int64_t
timed_fsync(struct worker *w)
{
	if (!w->data.timed_fsync || !may_go_on(w) || !sync_file(w, "run"))
		return 0;
	return io_now_ns();
}

/* The close that counts. Returns its end, or 0. */
static int64_t
timed_close(struct worker *w)
{
	struct data_state *d = &w->data;
	int rc = 0;

	if (!d->timed_close || !may_go_on(w))
		return 0;
	if (d->io->push != NULL && d->job.write) {
		begin_call(w, d->job.write_call);
		rc = d->io->push(&d->job);
	}
	d->io->teardown(&d->job); /* a stream over the file is closed as well */
	begin_call(w, SHM_CALL_CLOSE);
	if (close(d->job.fd) < 0 && rc == 0)
		rc = -errno;
	d->job.fd = -1;
	if (rc == 0)
		return io_now_ns();
	worker_fail_sys(w, "run", SHM_CALL_CLOSE, d->path, -rc);
	return 0;
}

bool
data_lock_file(struct worker *w)
{
	struct data_state *d = &w->data;
	int errnum;

	if (w->engine->spec.locks != LOCKS_FILE || d->job.fd < 0)
		return true;
	begin_call(w, SHM_CALL_FCNTL);
	errnum = lock_take(d->job.fd, d->job.write, 0, 0);
	if (errnum != 0)
		worker_fail_sys(w, "run", SHM_CALL_FCNTL, d->path, errnum);
	return errnum == 0;
}

void
data_unlock_file(struct worker *w)
{
	struct data_state *d = &w->data;
	int errnum;

	if (w->engine->spec.locks != LOCKS_FILE || d->job.fd < 0)
		return;
	begin_call(w, SHM_CALL_FCNTL);
	errnum = lock_drop(d->job.fd, 0, 0);
	if (errnum != 0)
		worker_fail_sys(w, "run", SHM_CALL_FCNTL, d->path, errnum);
}

/* All operations, and what is timed after them: its end, or 0 for that of the last operation. */
static int64_t
run_file(struct worker *w)
{
	struct data_state *d = &w->data;

	if (data_lock_file(w))
		d->io->run(&d->job);
	if (io_failed(&d->job))
		data_fail_io(w);
	note_filled(w);
	note_pass(w);

	int64_t fsync_ns = timed_fsync(w);
	data_unlock_file(w);
	int64_t close_ns = timed_close(w);
	return LS_MAX(fsync_ns, close_ns);
}

void
data_run(struct worker *w, const struct rusage *cpu)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	struct tally *t = &d->job.tally;

	t->cpu = *cpu;
	d->dirty = d->job.write && d->job.fd >= 0;
	d->step = "run";
	tally_go(t, e->start_ns, e->spec.warmup);

	int64_t end_ns = e->spec.files_per_worker > 1 ? file_set_run(w) : run_file(w);
	/* Without a counted operation the end of the attempt is the only end there is. */
	if (end_ns == 0 && t->end_ns == 0)
		end_ns = io_now_ns();
	tally_finish(t, end_ns);
}

void
data_flush(struct worker *w)
{
	struct data_state *d = &w->data;

	if (!d->dirty)
		return;
	if (w->engine->spec.files_per_worker > 1) {
		file_set_flush(w);
		return;
	}
	if (d->job.fd < 0) /* closed in the measured time */
		d->job.fd = path_open(w->engine->config.run_dir_fd, d->path, O_RDWR, 0);
	if (d->job.fd < 0)
		worker_fail_sys(w, "flush", SHM_CALL_OPEN, d->path, errno);
	else
		sync_file(w, "flush");
	tally_call(&d->job.tally, SHM_CALL_NONE);
}

void
data_disarm(struct worker *w)
{
	struct data_state *d = &w->data;

	if (d->io != NULL)
		d->io->teardown(&d->job);
	check_fini(&d->check);
	if (d->job.fd >= 0)
		close(d->job.fd);
	d->job.fd = -1;
	d->io = NULL;
}
