/*
 * What the tests of connections share: a peer that records its events and can be told how to behave. Included once by each
 * test program.
 */
#ifndef LS_TESTS_UNIT_COMMON_NET_FIXTURE_H
#define LS_TESTS_UNIT_COMMON_NET_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/net/conn.h"
#include "common/net/listen.h"
#include "common/net/loop.h"
#include "tests/unit/common/net/waiting.h"

enum peer_action {
	PEER_NOTHING = 0,
	PEER_ECHO,
	PEER_CLOSE,
	PEER_DROP,
	PEER_REFUSE,            /* on_frame: returns an error with a text */
	PEER_REFUSE_SPEECHLESS, /* on_frame: returns an error without one */
	PEER_SAY_AND_REFUSE,    /* on_frame: sends "sorry", then returns an error */
	PEER_SEND,              /* sends text */
};

struct peer {
	struct loop *loop;
	struct conn *conn;
	enum peer_action on_open, on_frame, on_close; /* what to do there */
	const char *text;
	unsigned opened, closed, frames;
	size_t bytes;
	bool in_order;           /* each frame began with its own number (uint32_t) */
	char last[64];           /* the beginning of the last frame */
	struct ls_mono received; /* of the last frame */
	struct ls_err why;
	struct identity identity;
	char address[320];
};

static inline void
peer_act(struct peer *p, struct conn *conn, enum peer_action action, const void *data, size_t len)
{
	switch (action) {
	case PEER_ECHO:
		conn_send(conn, data, len);
		break;
	case PEER_SEND:
		conn_send(conn, p->text, strlen(p->text));
		break;
	case PEER_CLOSE:
		conn_close(conn);
		break;
	case PEER_DROP:
		conn_drop(conn);
		break;
	case PEER_SAY_AND_REFUSE:
		conn_send(conn, "sorry", 5);
		break;
	case PEER_NOTHING:
	case PEER_REFUSE:
	case PEER_REFUSE_SPEECHLESS:
		break;
	}
}

static inline void
peer_on_open(struct conn *conn, void *arg)
{
	struct peer *p = arg;

	assert_ptr_equal(conn, p->conn);
	assert_int_equal(p->opened, 0);
	p->opened++;
	p->identity = *conn_peer(conn);
	snprintf(p->address, sizeof(p->address), "%s", conn_peer_address(conn));
	peer_act(p, conn, p->on_open, NULL, 0);
}

static inline enum ls_rc
peer_on_frame(
    struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct peer *p = arg;
	uint32_t number = 0;

	assert_ptr_equal(conn, p->conn);
	assert_int_equal(p->opened, 1);
	assert_int_equal(p->closed, 0);
	if (len >= sizeof(number))
		memcpy(&number, data, sizeof(number));
	if (number != p->frames)
		p->in_order = false;
	p->frames++;
	p->bytes += len;
	p->received = received;
	snprintf(p->last, sizeof(p->last), "%.*s", (int)LS_MIN(len, sizeof(p->last) - 1), (const char *)data);
	peer_act(p, conn, p->on_frame, data, len);
	if (p->on_frame == PEER_REFUSE || p->on_frame == PEER_SAY_AND_REFUSE)
		return ls_err_set(err, LS_E_REFUSED, "no such frame, please");
	return p->on_frame == PEER_REFUSE_SPEECHLESS ? LS_E_STATE : LS_OK;
}

static inline void
peer_on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct peer *p = arg;

	assert_ptr_equal(conn, p->conn);
	assert_int_equal(p->closed, 0);
	assert_int_not_equal(why->rc, LS_OK);
	assert_true(why->text[0] != '\0');
	p->closed++;
	p->why = *why;
	peer_act(p, conn, p->on_close, NULL, 0);
	conn_send(conn, "late", 4); /* harmless */
	p->conn = NULL;
}

static const struct conn_events peer_events = {
	.on_open = peer_on_open,
	.on_frame = peer_on_frame,
	.on_close = peer_on_close,
};

static const struct conn_config peer_config = { .frame_max = 1u << 20 };

static inline bool
until_opened(void *arg)
{
	const struct peer *p = arg;

	return p->opened > 0 || p->closed > 0;
}

static inline bool
until_closed(void *arg)
{
	const struct peer *p = arg;

	return p->closed > 0;
}

static inline bool
until_frame(void *arg)
{
	const struct peer *p = arg;

	return p->frames > 0 || p->closed > 0;
}

static inline void
peer_init(struct peer *p, struct loop *loop)
{
	*p = (struct peer){ .loop = loop, .in_order = true };
}

/* Two connections over a socketpair. */
static inline void
peers_over_socketpair(struct peer *a, struct peer *b, const struct conn_config *config)
{
	int fds[2];
	struct ls_err err;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(conn_accept(a->loop, fds[0], NULL, config, &peer_events, a, &a->conn, &err), LS_OK);
	assert_int_equal(conn_accept(b->loop, fds[1], NULL, config, &peer_events, b, &b->conn, &err), LS_OK);
}

#endif
