#include "agent/engine/raw_device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/mem.h"

/* O_NONBLOCK is not needed: O_RDONLY of a block device waits for nothing but its driver. */
#define DEVICE_FLAGS (O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW)

/* Kernels before 5.6: each directory on the way must be one itself. */
static int
open_by_component(const char *path)
{
	char *copy = ls_strdup(path);
	char *name = copy + 1, *slash;
	int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (at >= 0 && (slash = strchr(name, '/')) != NULL) {
		*slash = '\0';
		int next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int saved = errno;
		close(at);
		errno = saved;
		at = next;
		name = slash + 1;
	}

	int fd = at >= 0 ? openat(at, name, DEVICE_FLAGS) : -1;
	int saved = errno;
	if (at >= 0)
		close(at);
	free(copy);
	errno = saved;
	return fd;
}

static int
open_unlinked(const char *path)
{
	struct open_how how = { .flags = DEVICE_FLAGS, .resolve = RESOLVE_NO_SYMLINKS };
	int fd;

	do
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 && errno == ENOSYS ? open_by_component(path) : fd;
}

static enum ls_rc
explain_open(const char *path, int errnum, struct ls_err *err)
{
	if (errnum == ELOOP || errnum == ENOTDIR)
		return ls_err_set(err, LS_E_REFUSED,
		    "device %s: it is a symbolic link or lies behind one; name the device itself", path);
	if (errnum == EACCES || errnum == EPERM)
		return ls_err_set(err, LS_E_REFUSED,
		    "device %s: no permission to read it (owner, group, or DeviceAllow= of the agent's service)", path);
	return ls_err_sys(err, errnum, "device %s: open", path);
}

static enum ls_rc
ask_device(const char *path, struct raw_device *d, struct ls_err *err)
{
	struct stat st;
	int block = 0;

	if (fstat(d->fd, &st) < 0)
		return ls_err_sys(err, errno, "device %s: fstat", path);
	if (!S_ISBLK(st.st_mode))
		return ls_err_set(err, LS_E_REFUSED, "device %s: it is no block device", path);
	if (ioctl(d->fd, BLKGETSIZE64, &d->size) < 0 || ioctl(d->fd, BLKSSZGET, &block) < 0)
		return ls_err_sys(err, errno, "device %s: its size", path);
	d->align = block > 0 ? (uint64_t)block : 512;
	return LS_OK;
}

enum ls_rc
raw_device_open(const char *path, struct raw_device *out, struct ls_err *err)
{
	struct raw_device d = { .fd = path[0] == '/' ? open_unlinked(path) : -1 };

	if (path[0] != '/')
		return ls_err_set(err, LS_E_REFUSED, "device %s: not a full path", path);
	if (d.fd < 0)
		return explain_open(path, errno, err);

	enum ls_rc rc = ask_device(path, &d, err);
	if (rc != LS_OK) {
		close(d.fd);
		return rc;
	}
	*out = d;
	return LS_OK;
}
