#include "agent/engine/phase_meta.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

#define FILE_MODE   0600
#define NAME_DIGITS 8

/* --- names ----------------------------------------------------------------------------------------------------------- */

/* The name of file i into w->meta.name: no printf, as it happens between operations. */
static void
set_name(struct worker *w, uint64_t i)
{
	static const char digits[] = "0123456789abcdef";

	w->meta.number = i;

	for (int at = NAME_DIGITS - 1; at >= 0; at--, i >>= 4)
		w->meta.name[at] = digits[i & 15];
}

bool
meta_fail(struct worker *w, const char *step, enum shm_call call, uint64_t offset, int errnum)
{
	char path[2 * PATH_MAX_REL + 2];

	snprintf(path, sizeof(path), "%s/%s", w->meta.dir, w->meta.name);
	worker_fail(w,
	    &(struct failure){
		.rc = LS_E_SYS, .step = step, .call = call, .path = path, .offset = offset, .errnum = errnum });
	return false;
}

/* --- arming ---------------------------------------------------------------------------------------------------------- */

static bool
make_directory(struct worker *w, int dir_fd, const char *name, const char *path)
{
	if (path_mkdir(dir_fd, name) == 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_MKDIR, path, errno);
	return false;
}

/* Opens top/leaf, making both if need be. */
static bool
open_directory(struct worker *w, const char *top, const char *leaf)
{
	struct meta_state *m = &w->meta;
	int run_dir = w->engine->config.run_dir_fd;

	tally_call(&m->tally, SHM_CALL_MKDIR);
	if (!make_directory(w, run_dir, top, top))
		return false;

	int top_fd = path_open(run_dir, top, O_RDONLY | O_DIRECTORY, 0);
	if (top_fd < 0) {
		worker_fail_sys(w, "arm", SHM_CALL_OPEN, top, errno);
		return false;
	}
	bool ok = make_directory(w, top_fd, leaf, m->dir);
	if (ok) {
		m->dir_fd = path_open(top_fd, leaf, O_RDONLY | O_DIRECTORY, 0);
		ok = m->dir_fd >= 0;
		if (!ok)
			worker_fail_sys(w, "arm", SHM_CALL_OPEN, m->dir, errno);
	}
	close(top_fd);
	return ok;
}

static bool
place(struct worker *w)
{
	struct meta_state *m = &w->meta;
	const struct engine *e = w->engine;
	unsigned long long node = e->config.node_index;
	char top[32], leaf[32];

	if (e->spec.dirs == DIRS_SHARED) {
		snprintf(top, sizeof(top), "shared");
		snprintf(leaf, sizeof(leaf), "d");
		snprintf(m->name, sizeof(m->name), "%0*x.%llu.%u", NAME_DIGITS, 0U, node, w->index);
	} else {
		snprintf(top, sizeof(top), "n%llu", node);
		snprintf(leaf, sizeof(leaf), "d.%u", w->index);
		snprintf(m->name, sizeof(m->name), "%0*x", NAME_DIGITS, 0U);
	}
	snprintf(m->dir, sizeof(m->dir), "%s/%s", top, leaf);
	snprintf(w->shm->file, sizeof(w->shm->file), "%s", m->dir);
	return open_directory(w, top, leaf);
}

