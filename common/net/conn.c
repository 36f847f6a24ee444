#include "common/net/conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "common/base/frame.h"
#include "common/base/mem.h"
#include "common/net/addr.h"
#include "common/net/dial_int.h"
#include "common/net/loop_int.h"
#include "common/net/sockaddr_int.h"
#include "common/net/tls_int.h"
#include "common/net/transport_int.h"

#define HANDSHAKE_TIMEOUT_NS (10 * NS_PER_S)
#define OUTPUT_MAX_BYTES     (64u << 20)
#define LINGER_NS            (2 * NS_PER_S)
#define READS_PER_TURN       16 /* of 16 KiB: nobody keeps the loop for longer than that */

/* In the order in which a connection goes through them; some are skipped. */
enum conn_state {
	CONN_DIALING = 0,
	CONN_HANDSHAKE, /* TLS; a plain accepted one waits here for the end of the turn */
	CONN_OPEN,
	CONN_LINGER, /* the owner has let go: send what is queued, say goodbye, wait for the peer's */
	CONN_DEAD,   /* waits for its memory to be freed */
};

struct conn {
	struct loop *loop;
	enum conn_state state;
	bool owned; /* events may still be called */

	struct conn_events events;
	void *arg;
	struct conn_config config;
	struct tls_ctx *tls; /* a reference of the dialing side's, in force until transport holds one */
	struct dial *dial;
	char address[SOCKADDR_TEXT_BYTES];
	struct identity peer;

	struct transport transport;
	struct evbuffer *in, *out;
	struct event *on_read, *on_write; /* NULL while dialing */
	bool write_armed, goodbye_sent;
	struct loop_timer *timer; /* handshake, later linger */

	/* Why sending failed: told at the end of the turn, because conn_send must not call on_close. */
	struct ls_err *send_failure;
	struct loop_orphan orphan;
};

static void on_timeout(void *arg);

/* --- making and unmaking --- */

static struct conn *
conn_new(struct loop *loop, const struct conn_config *config, const struct conn_events *events, void *arg)
{
	struct conn *conn = ls_calloc(1, sizeof(*conn));

	conn->loop = loop;
	conn->owned = true;
	conn->events = *events;
	conn->arg = arg;
	conn->config = *config;
	if (conn->config.handshake_timeout_ns == 0)
		conn->config.handshake_timeout_ns = HANDSHAKE_TIMEOUT_NS;
	if (conn->config.output_max == 0)
		conn->config.output_max = OUTPUT_MAX_BYTES;
	conn->transport.fd = -1;
	conn->in = evbuffer_new();
	conn->out = evbuffer_new();
	if (conn->in == NULL || conn->out == NULL)
		abort();
	conn->timer = loop_timer_new(loop, on_timeout, conn);
	return conn;
}

static void
conn_release(void *arg)
{
	struct conn *conn = arg;

	transport_fini(&conn->transport);
	tls_ctx_free(conn->tls);
	evbuffer_free(conn->in);
	evbuffer_free(conn->out);
	free(conn->send_failure);
	free(conn);
}

/* Closes the socket now; the memory goes at the end of the turn, as callers up the stack still look at it. */
static void
conn_destroy(struct conn *conn)
{
	if (conn->state == CONN_DEAD)
		return;
	conn->state = CONN_DEAD;
	loop_orphan_remove(&conn->orphan);
	dial_cancel(conn->dial);
	conn->dial = NULL;
	if (conn->on_read != NULL)
		event_free(conn->on_read);
	if (conn->on_write != NULL)
		event_free(conn->on_write);
	conn->on_read = conn->on_write = NULL;
	loop_timer_free(conn->timer);
	transport_close(&conn->transport);
	loop_defer(conn->loop, conn_release, conn);
}

static void
watch_write(struct conn *conn, bool wanted)
{
	if (wanted == conn->write_armed)
		return;
	conn->write_armed = wanted;
	if (wanted)
		event_add(conn->on_write, NULL);
	else
		event_del(conn->on_write);
}

/* --- the end --- */

static void
destroy_orphan(void *arg)
{
	conn_destroy(arg);
}

static void
linger_step(struct conn *conn)
{
	if (!conn->goodbye_sent) {
		enum io_rc rc = transport_write(&conn->transport, conn->out, NULL);
		if (rc == IO_OK)
			rc = transport_shutdown(&conn->transport);
		if (rc == IO_ERROR || rc == IO_EOF) {
			conn_destroy(conn);
			return;
		}
		watch_write(conn, rc == IO_AGAIN);
		if (rc == IO_AGAIN)
			return;
		conn->goodbye_sent = true;
		event_add(conn->on_read, NULL);
	}
	/* Closing with unread input would make a reset that overtakes what we sent: read until the peer has closed too. */
	enum io_rc rc = transport_discard(&conn->transport);
	if (rc == IO_EOF || rc == IO_ERROR)
		conn_destroy(conn);
}

