#include "agent/daemon/helper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/mem.h"

struct helper {
	struct loop *loop;
	const char *path;
	int fd; /* -1: not connected */
	struct loop_fd *watch;
	struct loop_timer *limit; /* also for a failure that is told in the next turn */
	helper_fn fn;             /* NULL: nothing is asked */
	void *arg;
	int64_t timeout_ns;
	struct ls_err failed; /* rc LS_OK: the time is over when the timer fires */
};

static void
disconnect(struct helper *h)
{
	loop_fd_free(h->watch);
	h->watch = NULL;
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

/* The request is over. */
static void
answer(struct helper *h, const struct ls_err *err, const char *body)
{
	helper_fn fn = h->fn;

	loop_timer_cancel(h->limit);
	h->fn = NULL;
	if (fn != NULL)
		fn(err, body, h->arg);
}

static void
fail(struct helper *h, const struct ls_err *err)
{
	struct ls_err copy = *err;

	disconnect(h);
	ls_err_wrap(&copy, "root helper (%s)", h->path);
	answer(h, &copy, "");
}

static void
on_limit(void *arg)
{
	struct helper *h = arg;
	struct ls_err err = h->failed;

	if (err.rc == LS_OK)
		ls_err_set(&err, LS_E_TIMEOUT, "no answer within %lld s", (long long)(h->timeout_ns / NS_PER_S));
	fail(h, &err);
}

static void
on_packet(void *arg)
{
	struct helper *h = arg;
	char packet[HELPER_PACKET_MAX], body[HELPER_PACKET_MAX];
	struct ls_err err;
	ssize_t n = recv(h->fd, packet, sizeof(packet), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		(void)(n < 0 ? ls_err_sys(&err, errno, "receive")
			     : ls_err_set(&err, LS_E_CLOSED,
				   "it has closed the connection (journalctl -t lockstep-helper says why)"));
		fail(h, &err);
		return;
	}
	enum ls_rc rc = helper_answer_parse(packet, (size_t)n, body, sizeof(body), &err);

	if (rc == LS_E_PROTO || h->fn == NULL) {
		(void)ls_err_set(&err, LS_E_PROTO, "it has said something that is no answer");
		fail(h, &err);
		return;
	}
	answer(h, rc == LS_OK ? NULL : &err, body);
}

static enum ls_rc
dial(struct helper *h, struct ls_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(h->path) >= sizeof(addr.sun_path))
		return ls_err_set(err, LS_E_INVALID, "the path is too long");
	memcpy(addr.sun_path, h->path, strlen(h->path));
	h->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0)
		return ls_err_sys(err, errno, "socket");
	if (connect(h->fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		return ls_err_sys(err, errno, "connect");
	h->watch = loop_fd_new(h->loop, h->fd, on_packet, h);
	return h->watch != NULL ? LS_OK : ls_err_set(err, LS_E_SYS, "cannot be watched");
}

struct helper *
helper_new(struct loop *loop, const char *path)
{
	struct helper *h = ls_calloc(1, sizeof(*h));

	h->loop = loop;
	h->path = path;
	h->fd = -1;
	h->limit = loop_timer_new(loop, on_limit, h);
	return h;
}

void
helper_ask(struct helper *h, const struct helper_request *request, int64_t timeout_ns, helper_fn fn, void *arg)
{
	char packet[HELPER_PATH_MAX + 64];
	size_t len = helper_request_format(request, packet, sizeof(packet));

	h->fn = fn;
	h->arg = arg;
	h->timeout_ns = timeout_ns;
	h->failed = (struct ls_err){ 0 };
	if (len == 0)
		(void)ls_err_set(&h->failed, LS_E_INVALID, "the request does not fit");
	else if (h->fd < 0)
		(void)!dial(h, &h->failed);
	if (h->failed.rc == LS_OK && send(h->fd, packet, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
		(void)ls_err_sys(&h->failed, errno, "send");
	loop_timer_set(h->limit, h->failed.rc == LS_OK ? timeout_ns : 0);
}

bool
helper_is_asked(const struct helper *h)
{
	return h->fn != NULL;
}

void
helper_free(struct helper *h)
{
	if (h == NULL)
		return;
	disconnect(h);
	loop_timer_free(h->limit);
	free(h);
}
