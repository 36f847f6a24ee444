#include "common/net/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <openssl/err.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/net/http_linger_int.h"
#include "common/net/listen.h"
#include "common/net/sockaddr_int.h"
#include "common/net/tls_int.h"

#define BACKLOG     128
#define WINDOW_NS   (200 * NS_PER_MS) /* HTTP_ACCEPTS_MAX is kept to in pieces of this length */
#define WINDOW_MOST (HTTP_ACCEPTS_MAX / 5)
#define CHUNK_BYTES (64U << 10) /* of an answer, given to libevent in one turn of the loop */
#define INPUT_MAX   (64U << 10) /* bytes that are read ahead while an answer is under way */
#define PATH_CHARS  "/._-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum stage {
	STAGE_QUIET = 0, /* handshake, between requests, or half way through a head */
	STAGE_WAITING,   /* for the answer */
	STAGE_WRITING,
};

/* One for each connection of evhttp, which tells of them only once a request has come: it lives as long as their TLS object. */
struct http_conn {
	struct http_server *server;
	struct http_conn *next, *prev; /* the oldest first */
	struct bufferevent *bev;
	SSL *ssl;
	struct evhttp_connection *evcon; /* NULL before the first request, and once it is freed */
	struct loop_timer *timer;
	enum stage stage;
	bool cut;     /* its socket is shut; libevent lets go of it at its next event */
	bool reading; /* a head has begun */
	bool closing; /* the answer under way is the last one */
	bool known;   /* peer and address are */
	struct identity peer;
	char address[SOCKADDR_TEXT_BYTES];
	uint64_t number;                /* of the request that is under way */
	struct evhttp_request *request; /* evhttp's; NULL: none is under way, or evhttp answers by itself */
	char *body;
	size_t len, given; /* of the body; bytes that libevent has got */
	uint64_t written_at_check;
};

struct http_server {
	struct loop *loop;
	struct tls_ctx *tls;
	struct evhttp *http;
	struct evconnlistener *listener; /* evhttp's */
	char address[SOCKADDR_TEXT_BYTES];
	int ex_index; /* of TLS objects: where their connection stands */
	http_fn fn;
	void *arg;
	struct http_conn *first, *last;
	size_t count;   /* connections that are not cut */
	size_t pending; /* bytes of bodies that libevent has not got yet */
	uint64_t numbers;
	struct loop_timer *window;
	size_t accepted; /* in the present window */
	bool pausing;    /* until its end */
	struct http_lingering *lingering;
	struct log_budget refusals;
};

/* --- how many ------------------------------------------------------------------------------------------------------------ */

static struct http_conn *
oldest_quiet(const struct http_server *s)
{
	for (struct http_conn *c = s->first; c != NULL; c = c->next)
		if (c->stage == STAGE_QUIET && !c->cut)
			return c;
	return NULL;
}

/* New ones are taken while there is room or somebody silent makes it; those whose answer is under way stay. The others wait in the kernel. */
static void
regulate(struct http_server *s)
{
	if (!s->pausing && (s->count < HTTP_CONNECTIONS_MAX || oldest_quiet(s) != NULL))
		evconnlistener_enable(s->listener);
	else
		evconnlistener_disable(s->listener);
}

static void
on_window_end(void *arg)
{
	struct http_server *s = arg;

	s->accepted = 0;
	s->pausing = false;
	regulate(s);
}

/* accept(2) failed, most likely for want of descriptors: the socket stays readable, and the loop would spin. */
static void
on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct http_server *s = arg;

	(void)listener;
	s->pausing = true;
	loop_timer_set(s->window, WINDOW_NS);
	regulate(s);
}

/* libevent sees the end of the stream, or that nothing can be written, and frees its connection. */
static void
cut(struct http_conn *c)
{
	if (c->cut)
		return;
	c->cut = true;
	c->server->count--;
	loop_timer_cancel(c->timer);
	shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
}

/* --- life ------------------------------------------------------------------------------------------------------------------ */

static void
drop_body(struct http_conn *c)
{
	c->server->pending -= c->len - c->given;
	free(c->body);
	c->body = NULL;
	c->len = c->given = 0;
}

static void
free_conn(struct http_conn *c)
{
	struct http_server *s = c->server;

	*(c->prev != NULL ? &c->prev->next : &s->first) = c->next;
	*(c->next != NULL ? &c->next->prev : &s->last) = c->prev;
	s->count -= !c->cut;
	drop_body(c);
	loop_timer_free(c->timer);
	free(c);
}