static void
conn_linger(struct conn *conn)
{
	if (conn->on_read == NULL) {
		conn_destroy(conn);
		return;
	}
	/* Only who has shown a certificate may see what was queued. */
	if (conn->state != CONN_OPEN)
		evbuffer_drain(conn->out, evbuffer_get_length(conn->out));
	conn->state = CONN_LINGER;
	event_del(conn->on_read); /* until the goodbye is sent */
	loop_timer_set(conn->timer, LINGER_NS);
	loop_orphan_add(conn->loop, &conn->orphan, destroy_orphan, conn);
	linger_step(conn);
}

/* Tells the owner, who is rid of it from here on. linger: the peer can still be told something. */
static void
conn_fail(struct conn *conn, const struct ls_err *why, bool linger)
{
	struct ls_err copy = *why;

	conn->owned = false;
	if (linger)
		conn_linger(conn);
	else
		conn_destroy(conn);
	if (conn->events.on_close != NULL)
		conn->events.on_close(conn, &copy, conn->arg);
}

void
conn_close(struct conn *conn)
{
	if (conn == NULL || !conn->owned)
		return;
	conn->owned = false;
	if (conn->state == CONN_OPEN && conn->send_failure == NULL)
		conn_linger(conn);
	else
		conn_destroy(conn);
}

void
conn_drop(struct conn *conn)
{
	if (conn == NULL || !conn->owned)
		return;
	conn->owned = false;
	conn_destroy(conn);
}

/* --- receiving --- */

static void
fail_at_end_of_file(struct conn *conn)
{
	struct ls_err err = { .rc = LS_OK };
	size_t left = evbuffer_get_length(conn->in);

	if (left > 0)
		ls_err_set(&err, LS_E_CLOSED, "the peer closed the connection in the middle of a frame");
	else
		ls_err_set(&err, LS_E_CLOSED, "the peer closed the connection");
	conn_fail(conn, &err, false);
}

/* The length of the frame at the head of the input; false when it is not complete yet or wrong (then err->rc is set). */
static bool
next_frame(struct conn *conn, uint32_t *out_len, struct ls_err *err)
{
	uint8_t header[FRAME_HEADER_BYTES];

	if (evbuffer_copyout(conn->in, header, sizeof(header)) < FRAME_HEADER_BYTES)
		return false;

	uint32_t len = frame_header_get(header);
	if (len == 0) {
		ls_err_set(err, LS_E_PROTO, "the peer sent an empty frame");
		return false;
	}
	if (len > conn->config.frame_max) {
		ls_err_set(err, LS_E_LIMIT, "the peer announced a frame of %u bytes, the limit is %u", len,
		    conn->config.frame_max);
		return false;
	}
	*out_len = len;
	return evbuffer_get_length(conn->in) >= FRAME_HEADER_BYTES + (size_t)len;
}

static void
deliver_frames(struct conn *conn, struct ls_mono received)
{
	struct ls_err err = { .rc = LS_OK };
	uint32_t len;

	while (conn->state == CONN_OPEN && next_frame(conn, &len, &err)) {
		size_t whole = FRAME_HEADER_BYTES + (size_t)len;
		const uint8_t *data = evbuffer_pullup(conn->in, (ev_ssize_t)whole);
		if (data == NULL) {
			ls_err_set(&err, LS_E_NOMEM, "out of memory for a frame");
			break;
		}
		enum ls_rc rc = conn->events.on_frame(conn, data + FRAME_HEADER_BYTES, len, received, conn->arg, &err);
		evbuffer_drain(conn->in, whole);
		if (rc != LS_OK && err.rc == LS_OK)
			ls_err_set(&err, rc, "frame refused: %s", ls_rc_name(rc));
		if (rc != LS_OK)
			break;
		err.rc = LS_OK;
	}
	if (err.rc != LS_OK && conn->owned)
		conn_fail(conn, &err, true);
}

