#include "agent/engine/meta_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"

#define FILE_MODE   0600
#define DIR_MODE    0700
#define NAME_DIGITS 8
#define DIR_DIGITS  5

static const char class_letters[META_CLASS_COUNT] = {
	[META_FILES] = 'd',
	[META_DIRECTORIES] = 'm',
	[META_SYMLINKS] = 's',
	[META_LINKS] = 'l',
};

/* --- names ----------------------------------------------------------------------------------------------------------- */

static void
put_digits(char *at, uint64_t number, int digits, unsigned base)
{
	for (int i = digits - 1; i >= 0; i--, number /= base)
		at[i] = "0123456789abcdef"[number % base];
}

static bool
is_renamed(const struct meta_set *set, uint64_t i)
{
	return set->renamed != (i < set->split);
}

void
meta_set_name(struct worker *w, uint64_t i)
{
	struct meta_state *m = &w->meta;
	char *at = m->name;

	m->number = i;
	if (m->per_directory > 0) {
		put_digits(at, i / m->per_directory, DIR_DIGITS, 10);
		at += DIR_DIGITS + 1;
	}
	for (int k = NAME_DIGITS - 1; k >= 0; k--, i >>= 4)
		at[k] = "0123456789abcdef"[i & 15];
	m->name[m->name_length] = is_renamed(m->set, m->number) ? META_RENAMED : '\0';
}

uint64_t
meta_directory_count(const struct worker *w)
{
	return w->meta.set->shape.directories;
}

const char *
meta_directory_name(const struct worker *w, uint64_t d, char buf[8])
{
	if (w->meta.set->shape.directories <= 1)
		return ".";
	put_digits(buf, d, DIR_DIGITS, 10);
	buf[DIR_DIGITS] = '\0';
	return buf;
}

static struct meta_shape
wanted_shape(const struct worker *w)
{
	const struct phase *spec = &w->engine->spec;

	if (spec->directories <= 1)
		return (struct meta_shape){ 0, 1 };
	return (struct meta_shape){ spec->files, spec->directories };
}