/* OpenSSL frees a TLS object: any of the program, ours have something at our index. */
static void
on_ssl_free(void *parent, void *at_index, CRYPTO_EX_DATA *data, int index, long number, void *arg)
{
	struct http_server *s = arg;

	(void)parent;
	(void)data;
	(void)index;
	(void)number;
	if (at_index == NULL)
		return;
	free_conn(at_index);
	regulate(s);
}

/* evhttp is about to free its connection. A request that has not been answered to its end is ours then, others are freed with it. */
static void
on_close(struct evhttp_connection *evcon, void *arg)
{
	struct http_conn *c = arg;

	(void)evcon;
	c->evcon = NULL;
	if (c->request != NULL && evhttp_request_get_connection(c->request) == NULL)
		evhttp_request_free(c->request);
	c->request = NULL;
	drop_body(c);
	cut(c);
}

/* --- answers ----------------------------------------------------------------------------------------------------------------- */

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
	case 503:
		return "Service Unavailable";
	default:
		return "Internal Server Error";
	}
}

static void
add_fields(struct http_conn *c, const struct http_answer *a)
{
	struct evkeyvalq *fields = evhttp_request_get_output_headers(c->request);
	char length[24];
	const struct http_field always[] = {
		{ "Content-Length", length },
		{ "Cache-Control", a->cache != NULL ? a->cache : "no-store" },
		{ "Content-Security-Policy",
		    a->policy != NULL ? a->policy : "default-src 'none'; frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
	};

	snprintf(length, sizeof(length), "%zu", a->len);
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		evhttp_add_header(fields, always[i].name, always[i].value);
	if (a->type != NULL)
		evhttp_add_header(fields, "Content-Type", a->type);
	if (c->closing)
		evhttp_add_header(fields, "Connection", "close");
	for (const struct http_field *f = a->more; f != NULL && f->name != NULL; f++)
		evhttp_add_header(fields, f->name, f->value);
}

static void give_more(struct evhttp_connection *evcon, void *arg);

/*
 * The next piece of the body, copied: libevent may hold it longer than we hold the body. Piece by piece, as it writes all that it has in
 * one turn of the loop when the peer is fast.
 */
static void
give(struct http_conn *c)
{
	size_t n = LS_MIN(c->len - c->given, (size_t)CHUNK_BYTES);
	struct evbuffer *piece = n > 0 ? evbuffer_new() : NULL;
	bool last = c->given + n == c->len;

	if (n > 0 && (piece == NULL || evbuffer_add(piece, c->body + c->given, n) != 0)) {
		if (piece != NULL)
			evbuffer_free(piece);
		cut(c);
		return;
	}
	c->given += n;
	c->server->pending -= n;
	if (piece != NULL) {
		evhttp_send_reply_chunk_with_cb(c->request, piece, last ? NULL : give_more, c);
		evbuffer_free(piece);
	}
	if (last)
		evhttp_send_reply_end(c->request);
}

/* The piece before is in the kernel. */
static void
give_more(struct evhttp_connection *evcon, void *arg)
{
	struct http_conn *c = arg;

	(void)evcon;
	if (c->request != NULL)
		give(c);
}

/* The whole answer is in the kernel; if it was the last one, evhttp frees its connection next. */
static void
on_complete(struct evhttp_request *request, void *arg)
{
	struct http_conn *c = arg;

	(void)request;
	c->request = NULL;
	drop_body(c);
	if (c->cut)
		return;
	c->stage = STAGE_QUIET;
	c->reading = evbuffer_get_length(bufferevent_get_input(c->bev)) > 0;
	loop_timer_set(c->timer, c->closing ? HTTP_LINGER_NS : c->reading ? HTTP_HEAD_NS : HTTP_IDLE_NS);
	regulate(c->server);
}

static uint64_t
written(const struct http_conn *c)
{
	return BIO_number_written(SSL_get_wbio(c->ssl));
}

static void
begin_writing(struct http_conn *c)
{
	c->stage = STAGE_WRITING;
	c->written_at_check = written(c);
	if (!c->cut)
		loop_timer_set(c->timer, HTTP_DRAIN_NS);
}

/* Takes the body over. */
static void
begin_answer(struct http_conn *c, struct http_answer *a)
{
	add_fields(c, a);
	if (evhttp_request_get_command(c->request) == EVHTTP_REQ_GET) {
		c->body = a->body;
		c->len = a->len;
		c->server->pending += a->len;
	} else {
		free(a->body);
	}
	a->body = NULL;
	begin_writing(c);
	evhttp_request_set_on_complete_cb(c->request, on_complete, c);
	evhttp_send_reply_start(c->request, a->status, reason_of(a->status));
	give(c);
}

static void
refuse(struct http_conn *c, int status)
{
	static const struct http_field allow[] = { { "Allow", "GET, HEAD" }, { NULL, NULL } };
	struct http_answer a = { .status = status, .more = status == 405 ? allow : NULL };

	c->closing = true;
	begin_answer(c, &a);
}

static struct http_conn *
find(const struct http_server *s, uint64_t number)
{
	for (struct http_conn *c = s->first; c != NULL; c = c->next)
		if (c->request != NULL && c->number == number)
			return c;
	return NULL;
}

void
http_answer(struct http_server *s, uint64_t number, struct http_answer *answer)
{
	static const struct http_field later[] = { { "Retry-After", "10" }, { NULL, NULL } };
	struct http_answer busy = { .status = 503, .more = later };
	struct http_conn *c = find(s, number);

	if (c == NULL) {
		free(answer->body);
		return;
	}
	if (s->pending + answer->len > HTTP_PENDING_MAX) {
		free(answer->body);
		answer->body = NULL;
		answer = &busy;
	}
	begin_answer(c, answer);
}

/* --- requests ------------------------------------------------------------------------------------------------------------------ */

/* No percent signs: nothing that is served has a name that needs them, and what cannot be written cannot be misread. */
static int
take_path(const char *uri, char *out, size_t len)
{
	size_t n = strcspn(uri, "?");

	if (n >= len)
		return 414;
	memcpy(out, uri, n);
	out[n] = '\0';
	if (out[0] != '/' || strspn(out, PATH_CHARS) != n || strstr(out, "..") != NULL || strstr(out, "//") != NULL)
		return 400;
	return 0;
}

/* What is asked of a field may be there once, and nothing may announce a body. Sets the rest of out; returns 0 or a status. */
static int
take_fields(struct http_conn *c, struct http_request *out)
{
	struct evkeyval *field;
	unsigned hosts = 0, authorizations = 0;

	out->authorization = "";
	TAILQ_FOREACH(field, evhttp_request_get_input_headers(c->request), next)
	{
		if (strcasecmp(field->key, "transfer-encoding") == 0 ||
		    (strcasecmp(field->key, "content-length") == 0 && strcmp(field->value, "0") != 0))
			return 413;
		if (strcasecmp(field->key, "connection") == 0 && strcasecmp(field->value, "close") == 0)
			c->closing = true;
		hosts += strcasecmp(field->key, "host") == 0;
		if (strcasecmp(field->key, "authorization") != 0)
			continue;
		authorizations++;
		out->authorization = field->value;
	}
	return hosts == 1 && authorizations <= 1 ? 0 : 400;
}

static bool
learn_peer(struct http_conn *c)
{
	struct http_server *s = c->server;
	struct ls_err err = { 0 };
	char why[256];

	if (c->known)
		return true;
	sockaddr_peer(bufferevent_getfd(c->bev), c->address, sizeof(c->address));
	c->known = tls_ctx_check_peer(s->tls, c->ssl, &c->peer, &err) == LS_OK;
	if (!c->known && log_budget_take(&s->refusals, ls_mono_now()))
		ls_log(LS_LOG_INFO, "web client not let in", "peer=%s why=%s", c->address,
		    ls_log_escape(err.text, why, sizeof(why)));
	return c->known;
}

/* Method, path and fields. Returns 0 or the status to refuse with. */
static int
judge(struct http_conn *c, struct http_request *out, char *path, size_t len)
{
	enum evhttp_cmd_type method = evhttp_request_get_command(c->request);
	int status;

	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD)
		return 405;
	status = take_fields(c, out);
	return status != 0 ? status : take_path(evhttp_request_get_uri(c->request), path, len);
}

