#include "agent/engine/meta_xattr.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/meta_set.h"
#include "common/base/mem.h"

#define NAME "user.lockstep"

/* A working directory of the thread's own: all threads of a process share one until they ask not to. */
static bool
enter_directory(struct worker *w)
{
	struct meta_state *m = &w->meta;

	if (m->in_directory)
		return true;
	w->own_directory = w->own_directory || unshare(CLONE_FS) == 0;
	if (!w->own_directory || fchdir(m->dir_fd) != 0) {
		worker_fail_sys(w, "arm", SHM_CALL_OPEN, m->dir, errno);
		return false;
	}
	m->in_directory = true;
	return true;
}

bool
meta_xattr_ready(struct worker *w)
{
	struct meta_state *m = &w->meta;
	size_t size = (size_t)w->engine->spec.xattr_size;

	if (m->value == NULL) {
		m->value = ls_malloc(size + 1);
		data_fill(m->value, size, m->source.seed ^ m->source.writer);
	}
	return enter_directory(w);
}

bool
meta_xattr_set(struct worker *w)
{
	if (lsetxattr(w->meta.name, NAME, w->meta.value, (size_t)w->engine->spec.xattr_size, 0) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_SETXATTR, LS_UNKNOWN_U64, errno);
}

static bool
fail_size(struct worker *w, ssize_t size)
{
	struct ls_err err;

	ls_err_set(&err, LS_E_INVALID, "%s/%s: its attribute has %zd bytes, not %llu", w->meta.dir, w->meta.name, size,
	    (unsigned long long)w->engine->spec.xattr_size);
	worker_fail_err(w, "run", &err);
	return false;
}

bool
meta_xattr_get(struct worker *w)
{
	size_t size = (size_t)w->engine->spec.xattr_size;
	ssize_t n = lgetxattr(w->meta.name, NAME, w->meta.value, size);

	if (n < 0)
		return meta_fail(w, "run", SHM_CALL_GETXATTR, LS_UNKNOWN_U64, errno);
	return (size_t)n == size || fail_size(w, n);
}

static bool
remove_attribute(struct worker *w)
{
	return lremovexattr(w->meta.name, NAME) == 0 || errno == ENODATA ||
	    meta_fail(w, "arm", SHM_CALL_SETXATTR, LS_UNKNOWN_U64, errno);
}

/* A value that is too large for the volume, too, is known before the start. */
static bool
try_attribute(struct worker *w)
{
	meta_set_name(w, 0);
	tally_call(&w->meta.tally, SHM_CALL_SETXATTR);
	if (lsetxattr(w->meta.name, NAME, w->meta.value, (size_t)w->engine->spec.xattr_size, 0) == 0)
		return true;
	return meta_refuse(w, SHM_CALL_SETXATTR, errno, "extended attributes of users (user.*)");
}

static bool
for_all(struct worker *w, uint64_t first, bool (*change)(struct worker *w))
{
	tally_call(&w->meta.tally, SHM_CALL_SETXATTR);
	for (uint64_t i = first; i < w->engine->spec.files; i++) {
		meta_set_name(w, i);
		if (worker_stop_asked(w) || !change(w))
			return false;
		atomic_store_explicit(&w->shm->last_ns, io_now_ns(), memory_order_relaxed); /* it moves */
	}
	return true;
}

bool
meta_xattr_absent(struct worker *w)
{
	struct meta_set *set = w->meta.set;

	if (w->engine->spec.files == 0)
		return true;
	if (!meta_xattr_ready(w) || !try_attribute(w) || !remove_attribute(w))
		return false;
	set->attributed = 0;
	if (!set->attributes)
		return true;
	if (!for_all(w, 0, remove_attribute))
		return false;
	set->attributes = false;
	return true;
}

bool
meta_xattr_present(struct worker *w)
{
	struct meta_set *set = w->meta.set;
	uint64_t size = w->engine->spec.xattr_size;

	if (w->engine->spec.files == 0)
		return true;
	if (!meta_xattr_ready(w))
		return false;
	if (set->attributed >= w->engine->spec.files && set->attribute_size == size)
		return true;
	set->attributes = true;
	set->attributed = 0;
	if (!try_attribute(w) || !for_all(w, 0, meta_xattr_set))
		return false;
	set->attributed = w->engine->spec.files;
	set->attribute_size = size;
	tally_call(&w->meta.tally, SHM_CALL_SYNCFS);
	if (syncfs(w->meta.dir_fd) == 0)
		return true;
	worker_fail_sys(w, "arm", SHM_CALL_SYNCFS, w->meta.dir, errno);
	return false;
}
