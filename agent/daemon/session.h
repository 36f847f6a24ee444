/*
 * The connection to the coordinator: dials with back-off, says hello, waits for welcome, watches the pings. What is said in
 * frames beyond that is its owner's.
 */
#ifndef LS_AGENT_DAEMON_SESSION_H
#define LS_AGENT_DAEMON_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/loop.h"
#include "common/net/tls.h"

struct session;

enum session_state {
	SESSION_WAITING = 0, /* for the next attempt */
	SESSION_DIALING,
	SESSION_HELLO, /* said; welcome has not come */
	SESSION_UP,
	SESSION_STATE_COUNT
};

struct session_events {
	/* The transport stands: the text of hello, heap, taken over. */
	char *(*hello)(size_t *len, void *arg);

	/* A frame. An error ends the connection, after telling the other side why. */
	enum ls_rc (*on_frame)(const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err);

	void (*on_up)(void *arg);   /* after session_welcome */
	void (*on_down)(void *arg); /* was up and is not any more */
};

/* address and tls are borrowed. Dials at once, and goes on until freed. */
struct session *session_new(
    struct loop *loop, const char *address, struct tls_ctx *tls, const struct session_events *events, void *arg);

/* Ends it, without what is not yet sent. NULL-safe. */
void session_free(struct session *s);

/* How far the connection is. */
enum session_state session_state(const struct session *s);

/* Welcome has come: heartbeat_ns is the rhythm of pings, of which three may be missed. Raises on_up. */
void session_welcome(struct session *s, int64_t heartbeat_ns);

/* Sends a message's text. False, and nothing is sent, unless up. */
bool session_send(struct session *s, const char *text, size_t len);

/* Bytes that wait to be sent; bytes sent and received over all connections. */
size_t session_unsent(const struct session *s);
uint64_t session_net_bytes(const struct session *s);

#endif
