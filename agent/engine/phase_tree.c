#include "agent/engine/phase_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/clean.h"
#include "agent/engine/engine_int.h"

#define FILE_MODE  0600
#define DIR_MODE   0700
#define RANDOM_MAX 12 /* characters of the random part of a name */

/* --- names and sizes ------------------------------------------------------------------------------------------------- */

/* A random number that belongs to a file of this worker; which: several for the same file. */
static uint64_t
file_hash(const struct worker *w, uint64_t i, uint64_t which)
{
	return offsets_mix(offsets_mix(w->engine->config.seed ^ data_writer(w->engine->config.node_index, w->index)) ^
	    (i << 3 | which));
}

static uint64_t
file_size(const struct worker *w, uint64_t i)
{
	const struct phase *spec = &w->engine->spec;

	return spec->min_size + file_hash(w, i, 0) % (spec->size - spec->min_size + 1);
}

static char *
put_number(char *at, uint64_t number, unsigned digits, unsigned base)
{
	for (char *p = at + digits; p > at; number /= base)
		*--p = "0123456789abcdef"[number % base];
	return at + digits;
}

static char *
put_random(const struct worker *w, char *at, uint64_t i)
{
	static const char characters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned length = (unsigned)(file_hash(w, i, 1) % (RANDOM_MAX + 1));
	uint64_t bits[2] = { file_hash(w, i, 2), file_hash(w, i, 3) };

	for (unsigned k = 0; k < length; k++, bits[k % 2] /= sizeof(characters) - 1)
		*at++ = characters[bits[k % 2] % (sizeof(characters) - 1)];
	return at;
}

static bool
has_directories(const struct worker *w)
{
	return w->engine->spec.directories > 1;
}

/* bonnie++ counts one more than fits, so that the last directory may be short. */
static uint64_t
directory_of(const struct worker *w, uint64_t i)
{
	return i / (w->engine->spec.files / w->engine->spec.directories + 1);
}

/* Directory and name of file i. Returns the name's place in it. No printf: this happens between operations. */
static const char *
set_path(const struct worker *w, uint64_t i, char path[TREE_PATH])
{
	bool hex = w->engine->spec.semantics == BONNIE_2_00;
	char *at = path;

	if (has_directories(w)) {
		at = put_number(at, directory_of(w, i), 5, 10);
		*at++ = '/';
	}
	if (w->engine->spec.order == ORDER_RANDOM)
		at = put_random(w, at, i);
	at = put_number(at, i, hex ? 10 : 7, hex ? 16 : 10);
	if (w->engine->spec.order == ORDER_SEQUENTIAL)
		at = put_random(w, at, i);
	*at = '\0';
	return path;
}

static void
set_base_name(const struct worker *w, char *buf, size_t len)
{
	snprintf(buf, len, "b.%u", w->index);
}

int64_t
tree_fail(struct worker *w, enum shm_call call, const char *name)
{
	int errnum = errno;
	char path[PATH_MAX_REL + TREE_PATH];

	snprintf(path, sizeof(path), "n%llu/b.%u/%s", (unsigned long long)w->engine->config.node_index, w->index, name);
	worker_fail_sys(w, "run", call, path, errnum);
	return -1;
}

static bool
fail_arm(struct worker *w, enum shm_call call, const char *name)
{
	int errnum = errno;
	char path[PATH_MAX_REL];

	snprintf(path, sizeof(path), "n%llu/%s", (unsigned long long)w->engine->config.node_index, name);
	worker_fail_sys(w, "arm", call, path, errnum);
	return false;
}

/* --- making files ---------------------------------------------------------------------------------------------------- */

