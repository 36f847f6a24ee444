#include "agent/engine/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

#define FILE_MODE    0600
#define LAYOUT_WRITE (1ULL << 20) /* bytes per call */

static bool
fail_sys(struct worker *w, enum shm_call call)
{
	worker_fail_sys(w, "arm", call, w->data.path, errno);
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

bool
layout_place(struct worker *w)
{
	const struct engine *e = w->engine;
	struct data_state *d = &w->data;
	unsigned long long node = e->config.node_index;
	struct ls_err err;

	if (phase_place(&e->spec, e->node_workers, e->config.node_count, node, w->index, &d->place, &err) != LS_OK) {
		worker_fail_err(w, "arm", &err);
		return false;
	}
	switch ((enum phase_layout)e->spec.layout) {
	case LAYOUT_WORKER:
		snprintf(d->path, sizeof(d->path), "n%llu/data.%u", node, w->index);
		break;
	case LAYOUT_NODE:
		snprintf(d->path, sizeof(d->path), "n%llu/data", node);
		break;
	case LAYOUT_SHARED:
		snprintf(d->path, sizeof(d->path), "shared/data");
		break;
	}
	d->file = (uint64_t)e->spec.layout << 32 | (e->spec.layout == LAYOUT_WORKER ? w->index : 0);
	return true;
}

static bool
make_own_directory(struct worker *w)
{
	char name[PATH_MAX_REL];

	if (w->engine->spec.layout == LAYOUT_SHARED)
		return make_directory(w, "shared");
	snprintf(name, sizeof(name), "n%llu", (unsigned long long)w->engine->config.node_index);
	return make_directory(w, name);
}

static int
open_file(struct worker *w, int flags)
{
	tally_call(&w->data.job.tally, SHM_CALL_OPEN);
	return path_open(w->engine->config.run_dir_fd, w->data.path, flags, FILE_MODE);
}

static bool
open_for_phase(struct worker *w, int flags)
{
	struct data_state *d = &w->data;

	if (w->engine->spec.direct)
		flags |= O_DIRECT;
	if (d->job.write && w->engine->spec.sync_writes != SYNC_WRITES_NONE)
		flags |= w->engine->spec.sync_writes == SYNC_WRITES_DSYNC ? O_DSYNC : O_SYNC;
	d->job.fd = open_file(w, flags);
	if (d->job.fd >= 0)
		return true;
	if (errno == EINVAL && w->engine->spec.direct) {
		worker_fail(w,
		    &(struct failure){ .rc = LS_E_INVALID,
			.step = "arm",
			.call = SHM_CALL_OPEN,
			.path = d->path,
			.offset = LS_UNKNOWN_U64,
			.errnum = EINVAL,
			.text = "this volume cannot do direct I/O" });
		return false;
	}
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

/* The same for our segment of a file that others have segments in. */
static bool
empty_segment(struct worker *w, int fd, off_t size)
{
	const struct phase_place *p = &w->data.place;
	off_t begin = (off_t)p->offset, length = (off_t)p->length;

	filled_drop(&w->engine->filled, w->data.file, p->offset, p->offset + p->length);
	/* All nodes cut to the same size, so that it does not matter who is first. */
	if (size > (off_t)w->engine->spec.file_size && ftruncate(fd, (off_t)w->engine->spec.file_size) < 0)
		return fail_sys(w, SHM_CALL_OPEN);
	if (size > begin && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, length) < 0 &&
	    errno != EOPNOTSUPP && errno != ENOSYS)
		return fail_sys(w, SHM_CALL_OPEN);
	return true;
}

bool
layout_open_fresh(struct worker *w)
{
	enum phase_layout layout = (enum phase_layout)w->engine->spec.layout;
	struct stat st;

	if (!make_own_directory(w) || !open_for_phase(w, O_RDWR | O_CREAT))
		return false;

	int fd = w->data.job.fd;
	if (fstat(fd, &st) < 0)
		return fail_sys(w, SHM_CALL_STAT);
	if (layout == LAYOUT_SHARED && !empty_segment(w, fd, st.st_size))
		return false;
	if ((layout == LAYOUT_WORKER || (layout == LAYOUT_NODE && w->index == 0)) && !empty_file(w, fd, st.st_size))
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
				.step = "arm",
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

static bool
write_part(struct worker *w, int fd)
{
	const struct phase_place *p = &w->data.place;
	const struct data_pool *pool = &w->write_pool;
	size_t chunk = LS_MIN((size_t)LAYOUT_WRITE, pool->size);
	size_t at = 0;

	tally_call(&w->data.job.tally, SHM_CALL_PWRITE);
	for (uint64_t done = 0; done < p->length;) {
		size_t length = (size_t)LS_MIN((uint64_t)chunk, p->length - done);
		if (worker_stop_asked(w) || !write_chunk(w, fd, pool->memory + at, length, p->offset + done))
			return false;
		done += length;
		at = at + 2 * chunk <= pool->size ? at + chunk : 0;
	}
	tally_call(&w->data.job.tally, SHM_CALL_FSYNC);
	if (fsync(fd) < 0)
		return fail_sys(w, SHM_CALL_FSYNC);
	if (w->engine->spec.direct)
		(void)posix_fadvise(fd, (off_t)p->offset, (off_t)p->length, POSIX_FADV_DONTNEED);
	return true;
}

/* Is all of the part there, and written by this node? */
static bool
part_is_there(struct worker *w, int fd)
{
	const struct phase_place *p = &w->data.place;
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size >= p->offset + p->length &&
	    filled_covers(&w->engine->filled, w->data.file, p->offset, p->offset + p->length);
}

static bool
lay_out(struct worker *w)
{
	const struct phase_place *p = &w->data.place;

	if (!make_own_directory(w))
		return false;

	int fd = open_file(w, O_RDWR | O_CREAT);
	if (fd < 0)
		return fail_sys(w, SHM_CALL_OPEN);

	bool ok = part_is_there(w, fd) || write_part(w, fd);
	if (ok)
		filled_add(&w->engine->filled, w->data.file, p->offset, p->offset + p->length);
	close(fd);
	return ok;
}

bool
layout_open_filled(struct worker *w)
{
	return lay_out(w) && open_for_phase(w, w->data.job.write ? O_RDWR : O_RDONLY);
}