static void
read_step(struct conn *conn)
{
	struct ls_err err = { .rc = LS_OK };

	for (int i = 0; i < READS_PER_TURN; i++) {
		struct ls_mono received = ls_mono_now(); /* before decryption and parsing take their time */
		enum io_rc rc = transport_read(&conn->transport, conn->in, &err);
		switch (rc) {
		case IO_AGAIN:
			return;
		case IO_EOF:
			fail_at_end_of_file(conn);
			return;
		case IO_ERROR:
			conn_fail(conn, &err, err.rc == LS_E_TLS);
			return;
		case IO_OK:
			deliver_frames(conn, received);
			break;
		}
		if (conn->state != CONN_OPEN)
			return;
	}
	if (transport_has_pending(&conn->transport))
		event_active(conn->on_read, EV_READ, 0);
}

/* --- sending --- */

/*
 * The peer may have said why it closed before our sending failed: what has arrived is read first, and its error wins.
 */
static void
report_send_failure(void *arg)
{
	struct conn *conn = arg;

	if (conn->state == CONN_OPEN)
		read_step(conn);
	if (conn->owned)
		conn_fail(conn, conn->send_failure, false);
}

static void
fail_later(struct conn *conn, const struct ls_err *why)
{
	if (conn->send_failure != NULL)
		return;
	conn->send_failure = ls_malloc(sizeof(*why));
	*conn->send_failure = *why;
	evbuffer_drain(conn->out, evbuffer_get_length(conn->out));
	if (conn->on_write != NULL)
		watch_write(conn, false);
	loop_defer(conn->loop, report_send_failure, conn);
}

static void
flush(struct conn *conn)
{
	struct ls_err err = { .rc = LS_OK };

	if (conn->state != CONN_OPEN || conn->send_failure != NULL)
		return;
	enum io_rc rc = transport_write(&conn->transport, conn->out, &err);
	if (rc == IO_ERROR || rc == IO_EOF) {
		if (err.rc == LS_OK)
			ls_err_set(&err, LS_E_CLOSED, "the peer closed the connection");
		fail_later(conn, &err);
		return;
	}
	watch_write(conn, rc == IO_AGAIN);
}

void
conn_send(struct conn *conn, const void *data, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct ls_err err;

	assert(len > 0 && len <= UINT32_MAX);
	if (!conn->owned || conn->send_failure != NULL)
		return;
	frame_header_put(header, (uint32_t)len);
	if (evbuffer_add(conn->out, header, sizeof(header)) != 0 || evbuffer_add(conn->out, data, len) != 0) {
		ls_err_set(&err, LS_E_NOMEM, "out of memory for a frame of %zu bytes", len);
		fail_later(conn, &err);
		return;
	}
	flush(conn);
	size_t waiting = evbuffer_get_length(conn->out);
	if (waiting > conn->config.output_max) {
		ls_err_set(&err, LS_E_LIMIT, "the peer does not read: %zu bytes wait to be sent, the limit is %zu",
		    waiting, conn->config.output_max);
		fail_later(conn, &err);
	}
}

size_t
conn_output_pending(const struct conn *conn)
{
	return evbuffer_get_length(conn->out);
}

/* --- opening --- */

static void
conn_become_open(struct conn *conn)
{
	conn->state = CONN_OPEN;
	loop_timer_cancel(conn->timer);
	event_add(conn->on_read, NULL);
	if (conn->events.on_open != NULL)
		conn->events.on_open(conn, conn->arg);
	flush(conn);
}

static void
handshake_step(struct conn *conn)
{
	struct ls_err err = { .rc = LS_OK };
	enum io_rc rc = transport_handshake(&conn->transport, &err);

	if (rc == IO_AGAIN) {
		watch_write(conn, transport_wants_write(&conn->transport));
		return;
	}
	watch_write(conn, false);
	if (rc == IO_EOF)
		ls_err_set(&err, LS_E_CLOSED, "the peer closed the connection");
	if (rc == IO_OK && transport_peer(&conn->transport, &conn->peer, &err) == LS_OK) {
		conn_become_open(conn);
		if (conn->state == CONN_OPEN)
			read_step(conn);
		return;
	}
	ls_err_wrap(&err, "TLS handshake");
	conn_fail(conn, &err, true);
}

/* A plain connection that was accepted: on_open must not be called before conn_accept has returned. */
static void
open_plain(void *arg)
{
	struct conn *conn = arg;

	if (conn->state == CONN_HANDSHAKE)
		conn_become_open(conn);
}

/* Whatever the socket is ready for: TLS may need one direction to go on with the other. */
static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;

	(void)fd;
	(void)what;
	switch (conn->state) {
	case CONN_HANDSHAKE:
		handshake_step(conn);
		break;
	case CONN_OPEN:
		read_step(conn);
		flush(conn);
		break;
	case CONN_LINGER:
		linger_step(conn);
		break;
	case CONN_DIALING:
	case CONN_DEAD:
		break;
	}
}

