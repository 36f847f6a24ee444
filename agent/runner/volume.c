#include "agent/runner/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/mountinfo.h"
#include "common/base/mem.h"
#include "common/base/sink.h"

/* Longest mountinfo that is read; a machine with 10,000 mounts has about 2 MiB. */
#define MOUNTINFO_MAX (16 << 20)

/* Kernels before 5.6 have no openat2: plain open then, the comparison with the real path decides in both cases. */
static int
open_plain_path(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return (int)fd;
}

/* The next component that is neither empty nor "."; its length, 0 at the end. */
static size_t
next_component(const char **at)
{
	for (;;) {
		*at += strspn(*at, "/");

		size_t n = strcspn(*at, "/");

		if (n != 1 || **at != '.')
			return n;
		*at += n;
	}
}

bool
volume_path_equal(const char *a, const char *b)
{
	if ((*a == '/') != (*b == '/'))
		return false;
	for (;;) {
		size_t n = next_component(&a);
		size_t m = next_component(&b);

		if (n != m || memcmp(a, b, n) != 0)
			return false;
		if (n == 0)
			return true;
		a += n;
		b += m;
	}
}

enum ls_rc
volume_open(const char *path, int *out_fd, struct ls_err *err)
{
	char link[32];
	char real[PATH_MAX];

	if (path == NULL || *path != '/')
		return ls_err_set(err, LS_E_INVALID, "path %s is not absolute", path != NULL ? path : "(none)");

	int fd = open_plain_path(path);

	if (fd < 0 && errno == ENOENT)
		return ls_err_sys(err, ENOENT, "path %s does not exist on this node", path);
	if (fd < 0)
		return ls_err_sys(err, errno, "path %s cannot be opened as a directory", path);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	ssize_t n = readlink(link, real, sizeof(real) - 1);

	if (n < 0) {
		int errnum = errno;

		close(fd);
		return ls_err_sys(err, errnum, "path %s: readlink of %s", path, link);
	}
	real[n] = '\0';
	if (!volume_path_equal(path, real)) {
		close(fd);
		return ls_err_set(err, LS_E_REFUSED,
		    "path %s leads through a symbolic link to %s; name that path in the job, and in the agent's allow "
		    "list",
		    path, real);
	}
	*out_fd = fd;
	return LS_OK;
}

/* Whole text of a file in /proc into s. */
static enum ls_rc
read_proc(const char *name, struct sink *s, struct ls_err *err)
{
	char buf[16384];
	ssize_t n = 0;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return ls_err_sys(err, errno, "open %s", name);
	while (s->len < MOUNTINFO_MAX && (n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		sink_add(s, buf, (size_t)n);
	}

	int errnum = errno;

	close(fd);
	return n < 0 ? ls_err_sys(err, errnum, "read %s", name) : LS_OK;
}

/* fdinfo has had the mount's id since Linux 3.15, statx only since 5.8. */
static enum ls_rc
read_mount_id(int fd, int *out, struct ls_err *err)
{
	static const char key[] = "mnt_id:";
	struct sink s = { 0 };
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);

	enum ls_rc rc = read_proc(name, &s, err);

	if (rc == LS_OK) {
		const char *at = s.text != NULL ? strstr(s.text, key) : NULL;
		char *end;
		long id = at != NULL ? strtol(at + strlen(key), &end, 10) : -1;

		if (id < 0 || id > INT_MAX)
			rc = ls_err_set(err, LS_E_NOTFOUND, "%s names no mount", name);
		else
			*out = (int)id;
	}
	sink_free(&s);
	return rc;
}

static void
replace(char **slot, char *value)
{
	free(*slot);
	*slot = value;
}

/*
 * major:minor of the block device. Some file systems (btrfs) give their files a device number of their own: then
 * the source's node in /dev tells. Nothing when there is no block device (NFS, tmpfs).
 */
