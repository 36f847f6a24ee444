#include "common/net/dial_int.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/base/mem.h"
#include "common/net/resolve_int.h"
#include "common/net/sockaddr_int.h"

/* How long an address may be silent while there is another one to try. */
#define DIAL_NEXT_NS (2 * NS_PER_S)

struct dial {
	struct loop *loop;
	struct addr addr;
	dial_fn fn;
	void *arg;
	struct loop_timer *timer; /* begins it; later: patience with the present address */
	struct resolve *resolve;
	struct addrinfo *list; /* owned */
	struct addrinfo *next; /* the one to try next, within list */
	int fd;
	struct event *event; /* fd is writable: connected or failed */
	char target[SOCKADDR_TEXT_BYTES];
	struct ls_err err; /* why the last address failed */
};

static void dial_try_next(struct dial *dial);

static void
dial_end_attempt(struct dial *dial)
{
	loop_timer_cancel(dial->timer);
	if (dial->event != NULL)
		event_free(dial->event);
	dial->event = NULL;
	if (dial->fd >= 0)
		close(dial->fd);
	dial->fd = -1;
}

static void
dial_finish(struct dial *dial, bool connected)
{
	int fd = connected ? dial->fd : -1;
	struct ls_err err = dial->err;
	dial_fn fn = dial->fn;
	void *arg = dial->arg;

	if (connected)
		dial->fd = -1;
	dial_cancel(dial);
	fn(fd, &err, arg);
}

static void
on_connected(evutil_socket_t fd, short what, void *arg)
{
	struct dial *dial = arg;
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	(void)what;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) != 0)
		errnum = errno;
	if (errnum == 0) {
		dial_finish(dial, true);
		return;
	}
	ls_err_sys(&dial->err, errnum, "connecting to %s", dial->target);
	dial_end_attempt(dial);
	dial_try_next(dial);
}

/* Returns true when the attempt is under way or has succeeded (then dial is gone). */
static bool
dial_connect(struct dial *dial, const struct sockaddr *sa, socklen_t sa_len)
{
	sockaddr_format(sa, sa_len, dial->target, sizeof(dial->target));
	dial->fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (dial->fd < 0) {
		ls_err_sys(&dial->err, errno, "making a socket for %s", dial->target);
		dial_end_attempt(dial);
		return false;
	}
	if (connect(dial->fd, sa, sa_len) == 0) {
		dial_finish(dial, true);
		return true;
	}
	if (errno != EINPROGRESS) {
		ls_err_sys(&dial->err, errno, "connecting to %s", dial->target);
		dial_end_attempt(dial);
		return false;
	}
	dial->event = event_new(loop_event_base(dial->loop), dial->fd, EV_WRITE, on_connected, dial);
	if (dial->event == NULL || event_add(dial->event, NULL) != 0) {
		ls_err_set(&dial->err, LS_E_SYS, "connecting to %s: no event", dial->target);
		dial_end_attempt(dial);
		return false;
	}
	return true;
}

static void
dial_try_next(struct dial *dial)
{
	while (dial->next != NULL) {
		struct addrinfo *ai = dial->next;

		dial->next = ai->ai_next;
		if (dial->next != NULL)
			loop_timer_set(dial->timer, DIAL_NEXT_NS);
		if (dial_connect(dial, ai->ai_addr, ai->ai_addrlen))
			return;
	}
	dial_finish(dial, false);
}

static void
dial_unix(struct dial *dial)
{
	struct sockaddr_un un;

	sockaddr_unix(&dial->addr, &un);
	if (!dial_connect(dial, (const struct sockaddr *)(const void *)&un, sizeof(un)))
		dial_finish(dial, false);
}

static void
on_addresses(struct addrinfo *list, const struct ls_err *err, void *arg)
{
	struct dial *dial = arg;

	dial->resolve = NULL;
	dial->list = list;
	dial->next = list;
	dial->err = *err;
	dial_try_next(dial);
}

static void
dial_begin(struct dial *dial)
{
	enum ls_rc rc;

	if (dial->addr.is_unix) {
		dial_unix(dial);
		return;
	}
	rc = resolve_numeric(dial->addr.host, dial->addr.port, &dial->list, &dial->err);
	if (rc == LS_OK && dial->list != NULL) {
		dial->next = dial->list;
		dial_try_next(dial);
		return;
	}
	if (rc == LS_OK)
		rc = resolve_start(
		    dial->loop, dial->addr.host, dial->addr.port, on_addresses, dial, &dial->resolve, &dial->err);
	if (rc != LS_OK)
		dial_finish(dial, false);
}

static void
on_dial_timer(void *arg)
{
	struct dial *dial = arg;

	if (dial->fd < 0) {
		dial_begin(dial);
		return;
	}
	ls_err_set(&dial->err, LS_E_TIMEOUT, "connecting to %s: no answer", dial->target);
	dial_end_attempt(dial);
	dial_try_next(dial);
}

struct dial *
dial_start(struct loop *loop, const struct addr *addr, dial_fn fn, void *arg)
{
	struct dial *dial = ls_calloc(1, sizeof(*dial));

	dial->loop = loop;
	dial->addr = *addr;
	dial->fn = fn;
	dial->arg = arg;
	dial->fd = -1;
	dial->timer = loop_timer_new(loop, on_dial_timer, dial);
	loop_timer_set(dial->timer, 0);
	return dial;
}

void
dial_cancel(struct dial *dial)
{
	if (dial == NULL)
		return;
	dial_end_attempt(dial);
	resolve_cancel(dial->resolve);
	loop_timer_free(dial->timer);
	if (dial->list != NULL)
		freeaddrinfo(dial->list);
	free(dial);
}
