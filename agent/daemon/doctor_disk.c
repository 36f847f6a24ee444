/* Directories, looked at from a process of their own. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/daemon/doctor_int.h"
#include "common/base/clock.h"

/* f_type as statfs(2) and the kernel's own headers have it: linux/magic.h lacks those of clusters. */
static const struct {
	int64_t magic;
	const char *name;
	bool shared; /* by machines */
} file_systems[] = {
	{ 0x7461636f, "ocfs2", true },
	{ 0x01161970, "gfs2", true },
	{ 0x6969, "nfs", true },
	{ 0xff534d42, "cifs", true },
	{ 0xfe534d42, "smb2", true },
	{ 0x00c36400, "ceph", true },
	{ 0x0bd00bd0, "lustre", true },
	{ 0x47504653, "gpfs", true },
	{ 0x19830326, "beegfs", true },
	{ 0x5346414f, "afs", true },
	{ 0x65735546, "fuse", true },
	{ 0xef53, "ext4", false },
	{ 0x58465342, "xfs", false },
	{ 0x9123683e, "btrfs", false },
	{ 0x01021994, "tmpfs", false },
	{ 0x794c7630, "overlayfs", false },
};

const char *
doctor_shared_fs(int64_t magic)
{
	for (size_t i = 0; i < ARRAY_LEN(file_systems); i++)
		if (file_systems[i].magic == magic)
			return file_systems[i].shared ? file_systems[i].name : NULL;
	return NULL;
}

const char *
doctor_fs_name(int64_t magic, char *buf, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(file_systems); i++)
		if (file_systems[i].magic == magic)
			return file_systems[i].name;
	snprintf(buf, len, "type 0x%llx", (unsigned long long)magic);
	return buf;
}

/* In the child: nothing here may matter to the parent. */
static void
look(const char *dir, int out_fd)
{
	struct dir_look seen = { 0 };
	struct statfs st;

	if (statfs(dir, &st) != 0) {
		seen.errnum = errno;
	} else {
		seen.magic = (int64_t)((unsigned long)st.f_type & 0xffffffffUL);
		seen.free_bytes = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
		seen.total_bytes = (uint64_t)st.f_blocks * (uint64_t)st.f_bsize;
		seen.writable = access(dir, W_OK | X_OK) == 0 ? 0 : errno;
	}
	ssize_t n = write(out_fd, &seen, sizeof(seen));
	(void)n; /* a parent that is gone needs no answer */
}

/* Until the answer or the deadline. */
static enum ls_rc
await_look(int fd, const char *dir, int64_t deadline_ns, struct dir_look *out, struct ls_err *err)
{
	struct ls_mono until = { ls_mono_now().ns + deadline_ns };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct dir_look seen;

	for (;;) {
		int64_t left_ms = (until.ns - ls_mono_now().ns) / NS_PER_MS;
		int n = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;

		if (n == 0)
			return ls_err_set(err, LS_E_TIMEOUT, "%s: no answer within %d s: the file system hangs", dir,
			    (int)(deadline_ns / NS_PER_S));
		if (n < 0 && errno != EINTR)
			return ls_err_sys(err, errno, "poll");
		if (n > 0)
			break;
	}
	if (read(fd, &seen, sizeof(seen)) != (ssize_t)sizeof(seen))
		return ls_err_set(err, LS_E_SYS, "%s: the process that looked at it ended without an answer", dir);
	*out = seen;
	return LS_OK;
}

enum ls_rc
doctor_look(const char *dir, int64_t deadline_ns, struct dir_look *out, struct ls_err *err)
{
	int fds[2];

	if (pipe(fds) != 0)
		return ls_err_sys(err, errno, "pipe");
	(void)fflush(NULL); /* or the child would say again what waits in buffers */
	pid_t pid = fork();
	if (pid < 0) {
		close(fds[0]);
		close(fds[1]);
		return ls_err_sys(err, errno, "fork");
	}
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		for (int fd = 0; fd <= 2; fd++) /* or whoever reads from us would wait for a child that hangs */
			close(fd);
		look(dir, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	enum ls_rc rc = await_look(fds[0], dir, deadline_ns, out, err);
	close(fds[0]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, rc == LS_E_TIMEOUT ? WNOHANG : 0); /* one that hangs in the kernel is init's, later */
	return rc;
}
