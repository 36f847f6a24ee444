/*
 * A volume for tests: a FUSE file system that passes all through to a directory, unless it is told over its socket (control.h) to hold,
 * fail or falsify calls. Several mounts of one directory are the nodes of a cluster file system, good or bad.
 *
 *   volume --backing DIR --socket PATH [--cache | --reopen] [--subtype NAME] MOUNTPOINT
 *
 * Without --cache and --reopen nothing is cached by the kernel, and there are no mappings. --cache: the kernel keeps what it has read.
 * --reopen: it forgets that with each open, as for close-to-open; files can be mapped.
 *
 * Prints "ready" once it is mounted and listens. SIGTERM detaches the mount and ends it, whatever is held. Root only.
 */
#define FUSE_USE_VERSION 35
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/fuse/control.h"
#include "tests/support/fuse/incoherent.h"
#include "tests/support/fuse/locks.h"
#include "tests/support/fuse/rules.h"

#define MAX_WRITE   (1U << 20)
#define BACKGROUND  256
#define SERVE_COUNT 256 /* threads: as many calls can be held at once */

/* Set once by main before the mount. */
static struct {
	int backing;
	bool cache, reopen;
	const char *mountpoint;
	struct fuse_session *session;
} volume;

struct handle {
	int fd;
	int flock_fd; /* -1 until somebody locks */
	bool append;
	char name[]; /* as it was opened, below the volume */
};

/* FUSE says /a/b, the backing directory's calls want a/b. */
static const char *
rel(const char *path)
{
	return path[1] == '\0' ? "." : path + 1;
}

