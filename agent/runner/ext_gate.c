/* A program's stand-in at the barrier. Called by fio before each job and by iozone before each test. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/runner/ext_helper.h"

int
ext_gate_main(const char *name, int waits)
{
	char line[80];
	char byte;
	ssize_t n;

	/* One write of less than PIPE_BUF: lines of several processes do not mix. */
	int len = snprintf(line, sizeof(line), "%s%.60s\n", waits ? "" : "=", name);

	if (len <= 0 || write(EXT_ARRIVED_FD, line, (size_t)len) != len)
		return 1;
	if (!waits)
		return 0;
	do
		n = read(EXT_RELEASE_FD, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : 1;
}

int
ext_probe_main(char *program, char *option)
{
	struct rlimit nothing = { 0, 0 };
	char *argv[] = { program, option, NULL };

	/* A write beyond that raises SIGXFSZ; pipes are not meant. */
	(void)setrlimit(RLIMIT_FSIZE, &nothing);
	(void)setrlimit(RLIMIT_CORE, &nothing);
	if (chdir("/") != 0)
		return 1;
	execv(program, argv);
	(void)fprintf(stderr, "%s: %s\n", program, strerrordesc_np(errno));
	return 127;
}
