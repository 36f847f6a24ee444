/* lockstep-runner: does the I/O of one run for lockstep-agent. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "agent/runner/ext_helper.h"
#include "agent/runner/leftover.h"
#include "agent/runner/runner.h"
#include "common/base/env.h"
#include "common/base/log.h"
#include "common/base/version.h"

#define LINK_FD 3
#define MAP_FD  4

static const char what[] =
    "lockstep-runner does the I/O of one run for lockstep-agent, which starts it with descriptor 3 (a socketpair)\n"
    "and descriptor 4 (shared counters). It is of no use by itself; see lockstep-agent --help.\n";

static int
is_socket(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

static int
is_memfd(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

int
main(int argc, char **argv)
{
	struct runner *r = NULL;
	struct ls_err err = { 0 };

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("lockstep-runner %s (%s)\n", lockstep_version, lockstep_build);
		return 0;
	}
	if (argc >= 2 && strcmp(argv[1], "--gate") == 0)
		return ext_gate_main(argc > 2 ? argv[2] : "-", 1);
	if (argc == 3 && strcmp(argv[1], "--gate-end") == 0)
		return ext_gate_main(argv[2], 0);
	if (argc >= 3 && strcmp(argv[1], "--guard") == 0)
		return ext_guard_main(argc - 2, argv + 2);
	if (argc == 4 && strcmp(argv[1], "--probe") == 0)
		return ext_probe_main(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "--leftovers") == 0)
		return leftover_list_main(argv[2]);
	if (argc == 4 && strcmp(argv[1], "--remove-leftover") == 0)
		return leftover_remove_main(argv[2], argv[3]);
	if (argc != 1 || !is_socket(LINK_FD) || !is_memfd(MAP_FD)) {
		(void)fputs(what, stderr);
		return 2;
	}
	/* For looking into a run by hand; it comes through the agent. */
	bool debug = ls_env("LOCKSTEP_RUNNER_DEBUG") != NULL;

	ls_log_init("lockstep-runner", debug ? LS_LOG_DEBUG : LS_LOG_INFO);
	fcntl(LINK_FD, F_SETFD, FD_CLOEXEC);
	fcntl(MAP_FD, F_SETFD, FD_CLOEXEC);
	/* A help only: it follows the agent's thread, and end of file on the socket tells the same. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);

	if (runner_new(LINK_FD, MAP_FD, &r, &err) != LS_OK) {
		ls_log(LS_LOG_ERROR, "cannot start", "error=\"%s\"", err.text);
		return 1;
	}

	int status = runner_run(r);

	runner_free(r);
	return status;
}