static struct handle *
handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static int
result(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* Does a rule say what is answered? Then that is in *rc. */
static bool
answered(enum volume_call call, const char *path, int *rc)
{
	struct verdict v = rules_enter(call, path, 0);
	*rc = v.action == RULE_FAIL ? -(int)v.value : 0;
	return v.action == RULE_FAIL || v.action == RULE_LOSE;
}

/* First in each operation: counts, waits, and returns from it when a rule has the answer. */
#define ENTER(call, path)                                                                                              \
	int ruled;                                                                                                     \
	if (answered(VOLUME_##call, path, &ruled))                                                                     \
	return ruled

static bool
not_interrupted(void)
{
	return fuse_interrupted() == 0;
}

/* --- names --- */

static int
v_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	const char *name = fi != NULL ? handle_of(fi)->name : rel(path);
	ENTER(GETATTR, name);
	int rc = fi != NULL ? fstat(handle_of(fi)->fd, st) : fstatat(volume.backing, name, st, AT_SYMLINK_NOFOLLOW);
	if (rc != 0)
		return -errno;
	if (fi == NULL && incoherent_hides(name, st))
		return -ENOENT;
	incoherent_attr(st);
	return 0;
}

static int
v_access(const char *path, int mask)
{
	ENTER(ACCESS, rel(path));
	return result(faccessat(volume.backing, rel(path), mask, 0));
}

static int
v_readlink(const char *path, char *buf, size_t size)
{
	ENTER(READLINK, rel(path));
	ssize_t n = readlinkat(volume.backing, rel(path), buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

/* A name that was made here is known here. */
static int
made(const char *path, int rc)
{
	if (rc != 0)
		return -errno;
	incoherent_made(rel(path));
	return 0;
}

static int
removed(const char *path, int rc)
{
	if (rc != 0)
		return -errno;
	incoherent_removed(rel(path));
	return 0;
}

static int
v_mkdir(const char *path, mode_t mode)
{
	ENTER(MKDIR, rel(path));
	return made(path, mkdirat(volume.backing, rel(path), mode));
}

static int
v_unlink(const char *path)
{
	ENTER(UNLINK, rel(path));
	return removed(path, unlinkat(volume.backing, rel(path), 0));
}

static int
v_rmdir(const char *path)
{
	ENTER(RMDIR, rel(path));
	return removed(path, unlinkat(volume.backing, rel(path), AT_REMOVEDIR));
}

static int
v_symlink(const char *target, const char *path)
{
	ENTER(SYMLINK, rel(path));
	return made(path, symlinkat(target, volume.backing, rel(path)));
}

static int
v_link(const char *from, const char *to)
{
	ENTER(LINK, rel(to));
	return made(to, linkat(volume.backing, rel(from), volume.backing, rel(to), 0));
}

static int
v_rename(const char *from, const char *to, unsigned flags)
{
	ENTER(RENAME, rel(to));
	int rc = made(to, renameat2(volume.backing, rel(from), volume.backing, rel(to), flags));
	return rc != 0 ? rc : removed(from, 0);
}

static int
v_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	ENTER(CHMOD, fi != NULL ? handle_of(fi)->name : rel(path));
	if (fi != NULL)
		return result(fchmod(handle_of(fi)->fd, mode));
	return result(fchmodat(volume.backing, rel(path), mode, 0));
}

static int
v_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	ENTER(CHOWN, fi != NULL ? handle_of(fi)->name : rel(path));
	if (fi != NULL)
		return result(fchown(handle_of(fi)->fd, uid, gid));
	return result(fchownat(volume.backing, rel(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int
v_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
	ENTER(UTIMENS, fi != NULL ? handle_of(fi)->name : rel(path));
	if (fi != NULL)
		return result(futimens(handle_of(fi)->fd, times));
	return result(utimensat(volume.backing, rel(path), times, AT_SYMLINK_NOFOLLOW));
}

static int
v_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	ENTER(TRUNCATE, fi != NULL ? handle_of(fi)->name : rel(path));
	if (fi != NULL)
		return result(ftruncate(handle_of(fi)->fd, size));
	int fd = openat(volume.backing, rel(path), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	int rc = result(ftruncate(fd, size));
	close(fd);
	return rc;
}

static int
v_statfs(const char *path, struct statvfs *st)
{
	ENTER(STATFS, rel(path == NULL ? "/" : path));
	return result(fstatvfs(volume.backing, st));
}

/* --- open files --- */

static int
keep(const char *path, int fd, struct fuse_file_info *fi)
{
	if (fd < 0)
		return -errno;
	struct handle *h = calloc(1, sizeof(*h) + strlen(rel(path)) + 1);
	if (h == NULL) {
		close(fd);
		return -ENOMEM;
	}
	*h = (struct handle){ .fd = fd, .flock_fd = -1, .append = (fi->flags & O_APPEND) != 0 };
	memcpy(h->name, rel(path), strlen(rel(path)) + 1);
	fi->fh = (uintptr_t)h;
	fi->direct_io = !volume.cache && !volume.reopen;
	return 0;
}

/* The backing file is read and written by this program: with its own buffers, its own appends, and for partial pages read as well. */
static int
backing_flags(int flags)
{
	int kept = flags & ~(O_DIRECT | O_APPEND | O_NOFOLLOW);
	if ((kept & O_ACCMODE) == O_WRONLY && (volume.cache || volume.reopen))
		kept = (kept & ~O_ACCMODE) | O_RDWR;
	return kept | O_CLOEXEC;
}

static int
v_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	ENTER(CREATE, rel(path));
	int flags = backing_flags(fi->flags) | O_CREAT;
	if (incoherent_get(INCOHERENT_DOUBLE_EXCL) != 0)
		flags &= ~O_EXCL;
	int fd = openat(volume.backing, rel(path), flags, mode);
	if (fd >= 0 && (fi->flags & O_EXCL) == 0 && incoherent_get(INCOHERENT_MADE_TWICE) != 0) {
		close(fd);
		return -EEXIST;
	}
	int rc = keep(path, fd, fi);
	if (rc == 0)
		incoherent_made(rel(path));
	return rc;
}

static int
v_open(const char *path, struct fuse_file_info *fi)
{
	ENTER(OPEN, rel(path));
	int fd = openat(volume.backing, rel(path), backing_flags(fi->flags));
	return keep(path, fd < 0 ? fd : incoherent_open(rel(path), fd, backing_flags(fi->flags)), fi);
}

static int
v_read(const char *path, char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	(void)path;
	struct handle *h = handle_of(fi);
	struct verdict v = rules_enter(VOLUME_PREAD, h->name, size);
	if (v.action == RULE_FAIL)
		return -(int)v.value;
	if (v.action == RULE_SHORT && v.value < size)
		size = v.value;
	ssize_t n = incoherent_read(h->fd, buf, size, offset);
	if (v.action == RULE_FLIP && n > 0)
		buf[0] ^= 1;
	return (int)n;
}

static ssize_t
write_once(struct handle *h, const char *buf, size_t size, off_t offset)
{
	ssize_t n;
	if (h->append && incoherent_get(INCOHERENT_LOST_APPEND) != 0) {
		offset = incoherent_append_at(h->fd, size);
		if (offset < 0)
			return offset;
		n = pwrite(h->fd, buf, size, offset);
	} else if (h->append) {
		struct iovec part = { .iov_base = (void *)(uintptr_t)buf, .iov_len = size };
		n = pwritev2(h->fd, &part, 1, 0, RWF_APPEND);
	} else {
		n = pwrite(h->fd, buf, size, offset);
	}
	if (n < 0)
		return -errno;
	incoherent_wrote(h->fd, buf, (size_t)n, offset);
	return n;
}

static int
v_write(const char *path, const char *buf, size_t size, off_t offset, struct fuse_file_info *fi)
{
	(void)path;
	struct handle *h = handle_of(fi);
	struct verdict v = rules_enter(VOLUME_PWRITE, h->name, size);
	if (v.action == RULE_FAIL)
		return -(int)v.value;
	if (v.action == RULE_LOSE)
		return (int)size;
	if (v.action == RULE_SHORT && v.value < size)
		size = v.value;
	if (v.action == RULE_DOUBLE) {
		ssize_t n = write_once(h, buf, size, offset);
		if (n != (ssize_t)size)
			return (int)n;
	}
	if (v.action != RULE_TEAR || size < 2)
		return (int)write_once(h, buf, size, offset);
	ssize_t first = write_once(h, buf, size / 2, offset);
	if (first < (ssize_t)(size / 2))
		return (int)first;
	usleep((useconds_t)(v.value * 1000));
	ssize_t second = write_once(h, buf + first, size - (size_t)first, offset + first);
	return (int)(second < 0 ? second : first + second);
}

static int
v_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	(void)path;
	ENTER(FSYNC, handle_of(fi)->name);
	return result(data_only ? fdatasync(handle_of(fi)->fd) : fsync(handle_of(fi)->fd));
}

static int
v_fallocate(const char *path, int mode, off_t offset, off_t size, struct fuse_file_info *fi)
{
	(void)path;
	ENTER(FALLOCATE, handle_of(fi)->name);
	return result(fallocate(handle_of(fi)->fd, mode, offset, size));
}

static off_t
v_lseek(const char *path, off_t offset, int whence, struct fuse_file_info *fi)
{
	(void)path;
	ENTER(LSEEK, handle_of(fi)->name);
	off_t at = lseek(handle_of(fi)->fd, offset, whence);
	return at < 0 ? -errno : at;
}

static int
v_flush(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	ENTER(FLUSH, handle_of(fi)->name);
	locks_drop(handle_of(fi)->fd, fi->lock_owner);
	return 0;
}

static int
v_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	struct handle *h = handle_of(fi);
	(void)rules_enter(VOLUME_RELEASE, h->name, 0);
	if (h->flock_fd >= 0)
		close(h->flock_fd);
	close(h->fd);
	free(h);
	return 0;
}

static int
v_lock(const char *path, struct fuse_file_info *fi, int command, struct flock *lock)
{
	(void)path;
	ENTER(LOCK, handle_of(fi)->name);
	return locks_do(handle_of(fi)->fd, fi->lock_owner, command, lock, not_interrupted);
}

static int
v_flock(const char *path, struct fuse_file_info *fi, int operation)
{
	(void)path;
	struct handle *h = handle_of(fi);
	ENTER(FLOCK, h->name);
	if (h->flock_fd < 0) {
		int fd = incoherent_lock_fd(h->fd);
		if (fd < 0)
			return fd;
		h->flock_fd = fd;
	}
	return locks_flock(h->flock_fd, operation, not_interrupted);
}

/* --- directories --- */

static int
v_opendir(const char *path, struct fuse_file_info *fi)
{
	ENTER(OPENDIR, rel(path));
	return keep(path, openat(volume.backing, rel(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC), fi);
}

static int
v_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *fi,
    enum fuse_readdir_flags flags)
{
	(void)path;
	(void)offset;
	(void)flags;
	struct handle *h = handle_of(fi);
	ENTER(READDIR, h->name);
	int fd = openat(h->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir == NULL)
		return -errno;
	for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
		char name[PATH_MAX];
		struct stat st;
		bool top = strcmp(h->name, ".") == 0;
		bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
		if (snprintf(name, sizeof(name), "%s%s%s", top ? "" : h->name, top ? "" : "/", e->d_name) >=
		    (int)sizeof(name))
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || (!dots && incoherent_hides(name, &st)))
			continue;
		if (fill(buf, e->d_name, &st, 0, 0) != 0)
			break;
	}
	closedir(dir);
	return 0;
}