/* evhttp has read a request. It reads no further until that is answered, so that the client can go without being noticed. */
static void
on_request(struct evhttp_request *request, void *arg)
{
	struct http_server *s = arg;
	struct evhttp_connection *evcon = evhttp_request_get_connection(request);
	SSL *ssl = bufferevent_openssl_get_ssl(evhttp_connection_get_bufferevent(evcon));
	struct http_conn *c = ssl != NULL ? SSL_get_ex_data(ssl, s->ex_index) : NULL;
	char path[256];
	struct http_request r = { .path = path };
	int status;

	if (c == NULL) { /* see on_accept: never without TLS */
		evhttp_connection_free(evcon);
		return;
	}
	c->evcon = evcon;
	evhttp_connection_set_closecb(evcon, on_close, c);
	if (c->cut) {
		evhttp_connection_free(evcon);
		return;
	}
	c->request = request;
	c->number = r.number = ++s->numbers;
	c->stage = STAGE_WAITING;
	c->reading = false;
	loop_timer_cancel(c->timer);
	regulate(s);
	status = learn_peer(c) ? judge(c, &r, path, sizeof(path)) : 403;
	if (status != 0) {
		refuse(c, status);
		return;
	}
	r.peer = &c->peer;
	r.address = c->address;
	s->fn(&r, s->arg);
}

