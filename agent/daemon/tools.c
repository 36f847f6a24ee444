#include "agent/daemon/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "proto/model/tool.h"

#define ANSWER_NS   (3 * NS_PER_S)
#define ANSWER_MAX  8192
#define VERSION_MAX 32

/*
 * How each tells its version, by the option that makes it do nothing else. bonnie++ without an option that it refuses would begin
 * to measure.
 */
static const struct {
	const char *option;
	const char *before; /* what stands before the version */
} asking[TOOL_COUNT] = {
	[TOOL_FIO] = { "--version", "fio-" },
	[TOOL_BONNIE] = { "-?", "Version: " },
	[TOOL_IOZONE] = { "-v", "Version $Revision: " },
};

struct probe {
	enum tool_kind tool;
	const char *path;
	pid_t pid;
	int fd; /* -1: over, or never begun */
	char text[ANSWER_MAX];
	size_t len;
	int errnum; /* why it could not be begun */
};

static const char *
path_of(const struct agent_config *config, enum tool_kind tool)
{
	switch (tool) {
	case TOOL_FIO:
		return config->fio;
	case TOOL_BONNIE:
		return config->bonnie;
	case TOOL_IOZONE:
		return config->iozone;
	case TOOL_COUNT:
		break;
	}
	return "";
}

char *
tools_version_of(const char *name, const char *text)
{
	int tool = field_enum_value(tool_names, name);

	if (tool < 0)
		return NULL;

	const char *at = strstr(text, asking[tool].before);

	if (at == NULL)
		return NULL;
	at += strlen(asking[tool].before);

	size_t len = strspn(at, "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");

	return len > 0 && at[0] >= '0' && at[0] <= '9' ? ls_strndup(at, LS_MIN(len, (size_t)VERSION_MAX)) : NULL;
}

/* The runner's program becomes the tool, so that whatever hangs in starting it is not the agent. */
static void
begin(struct probe *p, const char *runner)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int fds[2];
	char *program = ls_strdup(runner), *path = ls_strdup(p->path), *option = ls_strdup(asking[p->tool].option);
	char probe[] = "--probe";
	char env_path[] = "PATH=/usr/bin:/bin", env_locale[] = "LC_ALL=C";
	char *argv[] = { program, probe, path, option, NULL };
	char *env[] = { env_path, env_locale, NULL };

	p->fd = -1;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
		p->errnum = errno;
		goto out;
	}
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	p->errnum = posix_spawn(&p->pid, program, &actions, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (p->errnum != 0)
		close(fds[0]);
	else
		p->fd = fds[0];
out:
	free(program);
	free(path);
	free(option);
}

static void
take(struct probe *p)
{
	char rest[1024];
	size_t room = sizeof(p->text) - 1 - p->len;
	ssize_t n = room > 0 ? read(p->fd, p->text + p->len, room) : read(p->fd, rest, sizeof(rest));

	if (n > 0 && room > 0)
		p->len += (size_t)n;
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	close(p->fd);
	p->fd = -1;
}

/* All answers, until the deadline. What has not answered is killed, and left behind if it hangs in the kernel. */
static void
collect(struct probe *probes, size_t count)
{
	int64_t until_ns = ls_mono_now().ns + ANSWER_NS;

	for (;;) {
		struct pollfd fds[TOOL_COUNT];
		int64_t left_ns = until_ns - ls_mono_now().ns;
		bool open = false;

		for (size_t i = 0; i < count; i++) {
			fds[i] = (struct pollfd){ .fd = probes[i].fd, .events = POLLIN };
			open = open || probes[i].fd >= 0;
		}
		if (!open || left_ns <= 0)
			break;
		if (poll(fds, (nfds_t)count, (int)(left_ns / NS_PER_MS) + 1) < 0 && errno != EINTR)
			break;
		for (size_t i = 0; i < count; i++)
			if (fds[i].fd >= 0 && fds[i].revents != 0)
				take(&probes[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (probes[i].pid <= 0)
			continue;
		/* also one that has closed its output and goes on */
		kill(-probes[i].pid, SIGKILL);
		for (int tries = 0; waitpid(probes[i].pid, NULL, WNOHANG) == 0 && tries < 100; tries++)
			ls_mono_sleep_until((struct ls_mono){ ls_mono_now().ns + NS_PER_MS });
	}
}

static char *
problem_of(const struct probe *p, const char *version)
{
	char why[128];

	if (p->errnum != 0)
		return ls_asprintf("cannot be asked: %s", ls_strerror(p->errnum, why, sizeof(why)));
	if (p->fd >= 0)
		return ls_asprintf("does not tell its version within %lld s", (long long)(ANSWER_NS / NS_PER_S));
	if (version == NULL && p->len == 0)
		return ls_strdup("cannot be executed, or says nothing");
	if (version == NULL)
		return ls_asprintf("does not tell its version but says \"%.*s\"",
		    (int)LS_MIN(strcspn(p->text, "\n"), (size_t)100), p->text);
	if (tool_version_older(version, tool_info(p->tool)->oldest))
		return ls_asprintf("version %s is too old to wait at a barrier: %s or newer is needed", version,
		    tool_info(p->tool)->oldest);
	return NULL;
}

static void
fill(struct probe *p, struct tool_facts *out)
{
	field_struct_init(&tool_facts_desc, out);
	free(out->name);
	out->name = ls_strdup(tool_names[p->tool]);
	out->path = ls_strdup(p->path);
	for (size_t i = 0; i < p->len; i++)
		if ((p->text[i] < ' ' || p->text[i] > '~') && p->text[i] != '\n')
			p->text[i] = '?';
	out->version = tools_version_of(out->name, p->text);
	out->problem = problem_of(p, out->version);
	if (out->problem != NULL)
		ls_log(LS_LOG_WARN, "an external program cannot be used", "tool=%s path=\"%s\" problem=\"%s\"",
		    out->name, out->path, out->problem);
}

void
tools_probe(const struct agent_config *config, struct node_facts *facts)
{
	struct probe *probes = ls_calloc(TOOL_COUNT, sizeof(*probes));
	size_t count = 0;

	for (size_t i = 0; i < TOOL_COUNT; i++) {
		const char *path = path_of(config, (enum tool_kind)i);

		if (path[0] == '\0')
			continue;
		probes[count].tool = (enum tool_kind)i;
		probes[count].path = path;
		begin(&probes[count++], config->runner);
	}
	collect(probes, count);
	for (size_t i = 0; i < facts->tools_count; i++)
		field_struct_fini(&tool_facts_desc, &facts->tools[i]);
	free(facts->tools);
	facts->tools = count > 0 ? ls_calloc(count, sizeof(*facts->tools)) : NULL;
	facts->tools_count = count;
	for (size_t i = 0; i < count; i++) {
		fill(&probes[i], &facts->tools[i]);
		if (probes[i].fd >= 0)
			close(probes[i].fd);
	}
	free(probes);
}
