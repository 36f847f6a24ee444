#include "coordinator/daemon/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "coordinator/daemon/dispatch.h"
#include "coordinator/daemon/operator.h"
#include "coordinator/daemon/run.h"

#define MISSED_HEARTBEATS 3
#define PENDING_MAX       1024
#define PENDING_TIME_NS   (2 * NS_PER_S) /* what a hello takes at most while not too many are waiting */
#define OUTPUT_MAX        (64U << 20)

/* Nobody yet: counted and limited as such. */
static bool
is_pending(const struct session *s)
{
	return s->state == SESSION_NEW || s->state == SESSION_STRANGER;
}

static void
session_destroy(void *arg)
{
	struct session *s = arg;

	loop_timer_free(s->timer);
	document_free(s->document);
	upload_free(s->upload);
	free(s);
}

/* Takes it off every list; the memory goes when the loop's turn ends. */
static void
session_detach(struct session *s, const char *why)
{
	struct daemon *d = s->daemon;
	struct node *n = s->node;

	if (s->prev != NULL)
		s->prev->next = s->next;
	else
		d->sessions = s->next;
	if (s->next != NULL)
		s->next->prev = s->prev;
	d->session_count--;
	d->pending_count -= is_pending(s);
	if (s->state == SESSION_OPERATOR)
		d->operator_count--;
	loop_timer_cancel(s->timer);
	run_unwatch(s);
	s->conn = NULL;
	if (n != NULL && n->session == s) {
		n->session = NULL;
		clock_sync_disconnected(&n->clock);
		if (n->run != NULL && !d->stopping)
			run_on_away(n->run, n->member, why);
	}
	s->node = NULL;
	loop_defer(d->loop, session_destroy, s);
}

static void
log_end(const struct session *s, const char *why)
{
	char text[512], name[128];

	ls_log(s->state == SESSION_AGENT ? LS_LOG_INFO : LS_LOG_DEBUG, "connection ended",
	    "session=%llu peer=%s node=%s why=\"%s\"", (unsigned long long)s->number,
	    s->conn != NULL ? conn_peer_address(s->conn) : "-",
	    ls_log_escape(s->node != NULL ? s->node->name : NULL, name, sizeof(name)),
	    ls_log_escape(why, text, sizeof(text)));
}

void
session_end(struct session *s, const char *why)
{
	struct conn *conn = s->conn;

	log_end(s, why);
	session_detach(s, why);
	conn_close(conn);
}

void
session_fail(struct session *s, const struct ls_err *err)
{
	struct msg_error body = { .text = (char *)(uintptr_t)err->text };
	char text[512];

	if (s->conn == NULL)
		return;
	if (!is_pending(s) || log_budget_take(&s->daemon->refusals, ls_mono_now()))
		ls_log(LS_LOG_WARN, "connection refused", "session=%llu peer=%s why=\"%s\"",
		    (unsigned long long)s->number, conn_peer_address(s->conn),
		    ls_log_escape(err->text, text, sizeof(text)));
	session_send(s, MSG_ERROR, &body);
	session_end(s, err->text);
}

void
session_end_all(struct daemon *d)
{
	while (d->sessions != NULL) {
		struct session *s = d->sessions;
		struct conn *conn = s->conn;

		session_detach(s, "lockstepd stops");
		conn_close(conn);
	}
}

struct session *
session_find(struct daemon *d, uint64_t number)
{
	for (struct session *s = d->sessions; s != NULL; s = s->next)
		if (s->number == number)
			return s;
	return NULL;
}

char *
session_encode(enum msg_type type, const void *body, size_t *out_len)
{
	struct ls_err err = { 0 };
	char *text = NULL;

	if (msg_encode(type, body, &text, out_len, &err) == LS_OK)
		return text;
	ls_log(LS_LOG_ERROR, "message not sent", "type=%s why=\"%s\"", msg_info(type)->name, err.text);
	return NULL;
}

void
session_send_text(struct session *s, const char *text, size_t len)
{
	if (s != NULL && s->conn != NULL && text != NULL)
		conn_send(s->conn, text, len);
}

void
session_send(struct session *s, enum msg_type type, const void *body)
{
	size_t len = 0;
	char *text;

	if (s == NULL || s->conn == NULL)
		return;
	text = session_encode(type, body, &len);
	session_send_text(s, text, len);
	free(text);
}

void
session_ping(struct session *s)
{
	/* Stamped as late as can be: what encoding takes would look like a round trip. */
	struct msg_ping ping = clock_sync_ping(&s->node->clock, ls_mono_now());

	session_send(s, MSG_PING, &ping);
}