/* --- what libevent does with a connection ----------------------------------------------------------------------------------------- */

/* One deadline for the whole head, however its bytes come. */
static void
on_input(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
	struct http_conn *c = arg;

	(void)in;
	if (info->n_added == 0 || c->stage != STAGE_QUIET || c->reading)
		return;
	c->reading = true;
	loop_timer_set(c->timer, HTTP_HEAD_NS);
}

/* evhttp answers by itself what it cannot read, and closes then. A last answer that has left is waited for. */
static void
on_output(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
	struct http_conn *c = arg;

	if (info->n_added > 0 && c->stage == STAGE_QUIET) {
		c->closing = true;
		begin_writing(c);
	}
	if (info->n_deleted == 0 || evbuffer_get_length(out) > 0 || !c->closing || c->stage != STAGE_WRITING ||
	    c->given < c->len)
		return;
	SSL_shutdown(c->ssl);
	ERR_clear_error();
	http_linger(c->server->lingering, bufferevent_getfd(c->bev));
}

static void
on_timer(void *arg)
{
	struct http_conn *c = arg;
	uint64_t now = written(c);

	if (c->stage == STAGE_WRITING && now >= c->written_at_check + HTTP_DRAIN_BYTES) {
		c->written_at_check = now;
		loop_timer_set(c->timer, HTTP_DRAIN_NS);
		return;
	}
	cut(c);
}

/* The handshake ended without a connection: says why, as libevent does not. */
static void
on_handshake(const SSL *ssl, int where, int ret)
{
	struct http_conn *c = SSL_get_app_data(ssl);
	struct ls_err err = { 0 };
	char address[SOCKADDR_TEXT_BYTES], why[256];

	if (where != SSL_CB_ACCEPT_EXIT || ret > 0 || SSL_want_read(ssl) || SSL_want_write(ssl) ||
	    !log_budget_take(&c->server->refusals, ls_mono_now()))
		return;
	tls_error(c->ssl, ret, errno, &err);
	ls_log(LS_LOG_INFO, "web client not let in", "peer=%s why=%s",
	    sockaddr_peer(bufferevent_getfd(c->bev), address, sizeof(address)),
	    ls_log_escape(err.text, why, sizeof(why)));
}

/* evhttp has accepted a connection and asks what to read and write it with. NULL makes it do without TLS: on_request refuses those. */
static struct bufferevent *
on_accept(struct event_base *base, void *arg)
{
	struct http_server *s = arg;
	SSL *ssl = tls_ctx_new_ssl(s->tls);
	struct bufferevent *bev = NULL;
	struct http_conn *c;

	if (s->accepted++ == 0)
		loop_timer_set(s->window, WINDOW_NS);
	s->pausing |= s->accepted >= WINDOW_MOST;
	regulate(s);
	if (ssl == NULL)
		return NULL;
	SSL_clear_mode(
	    ssl, SSL_MODE_ENABLE_PARTIAL_WRITE); /* libevent 2.1 goes on with the next piece after a partial write */
	bev = bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (bev == NULL)
		return NULL;
	if (s->count >= HTTP_CONNECTIONS_MAX && oldest_quiet(s) != NULL)
		cut(oldest_quiet(s));
	c = ls_calloc(1, sizeof(*c));
	c->server = s;
	c->bev = bev;
	c->ssl = ssl;
	c->timer = loop_timer_new(s->loop, on_timer, c);
	c->prev = s->last;
	*(s->last != NULL ? &s->last->next : &s->first) = c;
	s->last = c;
	s->count++;
	SSL_set_ex_data(ssl, s->ex_index, c);
	SSL_set_app_data(ssl, c);
	SSL_set_info_callback(ssl, on_handshake);
	evbuffer_add_cb(bufferevent_get_input(bev), on_input, c);
	evbuffer_add_cb(bufferevent_get_output(bev), on_output, c);
	bufferevent_setwatermark(bev, EV_READ, 0, INPUT_MAX);
	loop_timer_set(c->timer, HTTP_HEAD_NS);
	regulate(s);
	return bev;
}