static int
v_releasedir(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close(handle_of(fi)->fd);
	free(handle_of(fi));
	return 0;
}

static int
v_fsyncdir(const char *path, int data_only, struct fuse_file_info *fi)
{
	(void)path;
	(void)data_only;
	ENTER(FSYNCDIR, handle_of(fi)->name);
	return result(fsync(handle_of(fi)->fd));
}

/* --- life --- */

static void *
v_init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	conn->max_write = MAX_WRITE;
	conn->max_background = BACKGROUND;
	conn->congestion_threshold = BACKGROUND;
	conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS;
	cfg->use_ino = 1;
	cfg->nullpath_ok = 1;
	cfg->hard_remove = 1;
	/* Nothing is answered by the kernel on its own, but data when it was asked to. */
	cfg->entry_timeout = cfg->attr_timeout = cfg->negative_timeout = 0;
	cfg->kernel_cache = volume.cache;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = v_init,
	.getattr = v_getattr,
	.access = v_access,
	.readlink = v_readlink,
	.mkdir = v_mkdir,
	.unlink = v_unlink,
	.rmdir = v_rmdir,
	.symlink = v_symlink,
	.link = v_link,
	.rename = v_rename,
	.chmod = v_chmod,
	.chown = v_chown,
	.utimens = v_utimens,
	.truncate = v_truncate,
	.statfs = v_statfs,
	.create = v_create,
	.open = v_open,
	.read = v_read,
	.write = v_write,
	.fsync = v_fsync,
	.fallocate = v_fallocate,
	.lseek = v_lseek,
	.flush = v_flush,
	.release = v_release,
	.lock = v_lock,
	.flock = v_flock,
	.opendir = v_opendir,
	.readdir = v_readdir,
	.releasedir = v_releasedir,
	.fsyncdir = v_fsyncdir,
};

