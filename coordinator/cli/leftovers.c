#include "coordinator/cli/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/field.h"
#include "common/base/mem.h"
#include "common/base/sink.h"

#define LOOK_NS    (30 * NS_PER_S)
#define REMOVE_NS  (3600 * NS_PER_S)
#define ANSWER_MAX (16 << 20)
#define FIELDS     6
#define YOUNG_NS   (10 * 60 * NS_PER_S) /* longer than any check takes */

extern char **environ;

/* lockstep-runner beside this program, be it in build/bin or where it is installed. Heap, or NULL. */
static char *
find_runner(void)
{
	static const char *const folders[] = { "", "/../libexec/lockstep", "/../lib/lockstep" };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return NULL;
	self[n] = '\0';

	char *slash = strrchr(self, '/');

	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		char *program = ls_asprintf("%s%s/lockstep-runner", self, folders[i]);

		if (access(program, X_OK) == 0)
			return program;
		free(program);
	}
	return NULL;
}

static enum ls_rc
start(char *const argv[], pid_t *pid, int *from, struct ls_err *err)
{
	posix_spawn_file_actions_t actions;
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return ls_err_sys(err, errno, "pipe");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDERR_FILENO);

	int errnum = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);

	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fds[1]);
	if (errnum != 0) {
		close(pipe_fds[0]);
		return ls_err_sys(err, errnum, "%s", argv[0]);
	}
	*from = pipe_fds[0];
	return LS_OK;
}

/* All that comes until the end, or the deadline. */
static enum ls_rc
read_all(int fd, int64_t until_ns, struct sink *out, struct ls_err *err)
{
	for (;;) {
		char buf[8192];
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left_ms = (until_ns - ls_mono_now().ns) / NS_PER_MS;
		int ready = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ls_err_set(err, LS_E_TIMEOUT, "the volume gives no answer");

		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? LS_OK : ls_err_sys(err, errno, "read");
		if (out->len + (size_t)n > ANSWER_MAX)
			return ls_err_set(err, LS_E_LIMIT, "too much is left there to be listed");
		sink_add(out, buf, (size_t)n);
	}
}

/* Runs lockstep-runner with these words; *out is its output, heap. */
static enum ls_rc
ask_runner(const char *option, const char *path, const char *run, int64_t patience_ns, char **out, int *status,
    struct ls_err *err)
{
	char *program = find_runner();
	struct sink text = { 0 };
	pid_t pid = -1;
	int from = -1;

	if (program == NULL)
		return ls_err_set(err, LS_E_NOTFOUND,
		    "lockstep-runner is not installed here; clean works on a machine that is a node and has the volume "
		    "mounted");

	char *words[] = { program, ls_strdup(option), ls_strdup(path), run != NULL ? ls_strdup(run) : NULL, NULL };
	enum ls_rc rc = start(words, &pid, &from, err);

	if (rc == LS_OK) {
		rc = read_all(from, ls_mono_now().ns + patience_ns, &text, err);
		close(from);
		/* What hangs in the kernel cannot be waited for. */
		if (rc != LS_OK)
			kill(pid, SIGKILL);
		else
			waitpid(pid, status, 0);
	}
	for (size_t i = 0; words[i] != NULL; i++)
		free(words[i]);
	/* It names files of others: nothing of that goes to a terminal as it is. */
	for (char *p = text.text; rc == LS_OK && p != NULL && *p != '\0'; p++)
		if ((*p < ' ' && *p != '\n' && *p != '\t') || *p > '~')
			*p = '?';
	if (rc == LS_OK)
		*out = text.text != NULL ? text.text : ls_strdup("");
	else
		sink_free(&text);
	return rc;
}

static bool
take_number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

/* "2026-11-30T15:04:05.123Z" */
static int64_t
age_of(const char *created, int64_t now_ns)
{
	struct tm tm = { 0 };
	const char *end = strptime(created, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end == NULL || (*end != '.' && *end != 'Z'))
		return LS_UNKNOWN_I64;
	return now_ns - (int64_t)timegm(&tm) * NS_PER_S;
}

static bool
parse_line(char *line, int64_t now_ns, struct leftover *out)
{
	char *fields[FIELDS];

	for (size_t i = 0; i < FIELDS; i++)
		if ((fields[i] = strsep(&line, "\t")) == NULL || *fields[i] == '\0')
			return false;
	*out = (struct leftover){
		.run = fields[0],
		.created = fields[1],
		.nodes = fields[4],
		.problem = strcmp(fields[5], "-") == 0 ? NULL : fields[5],
		.age_ns = age_of(fields[1], now_ns),
	};
	return line == NULL && take_number(fields[2], &out->bytes) && take_number(fields[3], &out->files);
}

enum ls_rc
leftovers_parse(char *text, int64_t now_ns, struct leftovers *out, struct ls_err *err)
{
	struct leftovers l = { .text = text };

	for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (*line == '\0')
			continue;
		l.list = ls_grow(l.list, l.count, sizeof(*l.list));
		if (!parse_line(line, now_ns, &l.list[l.count])) {
			leftovers_free(&l);
			return ls_err_set(
			    err, LS_E_INVALID, "lockstep-runner's answer makes no sense; is it of another version?");
		}
		l.count++;
	}
	*out = l;
	return LS_OK;
}

enum ls_rc
leftovers_find(const char *path, struct leftovers *out, struct ls_err *err)
{
	char *text = NULL;
	int status = 0;
	enum ls_rc rc = ask_runner("--leftovers", path, NULL, LOOK_NS, &text, &status, err);

	if (rc != LS_OK)
		return rc;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		text[strcspn(text, "\n")] = '\0';
		ls_err_set(err, LS_E_INVALID, "%s", *text != '\0' ? text : "lockstep-runner failed");
		free(text);
		return LS_E_INVALID;
	}
	return leftovers_parse(text, ls_wall_now().ns, out, err);
}

void
leftovers_free(struct leftovers *l)
{
	free(l->list);
	free(l->text);
	*l = (struct leftovers){ 0 };
}

enum ls_rc
leftovers_remove(const char *path, const char *run, char **left, struct ls_err *err)
{
	char *text = NULL;
	int status = 0;
	enum ls_rc rc = ask_runner("--remove-leftover", path, run, REMOVE_NS, &text, &status, err);

	*left = NULL;
	if (rc != LS_OK)
		return rc;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		free(text);
		return LS_OK;
	}
	*left = text;
	return LS_OK;
}

const char *
leftovers_refusal(const struct leftover *l, bool forced)
{
	if (strcmp(l->nodes, "-") == 0)
		return l->problem != NULL ? l->problem : "no marker of lockstep";
	if (l->state == LEFTOVER_ACTIVE)
		return "the run has not ended";
	if (forced || l->state == LEFTOVER_ENDED)
		return NULL;
	if (l->state == LEFTOVER_NOT_ASKED)
		return "lockstepd could not be asked whether the run has ended (--server, or --force)";
	if (l->age_ns == LS_UNKNOWN_I64 || l->age_ns < YOUNG_NS)
		return "lockstepd does not know the run, and it is younger than 10 min: it may be a check, or another "
		       "lockstepd's (--force)";
	return NULL;
}
