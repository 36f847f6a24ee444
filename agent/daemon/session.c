#include "agent/daemon/session.h"

#include <stdlib.h>
#include <sys/random.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/net/backoff.h"
#include "common/net/conn.h"
#include "proto/codec/msg.h"

#define MISSED_PINGS     3
#define HEARTBEAT_MIN_NS (10 * NS_PER_MS)

struct session {
	struct loop *loop;
	const char *address;
	struct tls_ctx *tls;
	struct session_events events;
	void *arg;
	enum session_state state;
	struct conn *conn; /* NULL while waiting */
	struct backoff backoff;
	struct loop_timer *timer; /* WAITING: next attempt; HELLO: its limit; UP: silence */
	int64_t heartbeat_ns;
	struct ls_mono heard;
	uint64_t net_bytes; /* of connections that are gone */
	bool complained;    /* the first failure of a row is told, the others only at debug level */
};

static void
wait_for_next(struct session *s)
{
	s->state = SESSION_WAITING;
	loop_timer_set(s->timer, backoff_next(&s->backoff));
}

/* The connection is no more, or is being given up; why: a sentence. */
static void
went_down(struct session *s, const char *why)
{
	bool was_up = s->state == SESSION_UP;
	bool loud = was_up || !s->complained;

	ls_log(loud ? LS_LOG_WARN : LS_LOG_DEBUG, was_up ? "connection to the coordinator lost" : "no coordinator",
	    "coordinator=%s reason=\"%s\"", s->address, why);
	s->complained = true;
	s->conn = NULL;
	wait_for_next(s);
	if (was_up)
		s->events.on_down(s->arg);
}

static void
give_up(struct session *s, const char *why)
{
	s->net_bytes += conn_bytes(s->conn);
	conn_drop(s->conn);
	went_down(s, why);
}

static void
on_open(struct conn *conn, void *arg)
{
	struct session *s = arg;
	const struct identity *peer = conn_peer(conn);

	if (peer->role != ROLE_COORDINATOR) {
		give_up(s, "the other side's certificate is not that of a coordinator");
		return;
	}
	size_t len;
	char *hello = s->events.hello(&len, s->arg);
	s->state = SESSION_HELLO;
	conn_send(conn, hello, len);
	loop_timer_set(s->timer, MSG_HELLO_TIMEOUT_NS);
	free(hello);
}

static void
send_error(struct session *s, const struct ls_err *err)
{
	struct msg_error body = { .text = ls_strdup(err->text) };
	char *text = NULL;
	size_t len;

	if (!msg_encode(MSG_ERROR, &body, &text, &len, NULL))
		conn_send(s->conn, text, len);
	free(text);
	free(body.text);
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct session *s = arg;

	s->heard = received;
	enum ls_rc rc = s->events.on_frame(data, len, received, s->arg, err);
	if (!rc || s->conn != conn)
		return LS_OK;

	/* Ended here, with the reason still sent, and not by the connection itself, which would drop it. */
	char shown[1100];
	send_error(s, err);
	s->net_bytes += conn_bytes(conn);
	conn_close(conn);
	went_down(s, ls_log_escape(err->text, shown, sizeof(shown)));
	return LS_OK;
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct session *s = arg;
	char shown[1100];

	s->net_bytes += conn_bytes(conn);
	went_down(s, ls_log_escape(why->text, shown, sizeof(shown)));
}

static const struct conn_events session_conn_events = { on_open, on_frame, on_close };

static void
dial(struct session *s)
{
	const struct conn_config config = { .frame_max = MSG_FRAME_MAX };
	struct ls_err err;

	if (conn_dial(s->loop, s->address, s->tls, &config, &session_conn_events, s, &s->conn, &err)) {
		s->conn = NULL;
		went_down(s, err.text);
		return;
	}
	s->state = SESSION_DIALING;
}

static void
on_timer(void *arg)
{
	struct session *s = arg;
	int64_t limit, silent;

	switch (s->state) {
	case SESSION_WAITING:
		dial(s);
		break;
	case SESSION_HELLO:
		give_up(s, "no welcome came");
		break;
	case SESSION_UP:
		limit = (MISSED_PINGS + 1) * s->heartbeat_ns;
		silent = ls_mono_now().ns - s->heard.ns;
		if (silent >= limit)
			give_up(s, "nothing was heard for longer than three heartbeats");
		else
			loop_timer_set(s->timer, limit - silent);
		break;
	case SESSION_DIALING: /* the connection has its own limit */
	case SESSION_STATE_COUNT:
		break;
	}
}

struct session *
session_new(struct loop *loop, const char *address, struct tls_ctx *tls, const struct session_events *events, void *arg)
{
	struct session *s = ls_calloc(1, sizeof(*s));
	*s = (struct session){ .loop = loop, .address = address, .tls = tls, .events = *events, .arg = arg };

	if (getrandom(&s->backoff.rng, sizeof(s->backoff.rng), 0) != (ssize_t)sizeof(s->backoff.rng))
		s->backoff.rng = (uint64_t)ls_mono_now().ns;
	s->backoff.rng |= 1;
	s->timer = loop_timer_new(loop, on_timer, s);
	loop_timer_set(s->timer, 0);
	return s;
}

void
session_free(struct session *s)
{
	if (!s)
		return;
	loop_timer_free(s->timer);
	conn_drop(s->conn);
	free(s);
}

enum session_state
session_state(const struct session *s)
{
	return s->state;
}

void
session_welcome(struct session *s, int64_t heartbeat_ns)
{
	if (s->state != SESSION_HELLO)
		return;
	s->state = SESSION_UP;
	s->heartbeat_ns = LS_MIN(LS_MAX(heartbeat_ns, (int64_t)HEARTBEAT_MIN_NS), (int64_t)(3600 * NS_PER_S));
	s->heard = ls_mono_now();
	s->complained = false;
	backoff_reset(&s->backoff);
	loop_timer_set(s->timer, (MISSED_PINGS + 1) * s->heartbeat_ns);
	ls_log(LS_LOG_INFO, "connected to the coordinator", "coordinator=%s", s->address);
	s->events.on_up(s->arg);
}

bool
session_send(struct session *s, const char *text, size_t len)
{
	if (s->state != SESSION_UP)
		return false;
	conn_send(s->conn, text, len);
	return true;
}

size_t
session_unsent(const struct session *s)
{
	return s->conn ? conn_output_pending(s->conn) : 0;
}

uint64_t
session_net_bytes(const struct session *s)
{
	return s->net_bytes + (s->conn ? conn_bytes(s->conn) : 0);
}
