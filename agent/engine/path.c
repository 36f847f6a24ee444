#include "agent/engine/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIR_MODE       0700
#define MADE_MEANWHILE 16 /* tries for a file that others make and remove at the same time */

static int
open_resolved(int dir_fd, const char *rel, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
		.mode = (flags & O_CREAT) != 0 ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, dir_fd, rel, &how, sizeof(how));
}

/* Opens the directory `name` below dir_fd if it lies on the same file system, and closes dir_fd if it was ours. */
static int
step_into(int dir_fd, bool ours, const char *name)
{
	struct stat above, below;
	int fd = -1;

	if (strcmp(name, "..") == 0 || name[0] == '\0')
		errno = EXDEV;
	else
		fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && (fstat(dir_fd, &above) < 0 || fstat(fd, &below) < 0 || above.st_dev != below.st_dev)) {
		close(fd);
		fd = -1;
		errno = EXDEV;
	}
	if (ours) {
		int saved = errno;
		close(dir_fd);
		errno = saved;
	}
	return fd;
}

static int
open_by_component(int dir_fd, const char *rel, int flags, mode_t mode)
{
	char path[PATH_MAX_REL];
	char *name = path;
	int at = dir_fd;

	if (snprintf(path, sizeof(path), "%s", rel) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
		*slash = '\0';
		at = step_into(at, at != dir_fd, name);
		if (at < 0)
			return -1;
	}

	int fd = openat(at, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
	if (at != dir_fd) {
		int saved = errno;
		close(at);
		errno = saved;
	}
	return fd;
}

static int
open_once(int dir_fd, const char *rel, int flags, mode_t mode)
{
	int fd;

	do
		fd = open_resolved(dir_fd, rel, flags, mode);
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	if (fd < 0 && errno == ENOSYS)
		return open_by_component(dir_fd, rel, flags, mode);
	return fd;
}

/*
 * Where two nodes make a file at the same time, OCFS2 answers EEXIST to the second one, O_EXCL or not: its kernel has looked before
 * and found nothing, and ocfs2_mknod() looks again under the cluster's lock. The file is there then, unless somebody removes it.
 */
int
path_open(int dir_fd, const char *rel, int flags, mode_t mode)
{
	int fd = open_once(dir_fd, rel, flags, mode);

	if ((flags & O_CREAT) == 0 || (flags & O_EXCL) != 0)
		return fd;
	for (int i = 0; i < MADE_MEANWHILE && fd < 0 && errno == EEXIST; i++) {
		fd = open_once(dir_fd, rel, flags & ~O_CREAT, mode);
		if (fd < 0 && errno == ENOENT)
			fd = open_once(dir_fd, rel, flags, mode);
	}
	return fd;
}

int
path_mkdir(int dir_fd, const char *name)
{
	if (mkdirat(dir_fd, name, DIR_MODE) == 0 || errno == EEXIST)
		return 0;
	return -1;
}