static char *
device_of(const struct mount_entry *entry)
{
	struct stat st;

	if (entry->major != 0)
		return ls_asprintf("%u:%u", entry->major, entry->minor);
	if (strncmp(entry->source, "/dev/", 5) == 0 && stat(entry->source, &st) == 0 && S_ISBLK(st.st_mode))
		return ls_asprintf("%u:%u", major(st.st_rdev), minor(st.st_rdev));
	return NULL;
}

static enum ls_rc
read_mount(int fd, struct volume_facts *facts, struct ls_err *err)
{
	struct mount_entry entry = { 0 };
	struct sink s = { 0 };
	int id = -1;
	enum ls_rc rc = read_mount_id(fd, &id, err);

	if (rc != LS_OK)
		return rc;
	rc = read_proc("/proc/self/mountinfo", &s, err);
	if (rc != LS_OK)
		goto out;
	rc = mountinfo_find(s.text != NULL ? s.text : "", s.len, id, &entry, err);
	if (rc != LS_OK)
		goto out;

	replace(&facts->mount_options, mountinfo_options(&entry));
	replace(&facts->device, device_of(&entry));
	replace(&facts->fs_type, entry.fs_type);
	replace(&facts->source, entry.source);
	replace(&facts->mount_point, entry.mount_point);
	entry.fs_type = entry.source = entry.mount_point = NULL;

out:
	mount_entry_fini(&entry);
	sink_free(&s);
	return rc;
}

/*
 * In a chroot whose root is no mount point mountinfo leaves the mount out: then the file system's device number is all that
 * can be known, and the rest of the facts stays unknown.
 */
static enum ls_rc
read_device(int fd, struct volume_facts *facts, struct ls_err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return ls_err_sys(err, errno, "fstat");
	if (major(st.st_dev) != 0)
		replace(&facts->device, ls_asprintf("%u:%u", major(st.st_dev), minor(st.st_dev)));
	return LS_OK;
}

static uint64_t
blocks_to_bytes(uint64_t blocks, uint64_t size)
{
	return size != 0 && blocks > (uint64_t)INT64_MAX / size ? (uint64_t)INT64_MAX : blocks * size;
}

enum ls_rc
volume_read(int fd, const char *path, struct volume_facts *facts, struct space *space, struct ls_err *err)
{
	struct statfs st;
	uint32_t id[2];

	if (fstatfs(fd, &st) != 0)
		return ls_err_sys(err, errno, "path %s: statfs", path);

	enum ls_rc rc = read_mount(fd, facts, err);

	if (rc == LS_E_NOTFOUND)
		rc = read_device(fd, facts, err);
	if (rc != LS_OK) {
		ls_err_wrap(err, "path %s", path);
		return rc;
	}

	uint64_t size = st.f_frsize > 0 ? (uint64_t)st.f_frsize : (uint64_t)st.f_bsize;
	bool counts_inodes = st.f_files > 0 && st.f_files < (uint64_t)INT64_MAX && st.f_ffree <= st.f_files;

	space->total_bytes = blocks_to_bytes(st.f_blocks, size);
	space->free_bytes = blocks_to_bytes(st.f_bavail, size);
	space->total_inodes = counts_inodes ? st.f_files : LS_UNKNOWN_U64;
	space->free_inodes = counts_inodes ? st.f_ffree : LS_UNKNOWN_U64;
	facts->total_bytes = space->total_bytes;
	facts->free_bytes = space->free_bytes;
	facts->total_inodes = space->total_inodes;
	facts->free_inodes = space->free_inodes;

	memcpy(id, &st.f_fsid, sizeof(id));
	if (id[0] != 0 || id[1] != 0)
		replace(&facts->fs_id, ls_asprintf("%08x%08x", id[0], id[1]));
	return LS_OK;
}

bool
volume_type_matches(const char *expected, const char *actual)
{
	if (strcmp(expected, actual) == 0)
		return true;
	return strcmp(expected, "nfs") == 0 && strcmp(actual, "nfs4") == 0;
}
