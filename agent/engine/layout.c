#include "agent/engine/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/file_set.h"

#define FILE_MODE    0600
#define LAYOUT_WRITE (1ULL << 20) /* bytes per call */

static bool
fail_sys(struct worker *w, enum shm_call call)
{
	worker_fail_sys(w, w->data.step, call, w->data.path, errno);
	return false;
}

static bool
fail_text(struct worker *w, enum ls_rc rc, int errnum, const char *text)
{
	worker_fail(w,
	    &(struct failure){ .rc = rc,
		.step = w->data.step,
		.call = SHM_CALL_OPEN,
		.path = w->data.path,
		.offset = LS_UNKNOWN_U64,
		.errnum = errnum,
		.text = text });
	return false;
}

/* The directory that the file lies in; the others of the run may be making it, too. */
static bool
make_directory(struct worker *w, const char *name)
{
	tally_call(&w->data.job.tally, SHM_CALL_MKDIR);
	if (path_mkdir(w->engine->config.run_dir_fd, name) == 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_MKDIR, name, errno);
	return false;
}

/* The number of a file in engine.filled. */
static uint64_t
file_number(enum phase_layout layout, uint32_t worker)
{
	bool of_workers = layout == LAYOUT_WORKER || layout == LAYOUT_INTERLEAVED;

	return (uint64_t)layout << 32 | (of_workers ? worker : 0);
}

bool
layout_place(struct worker *w)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	unsigned long long node = e->owner;
	struct ls_err err;

	if (phase_place(&e->spec, e->node_workers, e->config.node_count, e->user, w->index, &d->place, &err) != LS_OK) {
		worker_fail_err(w, "arm", &err);
		return false;
	}
	switch ((enum phase_layout)e->spec.layout) {
	case LAYOUT_WORKER:
		if (e->spec.files_per_worker > 1)
			file_set_name(w, 0);
		else
			snprintf(d->path, sizeof(d->path), "n%llu/data.%u", node, w->index);
		break;
	case LAYOUT_NODE:
		snprintf(d->path, sizeof(d->path), "n%llu/data", node);
		break;
	case LAYOUT_SHARED:
		snprintf(d->path, sizeof(d->path), "shared/data");
		break;
	case LAYOUT_INTERLEAVED:
		snprintf(d->path, sizeof(d->path), "shared/data.i");
		break;
	case LAYOUT_SAME:
		snprintf(d->path, sizeof(d->path), "shared/data.s");
		break;
	}
	d->file = file_number((enum phase_layout)e->spec.layout, w->index);
	return true;
}

void
layout_begin(struct engine *e)
{
	struct phase_place first;

	if (e->spec.layout != LAYOUT_INTERLEAVED || e->active == 0 ||
	    phase_place(&e->spec, e->node_workers, e->config.node_count, e->user, 0, &first, NULL) != LS_OK)
		return;

	struct interleaving now = { e->spec.record_size, first.offset, first.step };
	if (memcmp(&now, &e->interleaving, sizeof(now)) != 0)
		for (uint32_t i = 0; i < e->worker_count; i++) {
			filled_drop(&e->filled, file_number(LAYOUT_INTERLEAVED, i), 0, UINT64_MAX);
			checks_forget_passes(&e->checks, file_number(LAYOUT_INTERLEAVED, i));
		}
	e->interleaving = now;
}

/* What stands for the part in engine.filled: its place in the file, or with interleaved the bytes as the worker counts them. */
static uint64_t
part_begin(const struct worker *w)
{
	return w->engine->spec.layout == LAYOUT_INTERLEAVED ? 0 : w->data.place.offset;
}

/* Many files are too many to know the age of each; and what other nodes wrote, into theirs or all over ours, this one does not know. */
static bool
has_ages(const struct worker *w)
{
	return w->engine->spec.files_per_worker <= 1 && w->engine->spec.layout != LAYOUT_SAME &&
	    w->engine->owner == w->engine->config.node_index;
}

void
layout_note_pass(struct worker *w, uint64_t generation)
{
	if (has_ages(w))
		checks_note_pass(
		    &w->engine->checks, w->data.file, part_begin(w), part_begin(w) + w->data.place.length, generation);
}

