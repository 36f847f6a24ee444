#include "agent/runner/ext_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/runner/ext_helper.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#define ARGS_MAX 64
#define GATE_MAX (64U << 10)
#define END_NS   (6 * NS_PER_S) /* that a guard may take to end everything */
#define STRAGGLER_NS                                                                                                   \
	(200 * NS_PER_MS) /* streams stay open when a grandchild of the program holds them: not waited for longer */
#define SHOWN_LINES 3

enum { STREAM_OUT = 0, STREAM_ERR, STREAM_GATE, STREAM_CONTROL, STREAMS };

struct ext_process {
	pid_t guard;
	int fd[STREAMS]; /* to read from; -1: closed */
	int in_fd, release_fd;
	struct sink out, err, gate;
	uint64_t cut, heard, said;
	bool ended;
	int status;
	int64_t ended_ns; /* when that was heard */
};

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- start -------------------------------------------------------------------------------------------------------- */

/* Ends for the guard, by number, and what the runner keeps. */
struct plumbing {
	int child[EXT_RELEASE_FD + 1];
};

static enum ls_rc
make_pipe(int *reader, int *writer, struct ls_err *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return ls_err_sys(err, errno, "pipe");
	*reader = fds[0];
	*writer = fds[1];
	return LS_OK;
}

static enum ls_rc
plumb(struct ext_process *p, struct plumbing *pl, struct ls_err *err)
{
	int pair[2];
	enum ls_rc rc;

	for (size_t i = 0; i < ARRAY_LEN(pl->child); i++)
		pl->child[i] = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return ls_err_sys(err, errno, "socketpair");
	p->fd[STREAM_CONTROL] = pair[0];
	pl->child[EXT_CONTROL_FD] = pair[1];
	rc = make_pipe(&pl->child[STDIN_FILENO], &p->in_fd, err);
	if (rc == LS_OK)
		rc = make_pipe(&p->fd[STREAM_OUT], &pl->child[STDOUT_FILENO], err);
	if (rc == LS_OK)
		rc = make_pipe(&p->fd[STREAM_ERR], &pl->child[STDERR_FILENO], err);
	if (rc == LS_OK)
		rc = make_pipe(&p->fd[STREAM_GATE], &pl->child[EXT_ARRIVED_FD], err);
	if (rc == LS_OK)
		rc = make_pipe(&pl->child[EXT_RELEASE_FD], &p->release_fd, err);
	for (size_t i = 0; i < STREAMS; i++)
		if (p->fd[i] >= 0)
			fcntl(p->fd[i], F_SETFL, O_NONBLOCK);
	return rc;
}

/* The runner's own program, by the file that it was started from. */
static enum ls_rc
own_program(char *buf, size_t len, struct ls_err *err)
{
	ssize_t n = readlink("/proc/self/exe", buf, len - 1);

	if (n < 0)
		return ls_err_sys(err, errno, "/proc/self/exe");
	buf[n] = '\0';
	return LS_OK;
}

/* Arguments and environment are only read by posix_spawn. */
static char *
borrow(const char *text)
{
	union {
		const char *in;
		char *out;
	} u = { .in = text };

	return u.out;
}

