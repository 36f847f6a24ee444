#include "agent/daemon/assignments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/pki/identity.h"

#define SUFFIX ".json"

struct assignments {
	struct offload *disk;
	int dir;
};

struct assignment_write {
	int dir;
	char *name, *temporary; /* files in dir */
	char *text;             /* NULL: remove the file */
	size_t len;
	assignment_written_fn done; /* NULL: cancelled, or nobody asked */
	void *arg;
	enum ls_rc rc;
	struct ls_err err;
};

bool
assignments_name_valid(const char *run)
{
	return identity_name_valid(run); /* the same alphabet: a file name without surprises */
}

enum ls_rc
assignments_new(const char *spool, struct offload *disk, struct assignments **out, struct ls_err *err)
{
	char *path = ls_asprintf("%s/runs", spool);
	enum ls_rc rc = LS_OK;
	int dir = -1;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		rc = ls_err_sys(err, errno, "%s: mkdir", path);
	else if ((dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		rc = ls_err_sys(err, errno, "%s: open", path);
	free(path);
	if (rc)
		return rc;

	struct assignments *a = ls_calloc(1, sizeof(*a));
	*a = (struct assignments){ .disk = disk, .dir = dir };
	*out = a;
	return LS_OK;
}

void
assignments_free(struct assignments *a)
{
	if (!a)
		return;
	close(a->dir);
	free(a);
}

static enum ls_rc
write_file(const struct assignment_write *w, struct ls_err *err)
{
	int fd = openat(w->dir, w->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", w->temporary);

	enum ls_rc rc = LS_OK;
	for (size_t at = 0; !rc && at < w->len;) {
		ssize_t n = write(fd, w->text + at, w->len - at);
		if (n >= 0)
			at += (size_t)n;
		else if (errno != EINTR)
			rc = ls_err_sys(err, errno, "%s: write", w->temporary);
	}
	if (!rc && fdatasync(fd) != 0)
		rc = ls_err_sys(err, errno, "%s: fdatasync", w->temporary);
	close(fd);
	if (!rc && renameat(w->dir, w->temporary, w->dir, w->name) != 0)
		rc = ls_err_sys(err, errno, "%s: rename", w->name);
	if (!rc && fsync(w->dir) != 0)
		rc = ls_err_sys(err, errno, "fsync of the directory of assignments");
	if (rc)
		unlinkat(w->dir, w->temporary, 0);
	return rc;
}

static void
disk_work(void *arg)
{
	struct assignment_write *w = arg;

	if (w->text)
		w->rc = write_file(w, &w->err);
	else if (unlinkat(w->dir, w->name, 0) != 0 && errno != ENOENT)
		w->rc = ls_err_sys(&w->err, errno, "%s: unlink", w->name);
}

static void
disk_done(void *arg)
{
	struct assignment_write *w = arg;

	if (w->done)
		w->done(w->rc ? &w->err : NULL, w->arg);
	else if (w->rc)
		ls_log(LS_LOG_WARN, "an assignment on the local disk cannot be changed", "error=\"%s\"", w->err.text);
	free(w->name);
	free(w->temporary);
	free(w->text);
	free(w);
}

static struct assignment_write *
job_new(struct assignments *a, const char *run)
{
	struct assignment_write *w = ls_calloc(1, sizeof(*w));
	w->dir = a->dir;
	w->name = ls_asprintf("%s" SUFFIX, run);
	w->temporary = ls_asprintf(".%s.new", run);
	return w;
}

struct assignment_write *
assignments_put(
    struct assignments *a, const char *run, const char *text, size_t len, assignment_written_fn done, void *arg)
{
	struct assignment_write *w = job_new(a, run);
	w->text = ls_strndup(text, len);
	w->len = len;
	w->done = done;
	w->arg = arg;
	offload_submit(a->disk, disk_work, disk_done, w);
	return w;
}

void
assignments_cancel(struct assignment_write *write)
{
	if (write)
		write->done = NULL;
}

void
assignments_remove(struct assignments *a, const char *run)
{
	offload_submit(a->disk, disk_work, disk_done, job_new(a, run));
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

enum ls_rc
assignments_list(struct assignments *a, char ***out, size_t *count, struct ls_err *err)
{
	int fd = openat(a->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int errnum = errno;
		if (fd >= 0)
			close(fd);
		return ls_err_sys(err, errnum, "directory of assignments");
	}

	char **names = NULL;
	size_t n = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	for (struct dirent *entry; (entry = readdir(dir));) {
		size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);
		if (len <= suffix || strcmp(entry->d_name + len - suffix, SUFFIX) != 0)
			continue;
		char *run = ls_strndup(entry->d_name, len - suffix);
		if (!assignments_name_valid(run)) {
			free(run);
			continue;
		}
		names = ls_grow(names, n, sizeof(*names));
		names[n++] = run;
	}
	closedir(dir);
	if (n > 1)
		qsort(names, n, sizeof(*names), compare_names);
	*out = names;
	*count = n;
	return LS_OK;
}

enum ls_rc
assignments_read(struct assignments *a, const char *run, struct msg *out, struct ls_err *err)
{
	char *name = ls_asprintf("%s" SUFFIX, run), *text = NULL;
	enum ls_rc rc = LS_OK;
	size_t len = 0;

	int fd = openat(a->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		rc = ls_err_sys(err, errno, "%s: open", name);
		goto out;
	}
	text = ls_malloc(MSG_FRAME_MAX);
	for (ssize_t n = 1; n > 0 && len < MSG_FRAME_MAX;) {
		n = read(fd, text + len, MSG_FRAME_MAX - len);
		if (n < 0) {
			rc = ls_err_sys(err, errno, "%s: read", name);
			goto out;
		}
		len += (size_t)n;
	}
	rc = msg_decode(text, len, MSG_TO_AGENT, out, err);
	if (!rc && out->type != MSG_ASSIGN) {
		msg_fini(out);
		rc = ls_err_set(err, LS_E_PROTO, "not an assignment");
	}
	if (rc)
		ls_err_wrap(err, "%s", name);
out:
	if (fd >= 0)
		close(fd);
	free(text);
	free(name);
	return rc;
}
