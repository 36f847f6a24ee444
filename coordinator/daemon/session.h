/*
 * A connection to lockstepd: from acceptance over hello to an agent's or an operator's session.
 */
#ifndef LS_COORDINATOR_DAEMON_SESSION_H
#define LS_COORDINATOR_DAEMON_SESSION_H

#include "common/net/conn.h"
#include "coordinator/daemon/daemon_int.h"

enum session_state {
	SESSION_NEW = 1, /* before hello was accepted */
	SESSION_AGENT = 2,
	SESSION_OPERATOR = 4,
	SESSION_STRANGER = 8, /* without a certificate, who wants one */
};

struct session {
	struct daemon *daemon;
	struct conn *conn;
	enum session_state state;
	uint64_t number;
	struct ls_mono since;     /* accepted */
	struct loop_timer *timer; /* until welcome: hello's deadline. Agents: heartbeat */
	struct node *node;        /* agents */

	/* operators */
	bool busy;                 /* an answer is under way */
	struct run *watched;       /* whose events go here */
	bool quiet;                /* wants only the end of it */
	struct document *document; /* being sent */
	struct upload *upload;     /* being received */

	struct session *next, *prev;
};

/*
 * Room for one more that has not said hello? If there are too many, the oldest goes, when it has had its time: who only holds a
 * connection open must not keep agents out, and a storm of agents not those that are being served.
 */
bool session_make_room(struct daemon *d);

/* Takes over an accepted socket. tls NULL: the Unix socket. */
void session_accept(struct daemon *d, int fd, struct tls_ctx *tls);

/* Sends a message; body: struct msg_<id>. One that is too large for a frame is logged and not sent. NULL-safe. */
void session_send(struct session *s, enum msg_type type, const void *body);

/*
 * The same in two steps, for what many get: a thousand copies are encoded once. session_encode: heap, the caller frees it; NULL when it
 * is too large for a frame, which is logged.
 */
char *session_encode(enum msg_type type, const void *body, size_t *out_len);
void session_send_text(struct session *s, const char *text, size_t len);

/* Sends an error message with err's text, logs it and ends the session. */
void session_fail(struct session *s, const struct ls_err *err);

/* Ends the session at once; why: for the log and the run. The session must not be used any more. */
void session_end(struct session *s, const char *why);

/* The session of that number if it still exists. */
struct session *session_find(struct daemon *d, uint64_t number);

/* Ends all, without a word: the daemon stops. */
void session_end_all(struct daemon *d);

/* A ping right now, as the next of a burst too. */
void session_ping(struct session *s);

/* hello was accepted. */
void session_welcome(struct session *s, enum session_state state);

#endif
