#include "common/net/http.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/net/listen.h"
#include "common/net/sockaddr_int.h"
#include "common/net/transport_int.h"

#define LINGER_NS (2 * NS_PER_S)

enum stage {
	STAGE_SHAKING = 0, /* TLS */
	STAGE_READING,     /* a head */
	STAGE_WAITING,     /* for the answer */
	STAGE_WRITING,
	STAGE_LINGERING, /* the last answer is sent: what still comes is thrown away, or the socket would be reset and the answer lost */
	STAGE_CLOSED, /* waits for the end of the turn */
};

struct http_conn {
	struct http_server *server;
	struct http_conn *next, *prev; /* the oldest first */
	struct transport transport;
	struct event *on_read, *on_write;
	struct loop_timer *timer;
	struct evbuffer *in, *out;
	enum stage stage;
	uint64_t number; /* of the request that is under way */
	struct http_head head;
	struct identity peer;
	char address[SOCKADDR_TEXT_BYTES];
	size_t left_at_check; /* bytes of the answer when its reading was looked at last */
};

struct http_server {
	struct loop *loop;
	struct tls_ctx *tls;
	struct listener *listener;
	http_fn fn;
	void *arg;
	struct http_conn *first, *last;
	size_t count, pending; /* pending: bytes of answers */
	uint64_t numbers;
	struct ls_mono second; /* of which accepted is the count */
	size_t accepted;
	struct log_budget refusals;
};

/* --- life -------------------------------------------------------------------------------------------------------------- */

static void
free_conn(void *arg)
{
	struct http_conn *c = arg;

	loop_timer_free(c->timer);
	if (c->on_read != NULL)
		event_free(c->on_read);
	if (c->on_write != NULL)
		event_free(c->on_write);
	transport_fini(&c->transport);
	if (c->in != NULL)
		evbuffer_free(c->in);
	if (c->out != NULL)
		evbuffer_free(c->out);
	free(c);
}

static void
unlink_conn(struct http_conn *c)
{
	struct http_server *s = c->server;

	*(c->prev != NULL ? &c->prev->next : &s->first) = c->next;
	*(c->next != NULL ? &c->next->prev : &s->last) = c->prev;
	s->count--;
	s->pending -= evbuffer_get_length(c->out);
}

static void
close_conn(struct http_conn *c)
{
	if (c->stage == STAGE_CLOSED)
		return;
	unlink_conn(c);
	c->stage = STAGE_CLOSED;
	event_del(c->on_read);
	event_del(c->on_write);
	loop_timer_cancel(c->timer);
	transport_close(&c->transport);
	loop_defer(c->server->loop, free_conn, c);
}

/* --- answers ------------------------------------------------------------------------------------------------------------ */

static const char *
reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 413:
		return "Content Too Large";
	case 414:
		return "URI Too Long";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Internal Server Error";
	}
}

static void
write_head(struct http_conn *c, const struct http_answer *a)
{
	evbuffer_add_printf(c->out, "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\nConnection: %s\r\n", a->status,
	    reason_of(a->status), a->len, c->head.keep_alive ? "keep-alive" : "close");
	if (a->type != NULL)
		evbuffer_add_printf(c->out, "Content-Type: %s\r\n", a->type);
	evbuffer_add_printf(c->out,
	    "Cache-Control: %s\r\nContent-Security-Policy: %s\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: "
	    "DENY\r\n"
	    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
	    "Cross-Origin-Opener-Policy: same-origin\r\n%s\r\n",
	    a->cache != NULL ? a->cache : "no-store",
	    a->policy != NULL ? a->policy : "default-src 'none'; frame-ancestors 'none'",
	    a->more != NULL ? a->more : "");
}

static void
free_body(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	free(arg);
}

/* The body is taken over and, unlike the head, not copied. */
static void
begin_answer(struct http_conn *c, struct http_answer *a)
{
	size_t before = evbuffer_get_length(c->out);

	write_head(c, a);
	if (!c->head.head_only && a->len > 0 &&
	    evbuffer_add_reference(c->out, a->body, a->len, free_body, a->body) == 0)
		a->body = NULL;
	free(a->body);
	a->body = NULL;
	c->server->pending += evbuffer_get_length(c->out) - before;
	c->stage = STAGE_WRITING;
	c->left_at_check = evbuffer_get_length(c->out);
	loop_timer_set(c->timer, HTTP_DRAIN_NS);
	event_add(c->on_write, NULL); /* the caller may stand anywhere: the loop goes on from here */
}

