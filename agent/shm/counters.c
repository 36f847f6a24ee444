#include "agent/shm/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"

#define SHM_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

/* Two processes map the same bytes: what stands where is part of the contract. */
_Static_assert(sizeof(struct shm_control) % LS_CACHE_LINE == 0, "workers begin on a cache line");
_Static_assert(sizeof(struct shm_worker) % LS_CACHE_LINE == 0, "a worker never shares a line with another");
_Static_assert(offsetof(struct shm_worker, first_op_ns) == LS_CACHE_LINE, "the hot members fill one line");
_Static_assert(offsetof(struct shm_control, commit_epoch) == LS_CACHE_LINE, "the commit has a line of its own");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "counters are shared between processes");

const char *const shm_call_names[SHM_CALL_COUNT + 1] = {
#define X(ID, name) [SHM_CALL_##ID] = (name),
	SHM_CALLS(X)
#undef X
};

struct shm_map {
	int fd;
	size_t size;
	uint32_t workers;
	struct shm_control *control; /* the mapping's start */
	struct shm_worker *worker;   /* the first of them */
};

static size_t
map_size(uint32_t workers)
{
	return sizeof(struct shm_control) + (size_t)workers * sizeof(struct shm_worker);
}

/* Maps fd, which has the size for so many workers. Takes fd over when it succeeds; otherwise NULL and LS_E_SYS in err. */
static struct shm_map *
map_fd(int fd, uint32_t workers, struct ls_err *err)
{
	size_t size = map_size(workers);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		ls_err_sys(err, errno, "shared counters: mmap of %zu bytes", size);
		return NULL;
	}

	struct shm_map *map = ls_calloc(1, sizeof(*map));
	map->fd = fd;
	map->size = size;
	map->workers = workers;
	map->control = p;
	map->worker = (struct shm_worker *)(void *)((char *)p + sizeof(struct shm_control));
	return map;
}

