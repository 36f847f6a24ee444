#include "agent/helper/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"

#define SAID_MAX     512
#define KILL_WAIT_MS 2000

static char *const environment[] = { (char[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin" }, (char[]){ "LC_ALL=C" }, NULL };

static bool
find_program(const char *name, char *path, size_t size)
{
	static const char *const folders[] = { "/usr/bin", "/bin", "/usr/sbin", "/sbin" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		(void)snprintf(path, size, "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Starts it with nothing but the three standard descriptors. Returns an errno. */
static int
start(const char *path, const char *const *argv, int said_fd, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	union {
		const char *const *in;
		char *const *out;
	} words = { .in = argv };
	int rc = posix_spawn_file_actions_init(&files);

	if (rc != 0)
		return rc;
	rc = posix_spawnattr_init(&attr);
	if (rc != 0) {
		posix_spawn_file_actions_destroy(&files);
		return rc;
	}
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&files, said_fd, STDERR_FILENO);
	if (rc == 0)
		rc = posix_spawn(pid, path, &files, &attr, words.out, environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* What it says until it ends or the time is over; what it leaves running may keep the pipe open. True: it has ended. */
static bool
listen_to(int pid_fd, int said_fd, int64_t until_ns, char *said, size_t size)
{
	size_t len = 0;
	bool ended = false;

	while (!ended) {
		int64_t left_ms = (until_ns - ls_mono_now().ns) / NS_PER_MS;
		struct pollfd fds[] = { { .fd = pid_fd, .events = POLLIN }, { .fd = said_fd, .events = POLLIN } };
		char piece[256];

		if (left_ms <= 0)
			break;
		if (poll(fds, ARRAY_LEN(fds), (int)LS_MIN(left_ms, (int64_t)1000)) < 0 && errno != EINTR)
			break;
		ended = (fds[0].revents & POLLIN) != 0;

		ssize_t n = read(said_fd, piece, sizeof(piece)); /* not blocking */

		for (ssize_t i = 0; i < n && len + 1 < size; i++)
			said[len++] = piece[i] >= ' ' && piece[i] <= '~' ? piece[i] : ' ';
		if (n == 0 && !ended) /* closed: a poll of it would not wait */
			ended = poll(fds, 1, (int)LS_MIN(left_ms, (int64_t)INT32_MAX)) == 1;
	}
	while (len > 0 && said[len - 1] == ' ')
		len--;
	said[len] = '\0';
	return ended;
}

static enum ls_rc
outcome(const char *name, int status, const char *said, struct ls_err *err)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return LS_OK;
	if (said[0] != '\0')
		return ls_err_set(err, LS_E_STATE, "%s", said);
	if (WIFSIGNALED(status))
		return ls_err_set(err, LS_E_STATE, "%s: ended by signal %d", name, WTERMSIG(status));
	return ls_err_set(err, LS_E_STATE, "%s: exit status %d", name, WEXITSTATUS(status));
}

static enum ls_rc
wait_for(const char *name, pid_t pid, int said_fd, int64_t timeout_ns, struct ls_err *err)
{
	char said[SAID_MAX];
	int status = 0;
	int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fd = { .fd = pid_fd, .events = POLLIN };

	if (pid_fd < 0)
		return ls_err_sys(err, errno, "%s: pidfd_open", name);

	bool ended = listen_to(pid_fd, said_fd, ls_mono_now().ns + timeout_ns, said, sizeof(said));

	if (!ended) {
		kill(pid, SIGKILL);
		(void)poll(&fd, 1, KILL_WAIT_MS);
	}
	close(pid_fd);
	if (waitpid(pid, &status, WNOHANG) != pid || !ended)
		return ls_err_set(
		    err, LS_E_TIMEOUT, "%s did not end within %lld s", name, (long long)(timeout_ns / NS_PER_S));
	return outcome(name, status, said, err);
}

enum ls_rc
command_run(const char *const *argv, int64_t timeout_ns, struct ls_err *err)
{
	char path[64];
	int said[2];
	pid_t pid;

	if (!find_program(argv[0], path, sizeof(path)))
		return ls_err_set(err, LS_E_NOTFOUND, "%s is not installed", argv[0]);
	if (pipe2(said, O_CLOEXEC) != 0)
		return ls_err_sys(err, errno, "pipe");

	int rc = start(path, argv, said[1], &pid);

	close(said[1]);
	(void)fcntl(said[0], F_SETFL, O_NONBLOCK);

	enum ls_rc result =
	    rc != 0 ? ls_err_sys(err, rc, "%s: start", path) : wait_for(argv[0], pid, said[0], timeout_ns, err);

	close(said[0]);
	return result;
}