static enum ls_rc
spawn(struct ext_process *p, const struct ext_start *start, const struct plumbing *pl, struct ls_err *err)
{
	char program[PATH_MAX];
	char *argv[ARGS_MAX + 6];
	char set[16];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, pipe_signal;
	size_t n = 0;
	enum ls_rc rc = own_program(program, sizeof(program), err);

	if (rc != LS_OK)
		return rc;
	argv[n++] = program;
	argv[n++] = borrow("--guard");
	if (start->held)
		argv[n++] = borrow("--held");
	if (start->semaphores >= 0) {
		snprintf(set, sizeof(set), "%d", start->semaphores);
		argv[n++] = borrow("--semaphores");
		argv[n++] = set;
	}
	for (size_t i = 0; i < ARGS_MAX && start->argv[i] != NULL; i++)
		argv[n++] = borrow(start->argv[i]);
	argv[n] = NULL;

	sigemptyset(&none);
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	/* First out of the way of each other's numbers. */
	int high[ARRAY_LEN(pl->child)];
	int cwd = fcntl(start->cwd_fd, F_DUPFD_CLOEXEC, 32);
	posix_spawn_file_actions_addfchdir_np(&actions, cwd);
	for (size_t i = 0; i < ARRAY_LEN(high); i++) {
		high[i] = pl->child[i] < 0 ? -1 : fcntl(pl->child[i], F_DUPFD_CLOEXEC, 32);
		if (high[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, high[i], (int)i);
		else
			posix_spawn_file_actions_addclose(&actions, (int)i);
	}
	posix_spawn_file_actions_addclosefrom_np(&actions, EXT_RELEASE_FD + 1);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe_signal);

	char *const *env = (char *const *)(uintptr_t)start->env;
	int errnum = posix_spawn(&p->guard, program, &actions, &attr, argv, env);

	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < ARRAY_LEN(high); i++)
		close_fd(&high[i]);
	close_fd(&cwd);
	if (errnum == 0)
		return LS_OK;
	p->guard = 0;
	return ls_err_sys(err, errnum, "%s", program);
}

enum ls_rc
ext_process_start(const struct ext_start *start, struct ext_process **out, struct ls_err *err)
{
	struct ext_process *p = ls_calloc(1, sizeof(*p));
	struct plumbing pl;

	for (size_t i = 0; i < STREAMS; i++)
		p->fd[i] = -1;
	p->in_fd = p->release_fd = -1;

	enum ls_rc rc = plumb(p, &pl, err);

	if (rc == LS_OK)
		rc = spawn(p, start, &pl, err);
	for (size_t i = 0; i < ARRAY_LEN(pl.child); i++)
		close_fd(&pl.child[i]);
	if (rc != LS_OK) {
		ext_process_free(p);
		return ls_err_wrap(err, "%s", start->argv[0]);
	}
	*out = p;
	return LS_OK;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

/* Standard output is kept from its beginning, standard error to its end. */
static void
keep(struct ext_process *p, size_t stream, const char *data, size_t len)
{
	struct sink *s = stream == STREAM_OUT ? &p->out : stream == STREAM_ERR ? &p->err : &p->gate;
	size_t max = stream == STREAM_OUT ? EXT_OUT_MAX : stream == STREAM_ERR ? EXT_ERR_MAX : GATE_MAX;

	p->heard += len;
	if (stream == STREAM_ERR && s->len + len > max && s->len > max / 2) {
		size_t drop = s->len - max / 2;

		memmove(s->text, s->text + drop, s->len - drop + 1);
		s->len -= drop;
		p->cut += drop;
	}

	size_t room = max > s->len ? max - s->len : 0;

	sink_add(s, data, LS_MIN(len, room));
	p->cut += len - LS_MIN(len, room);
}

static void
read_control(struct ext_process *p)
{
	struct ext_status s;
	ssize_t n = read(p->fd[STREAM_CONTROL], &s, sizeof(s));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == (ssize_t)sizeof(s)) {
		if (!p->ended)
			p->status = s.status;
	} else {
		/* the guard is gone before it could say how the program ended */
		close_fd(&p->fd[STREAM_CONTROL]);
		if (!p->ended)
			p->status = SIGKILL;
	}
	if (!p->ended)
		p->ended_ns = ls_mono_now().ns;
	p->ended = true;
}