static void *
serve_control(void *listener)
{
	control_serve((int)(intptr_t)listener);
	return NULL;
}

/* Ends the program as a volume that goes away: calls that are held get an error from the kernel. */
static void *
wait_for_term(void *unused)
{
	(void)unused;
	sigset_t term;
	int got;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGINT);
	sigwait(&term, &got);
	umount2(volume.mountpoint, MNT_DETACH);
	_exit(0);
}

/* libfuse's own loop has ten threads at most in some versions and no limit in others: a held call must not stop the rest. */
static void *
serve_volume(void *unused)
{
	(void)unused;
	struct fuse_buf buf = { .mem = NULL };
	while (!fuse_session_exited(volume.session)) {
		int n = fuse_session_receive_buf(volume.session, &buf);
		if (n > 0)
			fuse_session_process_buf(volume.session, &buf);
		else if (n != -EINTR)
			break;
	}
	free(buf.mem);
	return NULL;
}

static int
run(struct fuse *fuse, int listener)
{
	pthread_t threads[SERVE_COUNT], other;
	size_t started = 0;
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGINT);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	if (fuse_mount(fuse, volume.mountpoint) != 0)
		return 1;
	volume.session = fuse_get_session(fuse);
	if (pthread_create(&other, NULL, wait_for_term, NULL) != 0 ||
	    pthread_create(&other, NULL, serve_control, (void *)(intptr_t)listener) != 0)
		return 1;
	while (started < SERVE_COUNT && pthread_create(&threads[started], NULL, serve_volume, NULL) == 0)
		started++;
	printf("ready\n");
	fflush(stdout);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	fuse_unmount(fuse);
	return started == 0;
}

static int
usage(const char *why)
{
	fprintf(stderr,
	    "%s\nusage: volume --backing DIR --socket PATH [--cache | --reopen] [--subtype NAME] MOUNTPOINT\n", why);
	return 2;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "backing", required_argument, NULL, 'b' },
		{ "socket", required_argument, NULL, 's' },
		{ "cache", no_argument, NULL, 'c' },
		{ "reopen", no_argument, NULL, 'r' },
		{ "subtype", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	const char *backing = NULL, *socket_path = NULL, *subtype = "faulty";
	for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (o == 'b')
			backing = optarg;
		else if (o == 's')
			socket_path = optarg;
		else if (o == 'c')
			volume.cache = true;
		else if (o == 'r')
			volume.reopen = true;
		else if (o == 't')
			subtype = optarg;
		else
			return usage("unknown option");
	}
	if (backing == NULL || socket_path == NULL || optind + 1 != argc)
		return usage("something is missing");
	volume.mountpoint = argv[optind];
	volume.backing = open(backing, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int listener = control_listen(socket_path);
	if (volume.backing < 0 || listener < 0) {
		perror(volume.backing < 0 ? backing : socket_path);
		return 1;
	}
	umask(0);
	char mount_options[256];
	snprintf(mount_options, sizeof(mount_options), "allow_other,default_permissions,fsname=%s,subtype=%s", backing,
	    subtype);
	char program[] = "volume", dash[] = "-o";
	char *words[] = { program, dash, mount_options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse *fuse = fuse_new(&args, &operations, sizeof(operations), NULL);
	if (fuse == NULL)
		return 1;
	int status = run(fuse, listener);
	fuse_destroy(fuse);
	return status;
}