static bool
write_file(struct worker *w, int fd, uint64_t size)
{
	struct data_source source = worker_data_source(w);
	unsigned char *data = w->write_pool.memory;

	source.sums = w->engine->spec.record_size % DATA_BLOCK == 0;
	source.pool = &w->write_pool;

	for (uint64_t done = 0; done < size;) {
		size_t length = (size_t)LS_MIN(size - done, w->engine->spec.record_size);
		data_stamp_record(&source, data, done, length, 0);
		ssize_t n = write(fd, data, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

/* The directory of file i, open for its fsync. */
static bool
sync_directory(struct worker *w, uint64_t i)
{
	struct tree_state *t = &w->tree;
	char name[8] = ".";

	if (has_directories(w))
		*put_number(name, directory_of(w, i), 5, 10) = '\0';
	if (t->dir_fd >= 0 && t->dir_number != directory_of(w, i)) {
		close(t->dir_fd);
		t->dir_fd = -1;
	}
	if (t->dir_fd < 0) {
		t->dir_fd = openat(t->base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		t->dir_number = directory_of(w, i);
	}
	return t->dir_fd >= 0 && fsync(t->dir_fd) == 0;
}

static int64_t
create_file(struct worker *w, const char *path, uint64_t i, bool sync)
{
	int how = w->engine->spec.semantics == BONNIE_2_00 ? O_EXCL : O_TRUNC;
	uint64_t size = file_size(w, i);
	int fd = openat(w->tree.base_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | how, FILE_MODE);

	if (fd < 0)
		return tree_fail(w, SHM_CALL_OPEN, path);
	if (!write_file(w, fd, size)) {
		tree_fail(w, SHM_CALL_WRITE, path);
		close(fd);
		return -1;
	}
	if (sync && (fsync(fd) < 0 || !sync_directory(w, i))) {
		tree_fail(w, SHM_CALL_FSYNC, path);
		close(fd);
		return -1;
	}
	if (close(fd) < 0)
		return tree_fail(w, SHM_CALL_CLOSE, path);
	return (int64_t)size;
}

/* All but the first can be links to it. */
static int64_t
create_one(struct worker *w, uint64_t i, bool sync)
{
	char path[TREE_PATH], first[TREE_PATH];
	int base = w->tree.base_fd;

	set_path(w, i, path);
	if (w->engine->spec.links == LINKS_NONE || i == 0)
		return create_file(w, path, i, sync);
	set_path(w, 0, first);
	if (w->engine->spec.links == LINKS_HARD)
		return linkat(base, first, base, path, 0) == 0 ? 0 : tree_fail(w, SHM_CALL_LINK, path);
	return symlinkat(first, base, path) == 0 ? 0 : tree_fail(w, SHM_CALL_SYMLINK, path);
}

/* --- arming ---------------------------------------------------------------------------------------------------------- */

static struct tree_shape
shape_of(const struct phase *spec)
{
	return (struct tree_shape){ .files = spec->files,
		.size = spec->size,
		.min_size = spec->min_size,
		.directories = spec->directories,
		.order = (uint64_t)spec->order,
		.links = (uint64_t)spec->links,
		.semantics = (uint64_t)spec->semantics };
}

static bool
open_top(struct worker *w)
{
	char top[32];

	snprintf(top, sizeof(top), "n%llu", (unsigned long long)w->engine->config.node_index);
	tally_call(&w->tree.tally, SHM_CALL_MKDIR);
	if (path_mkdir(w->engine->config.run_dir_fd, top) != 0)
		return fail_arm(w, SHM_CALL_MKDIR, "");
	w->tree.top_fd = path_open(w->engine->config.run_dir_fd, top, O_RDONLY | O_DIRECTORY, 0);
	return w->tree.top_fd >= 0 || fail_arm(w, SHM_CALL_OPEN, "");
}

static bool
make_directories(struct worker *w, const char *base)
{
	struct tree_state *t = &w->tree;
	char name[8];

	tally_call(&t->tally, SHM_CALL_UNLINK);
	if (!clean_tree(t->top_fd, base))
		return fail_arm(w, SHM_CALL_UNLINK, base);
	tally_call(&t->tally, SHM_CALL_MKDIR);
	if (mkdirat(t->top_fd, base, DIR_MODE) < 0)
		return fail_arm(w, SHM_CALL_MKDIR, base);
	t->base_fd = path_open(t->top_fd, base, O_RDONLY | O_DIRECTORY, 0);
	if (t->base_fd < 0)
		return fail_arm(w, SHM_CALL_OPEN, base);
	for (uint64_t d = 0; has_directories(w) && d < w->engine->spec.directories; d++) {
		*put_number(name, d, 5, 10) = '\0';
		if (mkdirat(t->base_fd, name, DIR_MODE) < 0)
			return fail_arm(w, SHM_CALL_MKDIR, base);
	}
	return true;
}

static bool
make_files(struct worker *w)
{
	struct tree_state *t = &w->tree;

	tally_call(&t->tally, SHM_CALL_OPEN);
	for (uint64_t i = 0; i < w->engine->spec.files; i++) {
		if (worker_stop_asked(w) || create_one(w, i, false) < 0)
			return false;
		atomic_store_explicit(&w->shm->last_ns, io_now_ns(), memory_order_relaxed); /* it moves */
	}
	t->made = shape_of(&w->engine->spec);
	t->whole = true;
	tally_call(&t->tally, SHM_CALL_SYNCFS);
	return syncfs(t->base_fd) == 0 || fail_arm(w, SHM_CALL_SYNCFS, "");
}

static bool
make_data(struct worker *w)
{
	size_t size = (size_t)LS_MIN(w->engine->spec.size, w->engine->spec.record_size);
	const struct data_pattern pattern = worker_data_pattern(w);
	struct ls_err err;

	/* Stamps within blocks change what other phases know of them. */
	if (w->engine->spec.record_size % DATA_BLOCK != 0)
		data_pool_spoil(&w->write_pool, 0);
	if (size == 0 || data_pool_need(&w->write_pool, size, engine_alignment(w->engine), &pattern, &err) == LS_OK)
		return true;
	worker_fail_err(w, "arm", &err);
	return false;
}

bool
tree_arm(struct worker *w, bool present)
{
	const struct engine *e = w->engine;
	struct tree_state *t = &w->tree;
	struct tree_shape shape = shape_of(&e->spec);
	char base[16];

	t->top_fd = t->base_fd = t->dir_fd = -1;
	tally_arm(&t->tally, w->shm, e->control, e->epoch, phase_kind_info((enum phase_kind)e->spec.kind)->op);
	set_base_name(w, base, sizeof(base));
	snprintf(w->shm->file, sizeof(w->shm->file), "n%llu/%s", (unsigned long long)e->config.node_index, base);
	if (!make_data(w) || !open_top(w))
		return false;
	if (present && t->whole && memcmp(&t->made, &shape, sizeof(shape)) == 0) {
		t->base_fd = path_open(t->top_fd, base, O_RDONLY | O_DIRECTORY, 0);
		return t->base_fd >= 0 || fail_arm(w, SHM_CALL_OPEN, base);
	}
	t->whole = false;
	return make_directories(w, base) && (!present || make_files(w));
}

/* --- running --------------------------------------------------------------------------------------------------------- */

/* One operation after the other; the end of one is the start of the next, so that reading directories is in a file's time. */
struct walk {
	struct worker *w;
	const struct tree_loop *loop;
	int64_t now;
	uint64_t done;
};

static void
walk_begin(struct walk *walk, struct worker *w, const struct rusage *cpu)
{
	struct tally *t = &w->tree.tally;

	t->cpu = *cpu;
	tally_go(t, w->engine->start_ns, w->engine->spec.warmup);
	walk->w = w;
	walk->now = io_now_ns();
}

/* Counts the operation that has just ended. */
static void
walk_count(struct walk *walk, int64_t bytes)
{
	struct tally *t = &walk->w->tree.tally;
	int64_t end = io_now_ns();

	tally_end(t, walk->now, end, (uint64_t)bytes);
	tally_note(t, end);
	walk->now = end;
	if (++walk->done > 1)
		return;
	sched_yield(); /* a worker that waits for this processor starts now */
	walk->now = io_now_ns();
}

/* False when the phase is over or the operation failed. */
static bool
walk_step(struct walk *walk, int dir_fd, const char *name)
{
	struct tally *t = &walk->w->tree.tally;

	if (!tally_more(t, walk->now))
		return false;
	tally_call(t, walk->loop->call);
	tally_begin(t, walk->now);

	int64_t bytes = walk->loop->op(walk->w, dir_fd, name);
	if (bytes < 0)
		return false;
	walk_count(walk, bytes);
	return true;
}

static bool
is_dot(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* The files of one directory, in the order in which it names them. */
static bool
walk_directory(struct walk *walk, const char *name)
{
	struct worker *w = walk->w;
	int fd = openat(w->tree.base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool ok = true;

	if (dir == NULL) {
		tree_fail(w, SHM_CALL_OPEN, name);
		if (fd >= 0)
			close(fd);
		return false;
	}
	errno = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while (ok && (entry = readdir(dir)) != NULL) {
		if (!is_dot(entry->d_name))
			ok = walk_step(walk, fd, entry->d_name);
		errno = 0;
	}
	if (ok && errno != 0)
		ok = tree_fail(w, SHM_CALL_READDIR, name) >= 0;
	if (ok && walk->loop->removes && w->engine->spec.fsync && fsync(fd) < 0)
		ok = tree_fail(w, SHM_CALL_FSYNC, name) >= 0;
	closedir(dir);
	return ok;
}

static bool
remove_directory(struct walk *walk, const char *name)
{
	tally_call(&walk->w->tree.tally, SHM_CALL_RMDIR);
	return unlinkat(walk->w->tree.base_fd, name, AT_REMOVEDIR) == 0 ||
	    tree_fail(walk->w, SHM_CALL_RMDIR, name) >= 0;
}

static bool
walk_sequential(struct walk *walk)
{
	uint64_t directories = walk->w->engine->spec.directories;
	char name[8];

	if (!has_directories(walk->w))
		return walk_directory(walk, ".");
	for (uint64_t d = 0; d < directories; d++) {
		*put_number(name, d, 5, 10) = '\0';
		if (!walk_directory(walk, name) || (walk->loop->removes && !remove_directory(walk, name)))
			return false;
	}
	return true;
}

static bool
walk_random(struct walk *walk)
{
	const struct phase *spec = &walk->w->engine->spec;
	struct permutation order;
	char path[TREE_PATH];

	permutation_init(&order, spec->files, file_hash(walk->w, (uint64_t)spec->kind, 4));
	for (uint64_t i = 0; i < spec->files; i++)
		if (!walk_step(walk, walk->w->tree.base_fd, set_path(walk->w, permutation_at(&order, i), path)))
			return false;
	for (uint64_t d = 0; walk->loop->removes && has_directories(walk->w) && d < spec->directories; d++) {
		*put_number(path, d, 5, 10) = '\0';
		if (!remove_directory(walk, path))
			return false;
	}
	return true;
}

/* The tree's own directory; the tree is no more. */
static bool
remove_base(struct walk *walk)
{
	struct tree_state *t = &walk->w->tree;
	char base[16];

	set_base_name(walk->w, base, sizeof(base));
	tally_call(&t->tally, SHM_CALL_RMDIR);
	return unlinkat(t->top_fd, base, AT_REMOVEDIR) == 0 || tree_fail(walk->w, SHM_CALL_RMDIR, "") >= 0;
}

/* Of all file systems only if the job asks for it: it flushes, and hangs with, whatever the machine has mounted. */
static bool
sync_volume(struct worker *w)
{
	tally_call(&w->tree.tally, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (w->engine->spec.sync == SYNC_SYSTEM)
		sync();
	else if (syncfs(w->tree.top_fd) < 0)
		return tree_fail(w, SHM_CALL_SYNCFS, "") >= 0;
	return true;
}

/* What counts after the last file. whole: all files were done. */
static void
walk_end(struct walk *walk, bool whole, bool syncs)
{
	struct worker *w = walk->w;
	struct tally *t = &w->tree.tally;
	int64_t end = 0;

	if (whole && syncs && w->engine->spec.semantics == BONNIE_2_00)
		whole = sync_volume(w);
	if (whole || t->end_ns == 0)
		end = io_now_ns();
	tally_finish(t, end);
}

void
tree_create(struct worker *w, const struct rusage *cpu)
{
	struct tree_state *t = &w->tree;
	uint64_t files = w->engine->spec.files, i;
	struct walk walk = { 0 };

	walk_begin(&walk, w, cpu);
	for (i = 0; i < files && tally_more(&t->tally, walk.now); i++) {
		tally_call(&t->tally, SHM_CALL_OPEN);
		tally_begin(&t->tally, walk.now);
		int64_t bytes = create_one(w, i, w->engine->spec.fsync);
		if (bytes < 0)
			break;
		walk_count(&walk, bytes);
	}
	t->whole = i == files && !w->failed;
	t->made = shape_of(&w->engine->spec);
	walk_end(&walk, t->whole, true);
}

void
tree_visit(struct worker *w, const struct rusage *cpu, const struct tree_loop *loop)
{
	struct walk walk = { .loop = loop };

	if (loop->removes)
		w->tree.whole = false;
	walk_begin(&walk, w, cpu);
	bool whole = w->engine->spec.order == ORDER_RANDOM ? walk_random(&walk) : walk_sequential(&walk);
	if (whole && loop->removes)
		whole = remove_base(&walk);
	walk_end(&walk, whole, loop->syncs);
}

/* --- afterwards ------------------------------------------------------------------------------------------------------ */

void
tree_flush(struct worker *w)
{
	struct tally *t = &w->tree.tally;

	if (w->index != 0 || w->tree.top_fd < 0)
		return;
	tally_call(t, SHM_CALL_SYNCFS);
	atomic_store_explicit(&w->shm->since_ns, io_now_ns(), memory_order_relaxed);
	if (syncfs(w->tree.top_fd) < 0)
		worker_fail_sys(w, "flush", SHM_CALL_SYNCFS, w->shm->file, errno);
	tally_call(t, SHM_CALL_NONE);
}

void
tree_disarm(struct worker *w)
{
	struct tree_state *t = &w->tree;

	if (t->dir_fd >= 0)
		close(t->dir_fd);
	if (t->base_fd >= 0)
		close(t->base_fd);
	if (t->top_fd >= 0)
		close(t->top_fd);
	t->top_fd = t->base_fd = t->dir_fd = -1;
}