/* Files take their data from a pool: no more than the budget, longer files go through it several times. */
static bool
make_data(struct worker *w)
{
	uint64_t size = LS_MIN(w->engine->spec.size, LS_MAX(worker_data_budget(w), (uint64_t)DATA_BLOCK));
	const struct data_pattern pattern = worker_data_pattern(w);
	struct ls_err err;

	if (size == 0 ||
	    data_pool_need(&w->write_pool, (size_t)size, engine_alignment(w->engine), &pattern, &err) == LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

static bool
remove_file(struct worker *w, uint64_t i)
{
	set_name(w, i);
	tally_call(&w->meta.tally, SHM_CALL_UNLINK);
	/* One that is not there may come from an operation that failed half-way. */
	if (unlinkat(w->meta.dir_fd, w->meta.name, 0) < 0 && errno != ENOENT)
		return meta_fail(w, "arm", SHM_CALL_UNLINK, LS_UNKNOWN_U64, errno);
	return true;
}

static bool
remove_all(struct worker *w)
{
	struct meta_range *have = w->meta.present;

	for (; have->begin < have->end; have->begin++) {
		if (worker_stop_asked(w) || !remove_file(w, have->begin))
			return false;
		atomic_store_explicit(&w->shm->last_ns, io_now_ns(), memory_order_relaxed); /* it moves */
	}
	*have = (struct meta_range){ 0, 0 };
	return true;
}

/* Makes files begin..end-1; they are not in present yet. */
static bool
create_range(struct worker *w, uint64_t begin, uint64_t end)
{
	for (uint64_t i = begin; i < end; i++) {
		if (worker_stop_asked(w) || !remove_file(w, i) || !meta_create_file(w, "arm", false))
			return false;
		atomic_store_explicit(&w->shm->last_ns, io_now_ns(), memory_order_relaxed); /* it moves */
	}
	return true;
}

/* Files 0..n-1 exist. */
static bool
make_present(struct worker *w, uint64_t n)
{
	struct meta_range *have = w->meta.present;

	if (have->begin > n && !remove_all(w)) /* a gap would be between: begin anew */
		return false;
	if (have->begin == 0 && have->end >= n)
		return true;
	if (!create_range(w, 0, LS_MIN(have->begin, n)))
		return false;
	have->begin = 0;
	if (!create_range(w, have->end, n))
		return false;
	have->end = LS_MAX(have->end, n);
	tally_call(&w->meta.tally, SHM_CALL_SYNCFS);
	if (syncfs(w->meta.dir_fd) == 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_SYNCFS, w->meta.dir, errno);
	return false;
}

bool
meta_arm(struct worker *w, bool present)
{
	const struct engine *e = w->engine;
	struct meta_state *m = &w->meta;

	memset(m, 0, sizeof(*m));
	m->dir_fd = -1;
	m->present = &w->present[e->spec.dirs];
	m->source = worker_data_source(w);
	m->source.sums = true;
	m->source.pool = &w->write_pool;
	tally_arm(&m->tally, w->shm, e->control, e->epoch, phase_kind_info((enum phase_kind)e->spec.kind)->op);
	w->idle = e->spec.files == 0;
	if (!place(w) || !make_data(w))
		return false;
	if (!(present ? make_present(w, e->spec.files) : remove_all(w)))
		return false;
	set_name(w, 0);
	return true;
}

/* --- running --------------------------------------------------------------------------------------------------------- */

static bool
write_data(struct worker *w, const char *step, int fd)
{
	uint64_t size = w->engine->spec.size;
	struct data_pool *pool = &w->write_pool;

	for (uint64_t done = 0; done < size;) {
		size_t length = (size_t)LS_MIN(size - done, (uint64_t)pool->size);
		w->meta.source.now_ns = atomic_load_explicit(&w->shm->since_ns, memory_order_relaxed);
		/* The file's number stands for the round: all files have the same offsets. */
		data_stamp_record(&w->meta.source, pool->memory, done, length, w->meta.number);
		tally_call(&w->meta.tally, SHM_CALL_WRITE);
		ssize_t n = write(fd, pool->memory, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return meta_fail(w, step, SHM_CALL_WRITE, done, n < 0 ? errno : EIO);
		done += (uint64_t)n;
	}
	return true;
}

bool
meta_create_file(struct worker *w, const char *step, bool sync)
{
	struct meta_state *m = &w->meta;
	bool ok = true;
	int fd;

	tally_call(&m->tally, SHM_CALL_OPEN);
	do
		fd = openat(m->dir_fd, m->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return meta_fail(w, step, SHM_CALL_OPEN, LS_UNKNOWN_U64, errno);
	if (w->engine->spec.size > 0)
		ok = write_data(w, step, fd);
	if (ok && sync) {
		tally_call(&m->tally, SHM_CALL_FSYNC);
		if (fsync(fd) < 0)
			ok = meta_fail(w, step, SHM_CALL_FSYNC, LS_UNKNOWN_U64, errno);
	}
	tally_call(&m->tally, SHM_CALL_CLOSE);
	if (close(fd) < 0 && ok)
		ok = meta_fail(w, step, SHM_CALL_CLOSE, LS_UNKNOWN_U64, errno);
	return ok;
}

/* The operations from the first to the last. Returns how many were done. */
static uint64_t
do_all(struct worker *w, const struct meta_loop *loop)
{
	struct tally *t = &w->meta.tally;
	uint64_t files = w->engine->spec.files;
	uint64_t done = 0, i = 0;
	int64_t now = io_now_ns();

	while (tally_more(t, now)) {
		tally_call(t, loop->call);
		tally_begin(t, now);
		if (!loop->op(w))
			break;
		int64_t end = io_now_ns();
		tally_end(t, now, end, loop->op_bytes);
		tally_note(t, end);
		now = end;
		done++;
		if (++i == files) {
			if (!loop->goes_round)
				break;
			i = 0;
		}
		set_name(w, i);
		if (done == 1) {
			sched_yield(); /* a worker that waits for this processor starts now */
			now = io_now_ns();
		}
	}
	return done;
}

/* The flush that counts. Returns its end, or 0. */
static int64_t
timed_sync(struct worker *w, const struct meta_loop *loop)
{
	struct meta_state *m = &w->meta;

	if (!loop->sync_directory || w->failed || tally_stopped(&m->tally) || !m->tally.began)
		return 0;
	tally_call(&m->tally, SHM_CALL_FSYNC);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (fsync(m->dir_fd) < 0) {
		worker_fail_sys(w, "run", SHM_CALL_FSYNC, m->dir, errno);
		return 0;
	}
	return io_now_ns();
}

uint64_t
meta_run(struct worker *w, const struct rusage *cpu, const struct meta_loop *loop)
{
	const struct engine *e = w->engine;
	struct tally *t = &w->meta.tally;

	t->cpu = *cpu;
	tally_go(t, e->start_ns, e->spec.warmup, e->spec.time);

	uint64_t done = do_all(w, loop);
	int64_t end_ns = timed_sync(w, loop);
	if (end_ns == 0 && t->end_ns == 0)
		end_ns = io_now_ns();
	tally_finish(t, end_ns);
	return done;
}

void
meta_flush(struct worker *w)
{
	struct meta_state *m = &w->meta;

	if (w->index != 0 || m->dir_fd < 0)
		return;
	tally_call(&m->tally, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (syncfs(m->dir_fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_SYNCFS, m->dir, errno);
	tally_call(&m->tally, SHM_CALL_NONE);
}

void
meta_disarm(struct worker *w)
{
	if (w->meta.dir_fd >= 0)
		close(w->meta.dir_fd);
	w->meta.dir_fd = -1;
}
