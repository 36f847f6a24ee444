/*
 * Keeps an external program's processes together. fio gives each job a session of its own, so that no group holds them; what they all
 * have in common is that they descend from this process, which adopts them when their parents end (PR_SET_CHILD_SUBREAPER).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/runner/ext_helper.h"
#include "agent/runner/ext_tree.h"

#define KILL_ROUNDS 500 /* of 10 ms: a process in an uninterruptible call may take longer, and then stays */

static void
tell(int status)
{
	struct ext_status s = { .status = status };

	(void)!write(EXT_CONTROL_FD, &s, sizeof(s));
}

/* In the child: waits for the release if the program shall not begin before it, and becomes the program. */
static void
become(bool held, char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	/* Should the guard itself be killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (held && ext_gate_main("start", 1) != 0)
		_exit(127);
	if (held) {
		close(EXT_ARRIVED_FD);
		close(EXT_RELEASE_FD);
	}
	execv(argv[0], argv);
	tell(EXT_NOT_STARTED + errno);
	_exit(127);
}

/* Takes what has ended; true when it was the program itself. */
static bool
reap(pid_t program, bool *told)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == program && !*told) {
			tell(status);
			*told = true;
		}
	return pid < 0 && errno == ECHILD;
}

/* Processes may be born while they are being counted: until nothing is left. */
static void
kill_all(pid_t program)
{
	bool told = true;

	for (int i = 0; i < KILL_ROUNDS; i++) {
		pid_t pids[EXT_TREE_MAX];
		size_t n = ext_tree_list(getpid(), pids, EXT_TREE_MAX);

		for (size_t k = 0; k < n; k++)
			kill(pids[k], SIGKILL);
		if (reap(program, &told))
			return;
		poll(NULL, 0, i < 10 ? 1 : 10);
	}
}

static int
watch(pid_t program, int signals)
{
	bool told = false;

	for (;;) {
		struct pollfd fds[] = { { .fd = EXT_CONTROL_FD, .events = POLLIN },
			{ .fd = signals, .events = POLLIN } };
		struct signalfd_siginfo info;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents != 0) {
			(void)!read(signals, &info, sizeof(info));
			(void)reap(program, &told);
		}
		if (fds[0].revents != 0)
			break;
	}
	kill_all(program);
	return 0;
}

int
ext_guard_main(int argc, char **argv)
{
	bool held = argc > 0 && strcmp(argv[0], "--held") == 0;
	int semaphores = -1;
	sigset_t set;

	argv += held;
	argc -= held;
	if (argc > 1 && strcmp(argv[0], "--semaphores") == 0) {
		semaphores = (int)strtol(argv[1], NULL, 10);
		argv += 2;
		argc -= 2;
	}
	if (argc < 1)
		return 2;
	fcntl(EXT_CONTROL_FD, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1UL);
	/* All signals that ask to end come through the runner, which sees to the files first. */
	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);

	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signals < 0)
		return 1;

	pid_t program = fork();

	if (program < 0) {
		tell(EXT_NOT_STARTED + errno);
		return 1;
	}
	if (program == 0)
		become(held, argv);
	/* Only the program holds them: the runner sees its end on them. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	close(EXT_ARRIVED_FD);
	close(EXT_RELEASE_FD);
	int rc = watch(program, signals);

	/* A runner that was killed could not. */
	if (semaphores >= 0)
		(void)semctl(semaphores, 0, IPC_RMID);
	return rc;
}