static void
read_stream(struct ext_process *p, size_t stream)
{
	char buf[65536];

	for (;;) {
		ssize_t n = read(p->fd[stream], buf, sizeof(buf));

		if (n > 0) {
			keep(p, stream, buf, (size_t)n);
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			close_fd(&p->fd[stream]);
		return;
	}
}

void
ext_process_wait(struct ext_process *p, int64_t until_ns)
{
	struct pollfd fds[STREAMS];
	int64_t now_ns = ls_mono_now().ns;

	if (p->ended)
		until_ns = LS_MIN(until_ns, p->ended_ns + STRAGGLER_NS);
	for (size_t i = 0; i < STREAMS; i++)
		fds[i] = (struct pollfd){ .fd = p->fd[i], .events = POLLIN };

	int64_t left_ns = LS_MAX(until_ns - now_ns, (int64_t)0);
	struct timespec left = { .tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S };

	if (ppoll(fds, STREAMS, &left, NULL) <= 0)
		return;
	for (size_t i = 0; i < STREAMS; i++) {
		if (fds[i].revents == 0)
			continue;
		if (i == STREAM_CONTROL)
			read_control(p);
		else
			read_stream(p, i);
	}
}

const struct sink *
ext_process_out(const struct ext_process *p)
{
	return &p->out;
}

const struct sink *
ext_process_err(const struct ext_process *p)
{
	return &p->err;
}

uint64_t
ext_process_cut(const struct ext_process *p)
{
	return p->cut;
}

const char *
ext_process_gate(const struct ext_process *p)
{
	return p->gate.text != NULL ? p->gate.text : "";
}

void
ext_process_gate_clear(struct ext_process *p)
{
	sink_free(&p->gate);
}

enum ls_rc
ext_process_let_go(struct ext_process *p, uint64_t count, struct ls_err *err)
{
	char bytes[256] = { 0 };

	while (count > 0) {
		ssize_t n = write(p->release_fd, bytes, (size_t)LS_MIN(count, (uint64_t)sizeof(bytes)));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_err_sys(err, errno, "release");
		count -= (uint64_t)n;
	}
	return LS_OK;
}

enum ls_rc
ext_process_say(struct ext_process *p, const char *text, struct ls_err *err)
{
	ssize_t n;

	do
		n = write(p->in_fd, text, strlen(text));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return ls_err_sys(err, errno, "its standard input");
	p->said += (uint64_t)n;
	return LS_OK;
}

bool
ext_process_ended(const struct ext_process *p, int *status)
{
	bool read_all = p->fd[STREAM_OUT] < 0 && p->fd[STREAM_ERR] < 0;

	if (!p->ended || (!read_all && ls_mono_now().ns < p->ended_ns + STRAGGLER_NS))
		return false;
	*status = p->status;
	return true;
}

static uint64_t
less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

void
ext_process_counts(const struct ext_process *p, struct ext_counts *out)
{
	ext_tree_counts(p->guard, out);
	/* what went through our pipes is talk, not work */
	out->write_bytes = less(out->write_bytes, p->heard);
	out->read_bytes = less(out->read_bytes, p->said);
}

/* --- last words --------------------------------------------------------------------------------------------------- */

const char *
ext_process_last_words(const struct ext_process *p, char *buf, size_t len)
{
	const struct sink *s = p->err.len > 0 ? &p->err : &p->out;
	size_t from, end = s->len, n = 0;
	int lines = 0;

	while (end > 0 && (s->text[end - 1] == '\n' || s->text[end - 1] == ' '))
		end--;
	for (from = end; from > 0 && end - from < len - 1; from--)
		if (s->text[from - 1] == '\n' && ++lines == SHOWN_LINES)
			break;
	for (; from < end && n + 1 < len; from++) {
		char c = s->text[from];

		buf[n++] = c == '\n' ? '|' : c >= ' ' && c <= '~' ? c : '?';
	}
	buf[n] = '\0';
	return buf;
}

/* --- end ---------------------------------------------------------------------------------------------------------- */

void
ext_process_free(struct ext_process *p)
{
	if (p == NULL)
		return;
	/* End of file tells the guard to end everything. */
	close_fd(&p->fd[STREAM_CONTROL]);
	if (p->guard > 0) {
		int64_t until_ns = ls_mono_now().ns + END_NS;

		while (waitpid(p->guard, NULL, WNOHANG) == 0) {
			if (ls_mono_now().ns >= until_ns) {
				kill(p->guard, SIGKILL);
				break;
			}
			ls_mono_sleep_until((struct ls_mono){ ls_mono_now().ns + NS_PER_MS });
		}
	}
	for (size_t i = 0; i < STREAMS; i++)
		close_fd(&p->fd[i]);
	close_fd(&p->in_fd);
	close_fd(&p->release_fd);
	sink_free(&p->out);
	sink_free(&p->err);
	sink_free(&p->gate);
	free(p);
}
