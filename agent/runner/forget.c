#include "agent/runner/forget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 16

struct forgetting {
	bool (*stopped)(void *arg);
	void *arg;
	struct ls_err *err;
};

static enum ls_rc forget_directory(const struct forgetting *f, int at, const char *name, int depth);

static enum ls_rc
forget_file(const struct forgetting *f, int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	/* Another node may have removed it, and links have nothing cached. */
	if (fd < 0 && (errno == ENOENT || errno == ELOOP))
		return LS_OK;
	if (fd < 0)
		return ls_err_sys(f->err, errno, "%s: open", name);

	int errnum = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);

	close(fd);
	return errnum == 0 ? LS_OK : ls_err_sys(f->err, errnum, "%s: posix_fadvise", name);
}

static enum ls_rc
forget_entry(const struct forgetting *f, int at, const struct dirent *entry, int depth)
{
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return LS_OK;
	if (f->stopped(f->arg))
		return ls_err_set(f->err, LS_E_CLOSED, "stopped while caches were emptied");
	if (entry->d_type == DT_REG)
		return forget_file(f, at, entry->d_name);
	if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) {
		enum ls_rc rc = forget_directory(f, at, entry->d_name, depth + 1);

		return rc == LS_E_NOTFOUND ? forget_file(f, at, entry->d_name) : rc;
	}
	return LS_OK;
}

/* LS_E_NOTFOUND: it is no directory. */
static enum ls_rc
forget_directory(const struct forgetting *f, int at, const char *name, int depth)
{
	enum ls_rc rc = LS_OK;
	const struct dirent *entry;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (depth > DEPTH_MAX) {
		if (fd >= 0)
			close(fd);
		return ls_err_set(f->err, LS_E_LIMIT, "%s: directories are nested too deeply", name);
	}
	if (fd < 0 && errno == ENOENT)
		return LS_OK;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return ls_err_set(f->err, LS_E_NOTFOUND, "%s: no directory", name);

	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL) {
		rc = ls_err_sys(f->err, errno, "%s: open", name);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while (rc == LS_OK && (entry = readdir(dir)) != NULL)
		rc = forget_entry(f, fd, entry, depth);
	closedir(dir);
	return rc;
}

enum ls_rc
forget_files(int dir_fd, const char *name, bool (*stopped)(void *arg), void *arg, struct ls_err *err)
{
	const struct forgetting f = { stopped, arg, err };
	enum ls_rc rc = forget_directory(&f, dir_fd, name, 0);

	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}