void
layout_begin_check(struct worker *w)
{
	struct data_state *d = &w->data;
	const struct phase_place *p = &d->place;
	struct check *c = &d->check;

	check_init(c, &w->engine->checks, d->file, part_begin(w), has_ages(w) ? part_begin(w) + p->length : 0);
	c->shm = w->shm;
	c->worker = w->index;
	c->source = &d->job.source;
	c->path = d->path;
	c->base = p->offset;
	c->step = p->step;
	c->record = w->engine->spec.record_size;
	c->part_begin = part_begin(w);
	d->job.check = c;
}

void
layout_note_filled(struct worker *w, uint64_t length)
{
	filled_add(&w->engine->filled, w->data.file, part_begin(w), part_begin(w) + length);
}

/* Where byte number at of the part is in the file, and how many follow it there up to the end of its record or of the part. */
static uint64_t
place_of_byte(const struct worker *w, uint64_t at, uint64_t *together)
{
	const struct phase_place *p = &w->data.place;
	uint64_t record = w->engine->spec.record_size;

	*together = p->length - at;
	if (p->step == record)
		return p->offset + at;
	*together = LS_MIN(*together, record - at % record);
	return p->offset + at / record * p->step + at % record;
}

bool
layout_make_directory(struct worker *w)
{
	char name[PATH_MAX_REL];

	if (w->engine->spec.layout >= LAYOUT_SHARED)
		return make_directory(w, "shared");
	snprintf(name, sizeof(name), "n%llu", (unsigned long long)w->engine->config.node_index);
	return make_directory(w, name);
}

int
layout_open(struct worker *w, int flags)
{
	tally_call(&w->data.job.tally, SHM_CALL_OPEN);
	return path_open(w->engine->config.run_dir_fd, w->data.path, flags, FILE_MODE);
}

bool
layout_open_for_phase(struct worker *w, int flags)
{
	struct data_state *d = &w->data;

	if (w->engine->spec.direct)
		flags |= O_DIRECT;
	if (d->job.write && w->engine->spec.sync_writes != SYNC_WRITES_NONE)
		flags |= w->engine->spec.sync_writes == SYNC_WRITES_DSYNC ? O_DSYNC : O_SYNC;
	d->job.fd = layout_open(w, flags);
	if (d->job.fd >= 0)
		return true;
	if (errno == EINVAL && w->engine->spec.direct)
		return fail_text(w, LS_E_INVALID, EINVAL, "this volume cannot do direct I/O");
	return fail_sys(w, SHM_CALL_OPEN);
}

/* Frees what a file that is ours alone holds, so that the phase writes into new blocks. */
static bool
empty_file(struct worker *w, int fd, off_t size)
{
	filled_drop(&w->engine->filled, w->data.file, 0, UINT64_MAX);
	if (size > 0 && ftruncate(fd, 0) < 0)
		return fail_sys(w, SHM_CALL_OPEN);
	return true;
}

/* Gives the blocks of a range back; what is beyond the file's size goes, too. */
static bool
punch(struct worker *w, int fd, off_t size, off_t begin, off_t length)
{
	/* All nodes cut to the same size, so that it does not matter who is first. */
	if (size > (off_t)w->engine->spec.file_size && ftruncate(fd, (off_t)w->engine->spec.file_size) < 0)
		return fail_sys(w, SHM_CALL_OPEN);
	if (size > begin && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, length) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return fail_sys(w, SHM_CALL_OPEN);
	return true;
}

/* The same for our segment of a file that others have segments in. */
static bool
empty_segment(struct worker *w, int fd, off_t size)
{
	const struct phase_place *p = &w->data.place;

	filled_drop(&w->engine->filled, w->data.file, p->offset, p->offset + p->length);
	return punch(w, fd, size, (off_t)p->offset, (off_t)p->length);
}

/* The first of all workers does so for a file whose records belong to all in turn: nobody writes before all are armed. */
static bool
empty_interleaved(struct worker *w, int fd, off_t size)
{
	filled_drop(&w->engine->filled, w->data.file, 0, UINT64_MAX);
	if (w->data.place.offset > 0 || size == 0)
		return true;
	if (w->engine->spec.engine == ENGINE_MMAP)
		return punch(w, fd, size, 0, (off_t)w->engine->spec.file_size);
	return ftruncate(fd, 0) == 0 || fail_sys(w, SHM_CALL_OPEN);
}

