#include "agent/daemon/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"

struct child {
	struct loop *loop;
	pid_t pid;
	int pidfd;
	struct loop_fd *watch;
	child_exit_fn on_exit;
	void *arg;
};

static enum ls_rc
spawn(const char *program, int link_fd, int map_fd, pid_t *out, struct ls_err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	char *argv[] = { ls_strdup(program), NULL };

	/* Both out of the way first: one of them could itself be 3 or 4. */
	int link_high = fcntl(link_fd, F_DUPFD_CLOEXEC, 16), map_high = fcntl(map_fd, F_DUPFD_CLOEXEC, 16);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, link_high, RUNNER_LINK_FD);
	posix_spawn_file_actions_adddup2(&actions, map_high, RUNNER_MAP_FD);
	posix_spawn_file_actions_addclosefrom_np(&actions, RUNNER_MAP_FD + 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);

	int errnum = link_high < 0 || map_high < 0 ? EMFILE : posix_spawn(out, program, &actions, &attr, argv, environ);

	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (link_high >= 0)
		close(link_high);
	if (map_high >= 0)
		close(map_high);
	free(argv[0]);
	return errnum ? ls_err_sys(err, errnum, "%s: cannot be started", program) : LS_OK;
}

/* False while it still lives. */
static bool
reap(struct child *child, char *how, size_t len)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) != 0) {
		(void)snprintf(how, len, "is gone");
		return true;
	}
	if (info.si_pid == 0)
		return false;
	if (info.si_code == CLD_EXITED)
		(void)snprintf(how, len, "exited with status %d", info.si_status);
	else
		(void)snprintf(how, len, "was killed by signal %d", info.si_status);
	return true;
}

static void
on_pidfd(void *arg)
{
	struct child *child = arg;
	char how[64];

	if (!reap(child, how, sizeof(how)))
		return;
	child->pid = 0;
	loop_fd_free(child->watch);
	child->watch = NULL;
	child->on_exit(how, child->arg);
}

enum ls_rc
child_start(struct loop *loop, const char *program, int link_fd, int map_fd, child_exit_fn on_exit, void *arg,
    struct child **out, struct ls_err *err)
{
	pid_t pid = 0;
	enum ls_rc rc = spawn(program, link_fd, map_fd, &pid, err);
	if (rc)
		return rc;

	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
	if (pidfd < 0) {
		rc = ls_err_sys(err, errno, "pidfd_open of the runner (needs Linux 5.3)");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return rc;
	}

	struct child *child = ls_calloc(1, sizeof(*child));
	*child = (struct child){ .loop = loop, .pid = pid, .pidfd = pidfd, .on_exit = on_exit, .arg = arg };
	child->watch = loop_fd_new(loop, pidfd, on_pidfd, child);
	*out = child;
	return LS_OK;
}

pid_t
child_pid(const struct child *child)
{
	return child->pid;
}

void
child_signal(struct child *child, int sig)
{
	if (child->pid > 0)
		kill(child->pid, sig); /* not reaped yet, so the number is still its own */
}

void
child_free(struct child *child)
{
	if (!child)
		return;
	loop_fd_free(child->watch);
	close(child->pidfd);
	free(child);
}
