#include "agent/daemon/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"

static char *
path_of(const char *dir)
{
	return ls_asprintf("%s/agent.pid", dir);
}

/* The number in the file, or 0. */
static pid_t
read_pid(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	long pid = strtol(text, NULL, 10);
	return pid > 1 && pid <= 0x7fffffff ? (pid_t)pid : 0;
}

enum ls_rc
pidfile_lock(const char *dir, int *out_fd, struct ls_err *err)
{
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return ls_err_sys(err, errno, "spool %s: mkdir", dir);

	char *path = path_of(dir), text[32];
	enum ls_rc rc = LS_OK;
	int n, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		rc = ls_err_sys(err, errno, "%s: open", path);
		goto out;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		rc = errno == EWOULDBLOCK ? ls_err_set(err, LS_E_EXISTS, "%s: another agent (pid %d) uses this spool",
						path, (int)read_pid(fd))
					  : ls_err_sys(err, errno, "%s: flock", path);
		goto out;
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
		rc = ls_err_sys(err, errno, "%s: write", path);
out:
	free(path);
	if (rc && fd >= 0)
		close(fd);
	if (!rc)
		*out_fd = fd;
	return rc;
}

enum ls_rc
pidfile_signal(const char *dir, int sig, pid_t *out_pid, struct ls_err *err)
{
	char *path = path_of(dir);
	enum ls_rc rc = LS_OK;
	pid_t pid = 0;

	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		rc = ls_err_set(err, LS_E_NOTFOUND, "no agent runs with spool %s", dir);
	else if (fd < 0)
		rc = ls_err_sys(err, errno, "%s: open", path);
	else if (flock(fd, LOCK_SH | LOCK_NB) == 0 || (pid = read_pid(fd)) == 0)
		rc = ls_err_set(err, LS_E_NOTFOUND, "no agent runs with spool %s", dir);
	else if (kill(pid, sig) != 0)
		rc = ls_err_sys(err, errno, "signal to the agent, pid %d", (int)pid);
	if (fd >= 0)
		close(fd);
	free(path);
	if (!rc)
		*out_pid = pid;
	return rc;
}
