/*
 * A small HTTPS server for what is only looked at: GET and HEAD, no bodies of requests, answers that are whole texts. Nobody can hold
 * it up: connections are few and the oldest that says nothing makes room, a head has HTTP_HEAD_MAX bytes and a deadline for the whole of
 * it, an answer that is not read is dropped. All in the loop's thread; answers may come later, e.g. from another thread's work.
 *
 * Own, not libevent's evhttp: that has no bound on connections nor on how long a head or the reading of an answer may take, as its timeouts
 * begin anew with each byte.
 */
#ifndef LS_COMMON_NET_HTTP_H
#define LS_COMMON_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/http_head.h"
#include "common/net/loop.h"
#include "common/net/tls.h"

#define HTTP_CONNECTIONS_MAX 64
#define HTTP_ACCEPTS_MAX     50              /* in a second: a handshake costs the loop a millisecond */
#define HTTP_HEAD_NS         (10 * NS_PER_S) /* for handshake and head */
#define HTTP_IDLE_NS         (60 * NS_PER_S) /* between two requests */
#define HTTP_DRAIN_NS        (10 * NS_PER_S) /* in each of which HTTP_DRAIN_BYTES of an answer must be taken */
#define HTTP_DRAIN_BYTES     (64U << 10)
#define HTTP_PENDING_MAX     (256UL << 20) /* bytes of all answers that wait to be read */

struct http_server;

struct http_request {
	uint64_t number; /* for http_answer */
	const struct http_head *head;
	const struct identity *peer; /* role NONE without a certificate */
	const char *address;         /* of the peer */
};

/* A request came; all is borrowed for the call. It is answered once, by http_answer, then or later. */
typedef void (*http_fn)(const struct http_request *request, void *arg);

struct http_answer {
	int status;
	const char *type;   /* of the body; NULL without one */
	const char *policy; /* Content-Security-Policy; NULL: nothing is allowed */
	const char *cache;  /* Cache-Control; NULL: no-store */
	const char *more;   /* further fields, each ended by CRLF; NULL: none */
	char *body;         /* heap, taken over; may be NULL */
	size_t len;
};

/* tls: of side TLS_WEB, borrowed for good. Errors: as listener_new. */
enum ls_rc http_server_new(struct loop *loop, const char *address, struct tls_ctx *tls, http_fn fn, void *arg,
    struct http_server **out, struct ls_err *err) LS_MUST_CHECK;
void http_server_free(struct http_server *s); /* NULL-safe */
const char *http_server_address(const struct http_server *s);

/* Ends all connections: their clients have to be judged anew. */
void http_server_drop_clients(struct http_server *s);

/* Harmless when the client has gone meanwhile; the body is freed then. */
void http_answer(struct http_server *s, uint64_t number, struct http_answer *answer);

#endif