/* --- the server --------------------------------------------------------------------------------------------------------------------- */

static enum ls_rc
start_listening(struct http_server *s, const char *address, struct ls_err *err)
{
	const int on = 1;
	int fd = -1;
	enum ls_rc rc = listen_socket(address, BACKLOG, s->address, sizeof(s->address), &fd, err);

	if (rc != LS_OK)
		return rc;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* connections inherit it */
	s->listener = evconnlistener_new(
	    loop_event_base(s->loop), NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (s->listener == NULL) {
		close(fd);
		return ls_err_set(err, LS_E_SYS, "listening on %s: libevent refuses", address);
	}
	if (evhttp_bind_listener(s->http, s->listener) == NULL) {
		evconnlistener_free(s->listener);
		return ls_err_set(err, LS_E_SYS, "listening on %s: libevent refuses", address);
	}
	evconnlistener_set_error_cb(s->listener, on_accept_error);
	return LS_OK;
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
	s->window = loop_timer_new(loop, on_window_end, s);
	s->lingering = http_lingering_new(loop);
	s->ex_index = SSL_get_ex_new_index(0, s, NULL, NULL, on_ssl_free);
	s->http = evhttp_new(loop_event_base(loop));
	if (s->http == NULL || s->ex_index < 0) {
		rc = ls_err_set(err, LS_E_NOMEM, "out of memory for the web server");
	} else {
		/*
		 * All methods, as we answer them with what is allowed. No timeout of evhttp's: it begins anew with each byte, and counts
		 * the silence of a client that only reads.
		 */
		evhttp_set_allowed_methods(s->http, UINT16_MAX);
		evhttp_set_max_headers_size(s->http, HTTP_HEAD_MAX);
		evhttp_set_max_body_size(s->http, 0);
		evhttp_set_default_content_type(s->http, NULL);
		evhttp_set_bevcb(s->http, on_accept, s);
		evhttp_set_gencb(s->http, on_request, s);
		rc = start_listening(s, address, err);
	}
	if (rc != LS_OK) {
		http_server_free(s);
		return rc;
	}
	*out = s;
	return LS_OK;
}

/* libevent frees its connections later, in the loop: they must not know us any more. */
static void
forget(struct http_conn *c)
{
	evbuffer_remove_cb(bufferevent_get_input(c->bev), on_input, c);
	evbuffer_remove_cb(bufferevent_get_output(c->bev), on_output, c);
	SSL_set_info_callback(c->ssl, NULL);
	SSL_set_ex_data(c->ssl, c->server->ex_index, NULL);
	if (c->evcon != NULL)
		evhttp_connection_set_closecb(c->evcon, NULL, NULL);
	free_conn(c);
}

void
http_server_free(struct http_server *s)
{
	if (s == NULL)
		return;
	for (struct http_conn *c = s->first, *next; c != NULL; c = next) {
		next = c->next;
		forget(c);
	}
	if (s->http != NULL)
		evhttp_free(s->http); /* and the listener */
	if (s->ex_index >= 0)
		CRYPTO_free_ex_index(CRYPTO_EX_INDEX_SSL, s->ex_index);
	http_lingering_free(s->lingering);
	loop_timer_free(s->window);
	free(s);
}

void
http_server_drop_clients(struct http_server *s)
{
	for (struct http_conn *c = s->first; c != NULL; c = c->next)
		cut(c);
	regulate(s);
}

const char *
http_server_address(const struct http_server *s)
{
	return s->address;
}