enum ls_rc
shm_map_new(uint32_t workers, struct shm_map **out, struct ls_err *err)
{
	struct shm_map *map;
	int fd = memfd_create("lockstep-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return ls_err_sys(err, errno, "shared counters: memfd_create");
	if (ftruncate(fd, (off_t)map_size(workers)) < 0) {
		ls_err_sys(err, errno, "shared counters: ftruncate to %zu bytes", map_size(workers));
		goto fail;
	}
	/* A runner that shrank it could end its agent with SIGBUS. */
	if (fcntl(fd, F_ADD_SEALS, SHM_SEALS) < 0) {
		ls_err_sys(err, errno, "shared counters: F_ADD_SEALS");
		goto fail;
	}
	map = map_fd(fd, workers, err);
	if (map == NULL)
		goto fail;
	map->control->magic = SHM_MAGIC;
	map->control->version = SHM_VERSION;
	map->control->workers = workers;
	*out = map;
	return LS_OK;
fail:
	close(fd);
	return LS_E_SYS;
}

/* Before anything is mapped: seals and a size that can hold the control block. */
static enum ls_rc
check_fd(int fd, size_t *out_size, struct ls_err *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return ls_err_sys(err, errno, "shared counters: descriptor %d is no memfd", fd);
	if ((seals & SHM_SEALS) != SHM_SEALS)
		return ls_err_set(
		    err, LS_E_INVALID, "shared counters: descriptor %d is not sealed against resizing", fd);
	if (fstat(fd, &st) < 0)
		return ls_err_sys(err, errno, "shared counters: fstat");
	if (st.st_size < (off_t)sizeof(struct shm_control))
		return ls_err_set(err, LS_E_INVALID, "shared counters: only %jd bytes", (intmax_t)st.st_size);
	*out_size = (size_t)st.st_size;
	return LS_OK;
}

/* What the maker wrote into the control block. */
static enum ls_rc
check_control(int fd, size_t size, uint32_t *out_workers, struct ls_err *err)
{
	struct shm_control control;
	ssize_t n = pread(fd, &control, sizeof(control), 0);

	if (n < 0)
		return ls_err_sys(err, errno, "shared counters: pread");
	if (n != (ssize_t)sizeof(control) || control.magic != SHM_MAGIC)
		return ls_err_set(err, LS_E_INVALID, "shared counters: not made by a lockstep agent");
	if (control.version != SHM_VERSION)
		return ls_err_set(err, LS_E_INVALID, "shared counters: version %u, this runner knows %u",
		    control.version, (unsigned)SHM_VERSION);
	if (size != map_size(control.workers))
		return ls_err_set(
		    err, LS_E_INVALID, "shared counters: %zu bytes are not those of %u workers", size, control.workers);
	*out_workers = control.workers;
	return LS_OK;
}

enum ls_rc
shm_map_open(int fd, struct shm_map **out, struct ls_err *err)
{
	size_t size = 0;
	uint32_t workers = 0;
	enum ls_rc rc = check_fd(fd, &size, err);

	if (rc == LS_OK)
		rc = check_control(fd, size, &workers, err);
	struct shm_map *map = rc == LS_OK ? map_fd(fd, workers, err) : NULL;
	if (map == NULL) {
		close(fd);
		return rc != LS_OK ? rc : LS_E_SYS;
	}
	*out = map;
	return LS_OK;
}

void
shm_map_free(struct shm_map *map)
{
	if (map == NULL)
		return;
	munmap(map->control, map->size);
	close(map->fd);
	free(map);
}

int
shm_map_fd(const struct shm_map *map)
{
	return map->fd;
}

struct shm_control *
shm_map_control(struct shm_map *map)
{
	return map->control;
}

struct shm_worker *
shm_map_worker(struct shm_map *map, uint32_t i)
{
	return &map->worker[i];
}

uint32_t
shm_map_workers(const struct shm_map *map)
{
	return map->workers;
}

/*
 * Histograms of operations that were not counted keep their pages untouched: even reading one makes it. What a phase is going to
 * use is emptied when it is armed.
 */
static void
reset_latencies(struct shm_worker *w)
{
	for (size_t i = 0; i < OP_COUNT; i++) {
		if (atomic_load_explicit(&w->op_ops[i], memory_order_relaxed) == 0)
			continue;
		hist_reset(&w->latency[i]);
		if (atomic_load_explicit(&w->service[i].count, memory_order_relaxed) > 0)
			hist_reset(&w->service[i]);
	}
}

static void
reset_hot(struct shm_worker *w)
{
	atomic_store_explicit(&w->ring_count, 0, memory_order_release);
	atomic_store_explicit(&w->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&w->ops, 0, memory_order_relaxed);
	atomic_store_explicit(&w->last_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->done, 0, memory_order_relaxed);
	atomic_store_explicit(&w->call, SHM_CALL_NONE, memory_order_relaxed);
	atomic_store_explicit(&w->since_ns, 0, memory_order_relaxed);
}

static void
reset_rare(struct shm_worker *w)
{
	atomic_store_explicit(&w->first_op_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->start_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->end_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->wake_late_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->cpu_user_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->cpu_system_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->errors, 0, memory_order_relaxed);
	atomic_store_explicit(&w->checked_blocks, 0, memory_order_relaxed);
	atomic_store_explicit(&w->mismatches, 0, memory_order_relaxed);
	atomic_store_explicit(&w->fsynced, 0, memory_order_relaxed);
	for (size_t i = 0; i < OP_COUNT; i++) {
		atomic_store_explicit(&w->op_bytes[i], 0, memory_order_relaxed);
		atomic_store_explicit(&w->op_ops[i], 0, memory_order_relaxed);
	}
	w->file[0] = '\0';
}

void
shm_worker_reset(struct shm_worker *w)
{
	reset_latencies(w); /* by the counts, before they are emptied */
	reset_hot(w);
	reset_rare(w);
	for (size_t i = 0; i < SHM_RING; i++) {
		atomic_store_explicit(&w->ring[i].at_ns, 0, memory_order_relaxed);
		atomic_store_explicit(&w->ring[i].bytes, 0, memory_order_relaxed);
		atomic_store_explicit(&w->ring[i].ops, 0, memory_order_relaxed);
		atomic_store_explicit(&w->ring[i].write_bytes, 0, memory_order_relaxed);
		atomic_store_explicit(&w->ring[i].write_ops, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&w->state, SHM_IDLE, memory_order_release);
}