static void
on_heartbeat(void *arg)
{
	struct session *s = arg;
	int64_t rhythm = s->daemon->config->heartbeat;

	if (s->node == NULL)
		return;
	if (ls_mono_now().ns - s->node->heard.ns > MISSED_HEARTBEATS * rhythm) {
		session_end(s, "no answer to three heartbeats");
		return;
	}
	loop_timer_set(s->timer, rhythm);
	if (s->node->clock.burst_left == 0)
		session_ping(s);
}

static void
on_timer(void *arg)
{
	struct session *s = arg;
	struct ls_err err;

	if (s->state == SESSION_AGENT) {
		on_heartbeat(s);
		return;
	}
	if (!is_pending(s))
		return;
	ls_err_set(&err, LS_E_TIMEOUT, "no hello within %lld s", MSG_HELLO_TIMEOUT_NS / NS_PER_S);
	session_fail(s, &err);
}

void
session_welcome(struct session *s, enum session_state state)
{
	struct msg_welcome welcome = {
		.version = (char *)(uintptr_t)lockstep_version,
		.build = (char *)(uintptr_t)lockstep_build,
		.heartbeat_ns = s->daemon->config->heartbeat,
	};

	s->daemon->pending_count--;
	s->state = state;
	loop_timer_cancel(s->timer);
	conn_set_frame_max(s->conn, MSG_FRAME_MAX);
	session_send(s, MSG_WELCOME, &welcome);
	if (state == SESSION_OPERATOR)
		s->daemon->operator_count++;
	else
		/* Staggered by number, or all pings would queue behind each other after a storm of reconnects. */
		loop_timer_set(s->timer,
		    s->daemon->config->heartbeat / 2 +
			(int64_t)(s->number * 7919 % 997) * (s->daemon->config->heartbeat / 2 / 997));
}

static void
on_open(struct conn *conn, void *arg)
{
	struct session *s = arg;
	const struct identity *peer = conn_peer(conn);
	struct ls_err err;

	ls_log(LS_LOG_DEBUG, "connection opened", "session=%llu peer=%s role=%s", (unsigned long long)s->number,
	    conn_peer_address(conn), identity_role_names[peer->role]);
	if (strcmp(conn_peer_address(conn), "unix") == 0 || peer->role == ROLE_AGENT || peer->role == ROLE_OPERATOR)
		return;
	if (peer->role == ROLE_NONE) { /* over TLS: by the protocol for enrolment, or common/net had not let it in */
		s->state = SESSION_STRANGER;
		return;
	}
	ls_err_set(&err, LS_E_REFUSED, "a certificate of role %s may not connect to lockstepd",
	    identity_role_names[peer->role]);
	session_fail(s, &err);
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	(void)conn;
	(void)err;
	dispatch_frame(arg, (const char *)data, len, received);
	return LS_OK;
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct session *s = arg;
	char text[512];

	if (why->rc != LS_E_CLOSED && is_pending(s) && log_budget_take(&s->daemon->refusals, ls_mono_now()))
		ls_log(LS_LOG_WARN, "connection failed", "session=%llu peer=%s why=\"%s\"",
		    (unsigned long long)s->number, conn_peer_address(conn),
		    ls_log_escape(why->text, text, sizeof(text)));
	log_end(s, why->text);
	session_detach(s, why->text);
}

static const struct conn_events session_events = { on_open, on_frame, on_close };

bool
session_make_room(struct daemon *d)
{
	struct session *oldest = NULL;
	struct conn *conn;

	if (d->pending_count < PENDING_MAX)
		return true;
	for (struct session *s = d->sessions; s != NULL; s = s->next)
		if (is_pending(s))
			oldest = s; /* the newest come first */
	if (oldest == NULL || ls_mono_now().ns - oldest->since.ns < PENDING_TIME_NS)
		return false;
	conn = oldest->conn;
	log_end(oldest, "too many connections without a hello");
	session_detach(oldest, "too many connections without a hello");
	conn_drop(conn);
	return true;
}

void
session_accept(struct daemon *d, int fd, struct tls_ctx *tls)
{
	const struct conn_config config = { .frame_max = MSG_HELLO_MAX, .output_max = OUTPUT_MAX };
	struct session *s = ls_calloc(1, sizeof(*s));
	struct ls_err err = { 0 };

	s->daemon = d;
	s->state = SESSION_NEW;
	s->number = ++d->last_session;
	s->timer = loop_timer_new(d->loop, on_timer, s);
	s->next = d->sessions;
	if (d->sessions != NULL)
		d->sessions->prev = s;
	d->sessions = s;
	d->session_count++;
	d->pending_count++;
	s->since = ls_mono_now();
	loop_timer_set(s->timer, MSG_HELLO_TIMEOUT_NS);
	if (conn_accept(d->loop, fd, tls, &config, &session_events, s, &s->conn, &err) != LS_OK) {
		ls_log(LS_LOG_WARN, "connection not accepted", "why=\"%s\"", err.text);
		s->conn = NULL;
		session_detach(s, err.text);
	}
}
