#include "agent/engine/errors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

void
errors_init(struct errors *list, const char *run_dir)
{
	memset(list, 0, sizeof(*list));
	pthread_mutex_init(&list->lock, NULL);
	list->run_dir = run_dir;
}

void
errors_reset(struct errors *list)
{
	pthread_mutex_lock(&list->lock);
	for (size_t i = 0; i < list->kept_count; i++)
		field_struct_fini(&io_error_desc, &list->kept[i]);
	list->kept_count = 0;
	list->count = 0;
	list->first_rc = LS_OK;
	pthread_mutex_unlock(&list->lock);
}

void
errors_fini(struct errors *list)
{
	errors_reset(list);
	pthread_mutex_destroy(&list->lock);
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
const char *
errors_errno_name(int errnum)
{
	return strerrorname_np(errnum);
}
#else
const char *
errors_errno_name(int errnum)
{
	static const struct {
		int errnum;
		const char *name;
	} names[] = {
		{ EPERM, "EPERM" },
		{ ENOENT, "ENOENT" },
		{ EINTR, "EINTR" },
		{ EIO, "EIO" },
		{ ENXIO, "ENXIO" },
		{ EBADF, "EBADF" },
		{ EAGAIN, "EAGAIN" },
		{ ENOMEM, "ENOMEM" },
		{ EACCES, "EACCES" },
		{ EBUSY, "EBUSY" },
		{ EEXIST, "EEXIST" },
		{ EXDEV, "EXDEV" },
		{ ENODEV, "ENODEV" },
		{ ENOTDIR, "ENOTDIR" },
		{ EISDIR, "EISDIR" },
		{ EINVAL, "EINVAL" },
		{ ENFILE, "ENFILE" },
		{ EMFILE, "EMFILE" },
		{ EFBIG, "EFBIG" },
		{ ENOSPC, "ENOSPC" },
		{ EROFS, "EROFS" },
		{ EDQUOT, "EDQUOT" },
		{ ELOOP, "ELOOP" },
		{ ENOSYS, "ENOSYS" },
		{ ESTALE, "ESTALE" },
		{ ETIMEDOUT, "ETIMEDOUT" },
		{ EREMOTEIO, "EREMOTEIO" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].errnum == errnum)
			return names[i].name;
	return NULL;
}
#endif

/* "DIR/n0/data.1: pwrite at 4096: No space left on device" */
/* Of a device the path is whole already. */
static char *
full_path(const char *run_dir, const char *path)
{
	return path[0] == '/' ? ls_strdup(path) : ls_asprintf("%s/%s", run_dir, path);
}

static char *
sentence(const char *run_dir, const struct failure *f)
{
	char why[128], at[32] = "";
	const char *reason = f->text;

	if (reason == NULL)
		reason = ls_strerror(f->errnum, why, sizeof(why));
	if (f->offset != LS_UNKNOWN_U64)
		snprintf(at, sizeof(at), " at %" PRIu64, f->offset);
	if (f->path == NULL && f->call == SHM_CALL_NONE)
		return ls_strdup(reason);

	char *path = full_path(run_dir, f->path != NULL ? f->path : "");
	char *text = f->call == SHM_CALL_NONE ? ls_asprintf("%s: %s", path, reason)
					      : ls_asprintf("%s: %s%s: %s", path, shm_call_names[f->call], at, reason);
	free(path);
	return text;
}

static char *
copy_or_null(const char *s)
{
	return s != NULL ? ls_strdup(s) : NULL;
}

void
errors_add(struct errors *list, const struct failure *f)
{
	pthread_mutex_lock(&list->lock);
	if (list->count++ == 0)
		list->first_rc = f->rc;
	if (list->kept_count < ENGINE_ERRORS_MAX) {
		struct io_error *e = &list->kept[list->kept_count++];
		field_struct_init(&io_error_desc, e);
		free(e->text);
		e->worker = f->worker;
		e->step = copy_or_null(f->step);
		e->call = f->call != SHM_CALL_NONE ? ls_strdup(shm_call_names[f->call]) : NULL;
		e->path = f->path != NULL ? full_path(list->run_dir, f->path) : NULL;
		e->offset = f->offset;
		e->errno_name = f->errnum > 0 ? copy_or_null(errors_errno_name(f->errnum)) : NULL;
		e->text = sentence(list->run_dir, f);
	}
	pthread_mutex_unlock(&list->lock);
}

enum ls_rc
errors_first(struct errors *list, struct io_error *out, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;

	pthread_mutex_lock(&list->lock);
	if (list->kept_count > 0) {
		const struct io_error *e = &list->kept[0];
		rc = list->first_rc;
		ls_err_set(err, rc, "%s", e->text);
		field_struct_fini(&io_error_desc, out);
		out->worker = e->worker;
		out->step = copy_or_null(e->step);
		out->call = copy_or_null(e->call);
		out->path = copy_or_null(e->path);
		out->offset = e->offset;
		out->errno_name = copy_or_null(e->errno_name);
		out->text = ls_strdup(e->text);
	}
	pthread_mutex_unlock(&list->lock);
	return rc;
}