static void
refuse(struct http_conn *c, int status)
{
	struct http_answer a = { .status = status, .more = status == 405 ? "Allow: GET, HEAD\r\n" : NULL };

	c->head.keep_alive = false;
	begin_answer(c, &a);
}

static struct http_conn *
find(const struct http_server *s, uint64_t number)
{
	for (struct http_conn *c = s->first; c != NULL; c = c->next)
		if (c->stage == STAGE_WAITING && c->number == number)
			return c;
	return NULL;
}

void
http_answer(struct http_server *s, uint64_t number, struct http_answer *answer)
{
	struct http_conn *c = find(s, number);

	if (c == NULL) {
		free(answer->body);
		return;
	}
	if (s->pending + answer->len > HTTP_PENDING_MAX) {
		free(answer->body);
		*answer = (struct http_answer){ .status = 503, .more = "Retry-After: 10\r\n" };
	}
	begin_answer(c, answer);
}

/* --- input --------------------------------------------------------------------------------------------------------------- */

static void
dispatch(struct http_conn *c)
{
	struct http_server *s = c->server;
	const struct http_request request = {
		.number = c->number = ++s->numbers,
		.head = &c->head,
		.peer = &c->peer,
		.address = c->address,
	};

	c->stage = STAGE_WAITING;
	event_del(c->on_read); /* what comes next waits in the socket */
	loop_timer_cancel(c->timer);
	s->fn(&request, s->arg);
}

static void
read_heads(struct http_conn *c)
{
	size_t len = LS_MIN(evbuffer_get_length(c->in), (size_t)HTTP_HEAD_MAX + 1);
	const char *text = len > 0 ? (const char *)evbuffer_pullup(c->in, (ev_ssize_t)len) : NULL;
	size_t end = text != NULL ? http_head_end(text, len) : 0;
	int status;

	if (end == 0 && len <= HTTP_HEAD_MAX)
		return;
	status = end == 0 ? 431 : http_head_parse(text, end, &c->head);
	evbuffer_drain(c->in, end == 0 ? len : end);
	if (status != 0)
		refuse(c, status);
	else
		dispatch(c);
}

/* Returns false when the connection is gone. */
static bool
shake(struct http_conn *c)
{
	struct ls_err err = { 0 };
	char why[256];
	enum io_rc rc = transport_handshake(&c->transport, &err);

	if (rc == IO_AGAIN)
		return true;
	if (rc == IO_OK && transport_peer(&c->transport, &c->peer, &err) == LS_OK) {
		c->stage = STAGE_READING;
		return true;
	}
	if (log_budget_take(&c->server->refusals, ls_mono_now()))
		ls_log(LS_LOG_INFO, "web client not let in", "peer=%s why=%s", c->address,
		    ls_log_escape(err.text, why, sizeof(why)));
	close_conn(c);
	return false;
}

static void
take_input(struct http_conn *c)
{
	while (c->stage == STAGE_READING) {
		struct ls_err err = { 0 };
		bool fresh = evbuffer_get_length(c->in) == 0;
		enum io_rc rc = transport_read(&c->transport, c->in, &err);

		if (rc == IO_AGAIN)
			return;
		if (rc != IO_OK) {
			close_conn(c);
			return;
		}
		if (fresh) /* one deadline for the whole head, however its bytes come */
			loop_timer_set(c->timer, HTTP_HEAD_NS);
		read_heads(c);
	}
}

/* --- output -------------------------------------------------------------------------------------------------------------- */

static void
answer_sent(struct http_conn *c)
{
	event_del(c->on_write);
	if (!c->head.keep_alive) {
		transport_shutdown(&c->transport);
		c->stage = STAGE_LINGERING;
		event_add(c->on_read, NULL);
		loop_timer_set(c->timer, LINGER_NS);
		return;
	}
	c->stage = STAGE_READING;
	event_add(c->on_read, NULL);
	loop_timer_set(c->timer, evbuffer_get_length(c->in) > 0 ? HTTP_HEAD_NS : HTTP_IDLE_NS);
	read_heads(c);
	if (c->stage == STAGE_READING && transport_has_pending(&c->transport))
		take_input(c);
}

static void
give_output(struct http_conn *c)
{
	size_t before = evbuffer_get_length(c->out);
	struct ls_err err = { 0 };
	enum io_rc rc = transport_write(&c->transport, c->out, &err);

	c->server->pending -= before - evbuffer_get_length(c->out);
	if (rc == IO_OK)
		answer_sent(c);
	else if (rc == IO_AGAIN)
		event_add(c->on_write, NULL);
	else
		close_conn(c);
}