/* Names are those of that shape from here on. */
static void
use_shape(struct worker *w, struct meta_shape shape)
{
	const struct engine *e = w->engine;
	struct meta_state *m = &w->meta;
	int n;

	m->set->shape = shape;
	m->per_directory = 0;
	if (shape.directories > 1)
		m->per_directory = LS_MAX((shape.files + shape.directories - 1) / shape.directories, 1ULL);
	memset(m->name, 0, sizeof(m->name));
	n = snprintf(m->name, sizeof(m->name), "%s%0*x", m->per_directory > 0 ? "00000/" : "", NAME_DIGITS, 0U);
	if (e->spec.dirs == DIRS_SHARED)
		n += snprintf(
		    m->name + n, sizeof(m->name) - (size_t)n, ".%llu.%u", (unsigned long long)e->owner, w->index);
	m->name_length = (size_t)n;
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

bool
meta_refuse(struct worker *w, enum shm_call call, int errnum, const char *what)
{
	char text[128];

	if (errnum != EPERM && errnum != EOPNOTSUPP && errnum != ENOSYS)
		return meta_fail(w, "arm", call, LS_UNKNOWN_U64, errnum);
	snprintf(text, sizeof(text), "this volume has no %s", what);
	worker_fail(w,
	    &(struct failure){ .rc = LS_E_INVALID,
		.step = "arm",
		.call = call,
		.path = w->meta.dir,
		.offset = LS_UNKNOWN_U64,
		.errnum = errnum,
		.text = text });
	return false;
}

/* --- directories ----------------------------------------------------------------------------------------------------- */

static bool
fail_dir(struct worker *w, enum shm_call call, const char *path)
{
	worker_fail_sys(w, "arm", call, path, errno);
	return false;
}

/* Opens top/leaf below the run's directory; make: both are made if need be. */
static bool
open_directory(struct worker *w, const char *top, const char *leaf, bool make)
{
	struct meta_state *m = &w->meta;
	int run_dir = w->engine->config.run_dir_fd;
	int top_fd;
	bool ok;

	tally_call(&m->tally, SHM_CALL_MKDIR);
	if (make && path_mkdir(run_dir, top) != 0)
		return fail_dir(w, SHM_CALL_MKDIR, top);
	top_fd = path_open(run_dir, top, O_RDONLY | O_DIRECTORY, 0);
	if (top_fd < 0)
		return fail_dir(w, SHM_CALL_OPEN, top);
	ok = !make || path_mkdir(top_fd, leaf) == 0 || fail_dir(w, SHM_CALL_MKDIR, m->dir);
	if (ok) {
		m->dir_fd = path_open(top_fd, leaf, O_RDONLY | O_DIRECTORY, 0);
		ok = m->dir_fd >= 0 || fail_dir(w, SHM_CALL_OPEN, m->dir);
	}
	close(top_fd);
	return ok;
}

bool
meta_enter(struct worker *w, enum meta_class class, bool own, bool there)
{
	const struct engine *e = w->engine;
	struct meta_state *m = &w->meta;
	char top[32] = "shared", leaf[32];

	if (e->spec.dirs == DIRS_SHARED) {
		snprintf(leaf, sizeof(leaf), "%c", class_letters[class]);
	} else {
		snprintf(top, sizeof(top), "n%llu", (unsigned long long)e->owner);
		snprintf(leaf, sizeof(leaf), "%c.%u", class_letters[class], w->index);
	}
	snprintf(m->dir, sizeof(m->dir), "%s/%s", top, leaf);
	snprintf(w->shm->file, sizeof(w->shm->file), "%s", m->dir);
	m->class = class;
	m->foreign = (struct meta_set){ .end = there ? e->spec.files : 0, .shape = wanted_shape(w) };
	m->set = own ? &w->sets[e->spec.dirs][class] : &m->foreign;
	if (m->set->shape.directories == 0)
		m->set->shape = wanted_shape(w);
	use_shape(w, m->set->shape);
	return open_directory(w, top, leaf, own);
}

static bool
make_directories(struct worker *w)
{
	char name[8];

	tally_call(&w->meta.tally, SHM_CALL_MKDIR);
	for (uint64_t d = 0; meta_directory_count(w) > 1 && d < meta_directory_count(w); d++)
		if (path_mkdir(w->meta.dir_fd, meta_directory_name(w, d, name)) != 0)
			return fail_dir(w, SHM_CALL_MKDIR, w->meta.dir);
	return true;
}

/* Those that the new shape has no use for. In a shared directory another worker may still have files in them: the last one gets them. */
static bool
drop_directories(struct worker *w, uint64_t keep)
{
	char name[8];

	tally_call(&w->meta.tally, SHM_CALL_RMDIR);
	for (uint64_t d = keep > 1 ? keep : 0; meta_directory_count(w) > 1 && d < meta_directory_count(w); d++)
		if (unlinkat(w->meta.dir_fd, meta_directory_name(w, d, name), AT_REMOVEDIR) < 0 && errno != ENOENT &&
		    errno != ENOTEMPTY && errno != EEXIST)
			return fail_dir(w, SHM_CALL_RMDIR, w->meta.dir);
	return true;
}

/* --- making and removing --------------------------------------------------------------------------------------------- */

static bool
sync_volume(struct worker *w)
{
	tally_call(&w->meta.tally, SHM_CALL_SYNCFS);
	return syncfs(w->meta.dir_fd) == 0 || fail_dir(w, SHM_CALL_SYNCFS, w->meta.dir);
}

static void
note_progress(struct worker *w)
{
	atomic_store_explicit(&w->shm->last_ns, io_now_ns(), memory_order_relaxed);
}

/* One that is not there may come from an operation that failed half-way, or another node removed it. */
static bool
remove_name(struct worker *w)
{
	bool directory = w->meta.class == META_DIRECTORIES;
	enum shm_call call = directory ? SHM_CALL_RMDIR : SHM_CALL_UNLINK;

	tally_call(&w->meta.tally, call);
	return unlinkat(w->meta.dir_fd, w->meta.name, directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT ||
	    meta_fail(w, "arm", call, LS_UNKNOWN_U64, errno);
}

static bool
remove_object(struct worker *w, uint64_t i)
{
	struct meta_state *m = &w->meta;

	meta_set_name(w, i);
	if (!remove_name(w))
		return false;
	if (!m->set->unknown || m->class != META_FILES)
		return true;
	m->name[m->name_length] = m->name[m->name_length] == '\0' ? META_RENAMED : '\0';
	return remove_name(w);
}

static bool
remove_all(struct worker *w)
{
	struct meta_set *set = w->meta.set;
	bool some = set->begin < set->end;

	for (; set->begin < set->end; set->begin++) {
		if (worker_stop_asked(w) || !remove_object(w, set->begin))
			return false;
		note_progress(w);
	}
	*set = (struct meta_set){ .shape = set->shape };
	/* What the removal leaves for later must not fall into the phase. */
	return !some || sync_volume(w);
}

static bool
make_object(struct worker *w)
{
	if (w->meta.class == META_FILES)
		return meta_create_file(w, "arm", false);
	tally_call(&w->meta.tally, SHM_CALL_MKDIR);
	return mkdirat(w->meta.dir_fd, w->meta.name, DIR_MODE) == 0 ||
	    meta_fail(w, "arm", SHM_CALL_MKDIR, LS_UNKNOWN_U64, errno);
}

/* Makes objects begin..end-1; they are not in the set yet. */
static bool
make_range(struct worker *w, uint64_t begin, uint64_t end)
{
	for (uint64_t i = begin; i < end; i++) {
		if (worker_stop_asked(w) || !remove_object(w, i))
			return false;
		meta_set_name(w, i);
		if (!make_object(w))
			return false;
		note_progress(w);
	}
	return true;
}

/* The set becomes one of the wanted shape, if need be an empty one. */
static bool
reshape(struct worker *w)
{
	struct meta_set *set = w->meta.set;
	struct meta_shape want = wanted_shape(w);
	bool differs = set->shape.files != want.files || set->shape.directories != want.directories;

	if (differs || set->unknown) {
		if (!remove_all(w) || (differs && !drop_directories(w, want.directories)))
			return false;
		use_shape(w, want);
	}
	return make_directories(w);
}

bool
meta_make_absent(struct worker *w)
{
	return reshape(w) && remove_all(w);
}

bool
meta_make_present(struct worker *w)
{
	struct meta_set *set = w->meta.set;
	uint64_t n = w->engine->spec.files;

	if (!reshape(w))
		return false;
	if (set->begin > n && !remove_all(w)) /* a gap would be between: begin anew */
		return false;
	if (set->begin == 0 && set->end >= n)
		return true;
	set->attributed = 0;
	if (!make_range(w, 0, LS_MIN(set->begin, n)))
		return false;
	set->begin = 0;
	if (!make_range(w, set->end, n))
		return false;
	set->end = LS_MAX(set->end, n);
	return sync_volume(w);
}

/* --- files ----------------------------------------------------------------------------------------------------------- */

/* Gives the file the other of its two names. */
static bool
flip_name(struct worker *w, uint64_t i)
{
	struct meta_state *m = &w->meta;
	char to[PATH_MAX_REL];

	meta_set_name(w, i);
	memcpy(to, m->name, sizeof(to));
	to[m->name_length] = to[m->name_length] == '\0' ? META_RENAMED : '\0';
	tally_call(&m->tally, SHM_CALL_RENAME);
	if (renameat(m->dir_fd, m->name, m->dir_fd, to) == 0)
		return true;
	return meta_fail(w, "arm", SHM_CALL_RENAME, LS_UNKNOWN_U64, errno);
}

bool
meta_trim(struct worker *w)
{
	struct meta_set *set = w->meta.set;

	for (; set->end > w->engine->spec.files; set->end--)
		if (worker_stop_asked(w) || !remove_object(w, set->end - 1))
			return false;
	if (set->split < set->end)
		return true;
	/* All that are left are of those at the front. */
	set->renamed = set->renamed != (set->split > 0);
	set->split = 0;
	return true;
}

bool
meta_settle_names(struct worker *w, bool plain)
{
	struct meta_set *set = w->meta.set;

	for (; set->split > 0; set->split--)
		if (worker_stop_asked(w) || !flip_name(w, set->split - 1))
			return false;
	if (!plain || !set->renamed)
		return true;
	for (; set->split < set->end; set->split++)
		if (worker_stop_asked(w) || !flip_name(w, set->split))
			return false;
	set->renamed = false;
	set->split = 0;
	return true;
}

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