static bool
empty_part(struct worker *w, int fd, off_t size)
{
	switch ((enum phase_layout)w->engine->spec.layout) {
	case LAYOUT_WORKER:
		return empty_file(w, fd, size);
	case LAYOUT_NODE:
		/* Mapped, another worker may have made it long already. */
		if (w->engine->spec.engine == ENGINE_MMAP)
			return empty_segment(w, fd, size);
		return w->index > 0 || empty_file(w, fd, size);
	case LAYOUT_SHARED:
		return empty_segment(w, fd, size);
	case LAYOUT_INTERLEAVED:
	case LAYOUT_SAME: /* all cut it to the same, so that it does not matter who is first */
		return empty_interleaved(w, fd, size);
	}
	return true;
}

/* A file that no other worker has a part of. */
static bool
is_ours_alone(const struct worker *w)
{
	const struct engine *e = w->engine;

	return e->spec.layout == LAYOUT_WORKER || (e->spec.layout == LAYOUT_NODE && e->active == 1);
}

/* Removes the file of an earlier phase. */
static bool
unlink_old(struct worker *w)
{
	const char *slash = strrchr(w->data.path, '/');
	char top[PATH_MAX_REL];
	bool ok;
	int fd;

	snprintf(top, sizeof(top), "%.*s", (int)(slash - w->data.path), w->data.path);
	tally_call(&w->data.job.tally, SHM_CALL_UNLINK);
	fd = path_open(w->engine->config.run_dir_fd, top, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return fail_sys(w, SHM_CALL_OPEN);
	ok = unlinkat(fd, slash + 1, 0) == 0 || errno == ENOENT || fail_sys(w, SHM_CALL_UNLINK);
	close(fd);
	return ok;
}

/*
 * bonnie++ writes into a file that it has just made (O_EXCL) in place of the old one; both before it starts its clock. Where
 * workers share a file, one cannot take it from under the others, which may have it open: it is emptied then.
 */
static bool
replace_file(struct worker *w)
{
	filled_drop(&w->engine->filled, w->data.file, 0, UINT64_MAX);
	if (!unlink_old(w) || !layout_open_for_phase(w, O_RDWR | O_CREAT | O_EXCL))
		return false;
	/* Freeing blocks is work that the phase must not pay for. */
	tally_call(&w->data.job.tally, SHM_CALL_FSYNC);
	return fsync(w->data.job.fd) == 0 || fail_sys(w, SHM_CALL_FSYNC);
}

bool
layout_open_fresh(struct worker *w)
{
	bool bonnie = (phase_kind_info((enum phase_kind)w->engine->spec.kind)->groups & PHASE_BONNIE) != 0;
	struct stat st;

	if (!layout_make_directory(w))
		return false;
	if (bonnie && is_ours_alone(w))
		return replace_file(w);
	if (!layout_open_for_phase(w, O_RDWR | O_CREAT))
		return false;

	int fd = w->data.job.fd;
	if (fstat(fd, &st) < 0)
		return fail_sys(w, SHM_CALL_STAT);
	if (!empty_part(w, fd, st.st_size))
		return false;
	if (st.st_size == 0)
		return true;
	/* Freeing blocks is work that the phase must not pay for. */
	tally_call(&w->data.job.tally, SHM_CALL_FSYNC);
	return fsync(fd) == 0 || fail_sys(w, SHM_CALL_FSYNC);
}

/* Writes length bytes, stamped, to the file's offset. */
static bool
write_chunk(struct worker *w, int fd, unsigned char *data, size_t length, uint64_t offset)
{
	data_stamp_record(&w->data.job.source, data, offset, length, 0);
	for (size_t done = 0; done < length;) {
		atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
		ssize_t n = pwrite(fd, data + done, length - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			worker_fail(w,
			    &(struct failure){ .rc = LS_E_SYS,
				.step = w->data.step,
				.call = SHM_CALL_PWRITE,
				.path = w->data.path,
				.offset = offset + done,
				.errnum = n < 0 ? errno : 0,
				.text = n < 0 ? NULL : "wrote nothing" });
			return false;
		}
		done += (size_t)n;
	}
	atomic_store_explicit(&w->shm->last_ns, io_now_ns(), memory_order_relaxed); /* it moves */
	return true;
}

/* For those who check later. */
static void
note_written(struct worker *w)
{
	struct engine *e = w->engine;
	const struct data_source *source = &w->data.job.source;

	checks_note_writer(
	    &e->checks, (unsigned)e->spec.layout, e->spec.kind, false, source->sums && e->spec.duplicate == 0);
	layout_note_pass(w, data_generation(source->epoch, 0));
}

bool
layout_write_part(struct worker *w, int fd)
{
	const struct phase_place *p = &w->data.place;
	const struct data_pool *pool = &w->write_pool;
	size_t chunk = LS_MIN((size_t)LAYOUT_WRITE, pool->size);
	size_t at = 0;

	tally_call(&w->data.job.tally, SHM_CALL_PWRITE);
	for (uint64_t done = 0; done < p->length;) {
		uint64_t together, offset = place_of_byte(w, done, &together);
		size_t length = (size_t)LS_MIN((uint64_t)chunk, together);
		if (worker_stop_asked(w) || !write_chunk(w, fd, pool->memory + at, length, offset))
			return false;
		done += length;
		at = at + 2 * chunk <= pool->size ? at + chunk : 0;
	}
	tally_call(&w->data.job.tally, SHM_CALL_FSYNC);
	if (fsync(fd) < 0)
		return fail_sys(w, SHM_CALL_FSYNC);
	if (w->engine->spec.direct)
		(void)posix_fadvise(fd, (off_t)p->offset, p->step == w->engine->spec.record_size ? (off_t)p->length : 0,
		    POSIX_FADV_DONTNEED);
	note_written(w);
	return true;
}

/* Is the file long enough for all of the part? */
static bool
is_long_enough(const struct worker *w, int fd)
{
	struct stat st;
	uint64_t together;

	if (w->data.place.length == 0)
		return true;
	return fstat(fd, &st) == 0 && (uint64_t)st.st_size > place_of_byte(w, w->data.place.length - 1, &together);
}

/* Is all of the part there, and written by this node? */
static bool
part_is_there(struct worker *w, int fd)
{
	uint64_t begin = part_begin(w);

	if (!filled_covers(&w->engine->filled, w->data.file, begin, begin + w->data.place.length))
		return false;
	/* A file that was cut from outside is for the check to find. */
	return w->engine->spec.verify || is_long_enough(w, fd);
}

bool
layout_make_filled(struct worker *w)
{
	if (!layout_make_directory(w))
		return false;

	int fd = layout_open(w, O_RDWR | O_CREAT);
	if (fd < 0)
		return fail_sys(w, SHM_CALL_OPEN);

	/* One worker of a node writes what is everybody's. */
	bool done = w->engine->spec.layout == LAYOUT_SAME && w->index > 0;
	bool ok = done || part_is_there(w, fd) || layout_write_part(w, fd);
	if (ok)
		layout_note_filled(w, w->data.place.length);
	close(fd);
	return ok;
}

/* What another node wrote, in a phase before or when it was told to lay out. */
static bool
open_of_other(struct worker *w)
{
	static const char what[] = "another node's file (shift) is not there as it should be";
	int fd = layout_open(w, O_RDONLY);

	if (fd < 0 && errno == ENOENT)
		return fail_text(w, LS_E_INVALID, ENOENT, what);
	if (fd < 0)
		return fail_sys(w, SHM_CALL_OPEN);

	bool there = is_long_enough(w, fd);
	close(fd);
	if (!there)
		return fail_text(w, LS_E_INVALID, 0, what);
	return layout_open_for_phase(w, O_RDONLY);
}

bool
layout_open_filled(struct worker *w)
{
	if (w->engine->shifted)
		return open_of_other(w);
	return layout_make_filled(w) && layout_open_for_phase(w, w->data.job.write ? O_RDWR : O_RDONLY);
}