/* What the connection's stage can do now. Bounded: an answer is written once a turn. */
static void
on_ready(struct http_conn *c)
{
	if (c->stage == STAGE_SHAKING && !shake(c))
		return;
	if (c->stage == STAGE_SHAKING) {
		if (transport_wants_write(&c->transport))
			event_add(c->on_write, NULL);
		else
			event_del(c->on_write);
		return;
	}
	if (c->stage == STAGE_LINGERING) {
		enum io_rc rc = transport_discard(&c->transport);

		if (rc != IO_OK && rc != IO_AGAIN)
			close_conn(c);
		return;
	}
	if (c->stage == STAGE_READING)
		take_input(c);
	if (c->stage == STAGE_WRITING)
		give_output(c);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	on_ready(arg);
}

static void
on_timer(void *arg)
{
	struct http_conn *c = arg;
	size_t left = evbuffer_get_length(c->out);

	if (c->stage == STAGE_WRITING && (left == 0 || left + HTTP_DRAIN_BYTES <= c->left_at_check)) {
		c->left_at_check = left;
		loop_timer_set(c->timer, HTTP_DRAIN_NS);
		return;
	}
	close_conn(c);
}

/* --- accepting ------------------------------------------------------------------------------------------------------------ */

/* The one that has been silent longest makes room; those whose answer is under way stay. */
static bool
make_room(struct http_server *s)
{
	if (s->count < HTTP_CONNECTIONS_MAX)
		return true;
	for (struct http_conn *c = s->first; c != NULL; c = c->next)
		if (c->stage != STAGE_WAITING && c->stage != STAGE_WRITING) {
			close_conn(c);
			return true;
		}
	return false;
}

static bool
may_accept(struct http_server *s)
{
	struct ls_mono now = ls_mono_now();

	if (now.ns - s->second.ns >= NS_PER_S) {
		s->second = now;
		s->accepted = 0;
	}
	return s->accepted++ < HTTP_ACCEPTS_MAX && make_room(s);
}

static void
add_conn(struct http_server *s, struct http_conn *c)
{
	c->prev = s->last;
	*(s->last != NULL ? &s->last->next : &s->first) = c;
	s->last = c;
	s->count++;
}

static void
on_accept(int fd, void *arg)
{
	struct http_server *s = arg;
	struct event_base *base = loop_event_base(s->loop);
	struct http_conn *c;
	struct ls_err err = { 0 };

	if (!may_accept(s)) {
		close(fd);
		return;
	}
	c = ls_calloc(1, sizeof(*c));
	c->server = s;
	sockaddr_peer(fd, c->address, sizeof(c->address));
	if (transport_init(&c->transport, fd, s->tls, &err) != LS_OK) { /* has closed it */
		free(c);
		return;
	}
	c->in = evbuffer_new();
	c->out = evbuffer_new();
	c->on_read = event_new(base, fd, EV_READ | EV_PERSIST, on_event, c);
	c->on_write = event_new(base, fd, EV_WRITE | EV_PERSIST, on_event, c);
	c->timer = loop_timer_new(s->loop, on_timer, c);
	if (c->in == NULL || c->out == NULL || c->on_read == NULL || c->on_write == NULL ||
	    event_add(c->on_read, NULL) != 0) {
		free_conn(c);
		return;
	}
	add_conn(s, c);
	loop_timer_set(c->timer, HTTP_HEAD_NS);
}

enum ls_rc
http_server_new(struct loop *loop, const char *address, struct tls_ctx *tls, http_fn fn, void *arg,
    struct http_server **out, struct ls_err *err)
{
	struct http_server *s = ls_calloc(1, sizeof(*s));
	enum ls_rc rc;

	s->loop = loop;
	s->tls = tls;
	s->fn = fn;
	s->arg = arg;
	rc = listener_new(loop, address, 0, on_accept, s, &s->listener, err);
	if (rc != LS_OK) {
		free(s);
		return rc;
	}
	*out = s;
	return LS_OK;
}

void
http_server_free(struct http_server *s)
{
	if (s == NULL)
		return;
	listener_free(s->listener);
	while (s->first != NULL) {
		struct http_conn *c = s->first;

		unlink_conn(c);
		free_conn(c);
	}
	free(s);
}

void
http_server_drop_clients(struct http_server *s)
{
	while (s->first != NULL)
		close_conn(s->first);
}

const char *
http_server_address(const struct http_server *s)
{
	return listener_address(s->listener);
}