static void
on_timeout(void *arg)
{
	struct conn *conn = arg;
	struct ls_err err;
	const char *step = conn->state == CONN_DIALING ? "connecting" : "the TLS handshake";

	if (conn->state == CONN_LINGER) {
		conn_destroy(conn);
		return;
	}
	ls_err_set(&err, LS_E_TIMEOUT, "%s with %s took longer than %.3g s", step, conn->address,
	    (double)conn->config.handshake_timeout_ns / NS_PER_S);
	conn_fail(conn, &err, false);
}

/* Takes fd over. After it a TLS connection waits for its handshake, a plain one for conn_become_open. */
static enum ls_rc
conn_attach(struct conn *conn, int fd, struct tls_ctx *tls, struct ls_err *err)
{
	struct event_base *base = loop_event_base(conn->loop);
	enum ls_rc rc = transport_init(&conn->transport, fd, tls, err);

	if (rc != LS_OK)
		return rc;
	sockaddr_peer(fd, conn->address, sizeof(conn->address));
	conn->state = CONN_HANDSHAKE;
	conn->on_read = event_new(base, fd, EV_READ | EV_PERSIST, on_event, conn);
	conn->on_write = event_new(base, fd, EV_WRITE | EV_PERSIST, on_event, conn);
	if (conn->on_read == NULL || conn->on_write == NULL)
		abort();
	if (tls != NULL && event_add(conn->on_read, NULL) != 0)
		return ls_err_set(err, LS_E_SYS, "the event loop refused a socket");
	return LS_OK;
}

static void
on_dialed(int fd, const struct ls_err *why, void *arg)
{
	struct conn *conn = arg;
	struct ls_err err = *why;

	conn->dial = NULL;
	if (fd < 0 || conn_attach(conn, fd, conn->tls, &err) != LS_OK) {
		conn_fail(conn, &err, false);
		return;
	}
	if (conn->tls != NULL)
		handshake_step(conn);
	else
		conn_become_open(conn);
}

enum ls_rc
conn_dial(struct loop *loop, const char *address, struct tls_ctx *tls, const struct conn_config *config,
    const struct conn_events *events, void *arg, struct conn **out, struct ls_err *err)
{
	struct addr addr;

	if (addr_parse(address, LOCKSTEP_PORT, &addr, err) != LS_OK)
		return LS_E_INVALID;
	if (!addr.is_unix && (addr.host[0] == '\0' || addr.port == 0))
		return ls_err_set(err, LS_E_INVALID, "address '%s': to connect, a host and a port are needed", address);
	if (addr.is_unix != (tls == NULL))
		return ls_err_set(err, LS_E_INVALID, "address '%s': TLS belongs to TCP, and only there", address);

	struct conn *conn = conn_new(loop, config, events, arg);
	addr_format(&addr, conn->address, sizeof(conn->address));
	conn->state = CONN_DIALING;
	conn->tls = tls != NULL ? tls_ctx_ref(tls) : NULL;
	loop_timer_set(conn->timer, conn->config.handshake_timeout_ns);
	conn->dial = dial_start(loop, &addr, on_dialed, conn);
	*out = conn;
	return LS_OK;
}

enum ls_rc
conn_accept(struct loop *loop, int fd, struct tls_ctx *tls, const struct conn_config *config,
    const struct conn_events *events, void *arg, struct conn **out, struct ls_err *err)
{
	struct conn *conn = conn_new(loop, config, events, arg);
	enum ls_rc rc = conn_attach(conn, fd, tls, err);

	if (rc != LS_OK) {
		conn_drop(conn);
		return rc;
	}
	if (tls != NULL)
		loop_timer_set(conn->timer, conn->config.handshake_timeout_ns);
	else
		loop_defer(loop, open_plain, conn);
	*out = conn;
	return LS_OK;
}

/* --- the small ones --- */

void
conn_set_arg(struct conn *conn, void *arg)
{
	conn->arg = arg;
}

void
conn_set_frame_max(struct conn *conn, uint32_t frame_max)
{
	conn->config.frame_max = frame_max;
}

const struct identity *
conn_peer(const struct conn *conn)
{
	return &conn->peer;
}

const char *
conn_peer_address(const struct conn *conn)
{
	return conn->address;
}

enum ls_rc
conn_recheck(const struct conn *conn, struct ls_err *err)
{
	return transport_recheck(&conn->transport, err);
}

uint64_t
conn_bytes(const struct conn *conn)
{
	return transport_bytes(&conn->transport);
}
