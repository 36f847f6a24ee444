/*
 * A small HTTPS server for what is only looked at: GET and HEAD, no bodies of requests, answers that are whole texts. libevent's evhttp
 * reads and writes HTTP, its bufferevent_openssl TLS; what they do not bound is bounded here: how many connections there are and how
 * fast they come, how long handshake and head take, how slowly an answer may be read, how much of answers waits. All in the loop's thread;
 * answers may come later, e.g. from another thread's work.
 */
#ifndef LS_COMMON_NET_HTTP_H
#define LS_COMMON_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/loop.h"
#include "common/net/tls.h"

#define HTTP_HEAD_MAX        8192 /* bytes of a head */
#define HTTP_CONNECTIONS_MAX 64
#define HTTP_ACCEPTS_MAX     50              /* in a second: a handshake costs the loop a millisecond; others wait */
#define HTTP_HEAD_NS         (10 * NS_PER_S) /* for the handshake, and then for each head from its first byte on */
#define HTTP_IDLE_NS         (60 * NS_PER_S) /* between two requests */
#define HTTP_DRAIN_NS        (10 * NS_PER_S) /* in each of which HTTP_DRAIN_BYTES of an answer must be taken */
#define HTTP_DRAIN_BYTES     (64U << 10)
#define HTTP_PENDING_MAX     (256UL << 20) /* bytes of all answers that wait to be read */

struct http_server;

struct http_request {
	uint64_t number;  /* for http_answer */
	const char *path; /* as it came, from "/" on, without the query: only letters, digits and . _ / -, no ".." */
	const char *authorization;   /* "" when there is none */
	const struct identity *peer; /* role NONE without a certificate */
	const char *address;         /* of the peer */
};

/* A request came; all is borrowed for the call. It is answered once, by http_answer, then or later. */
typedef void (*http_fn)(const struct http_request *request, void *arg);

/* A field of an answer's head. */
struct http_field {
	const char *name, *value;
};

struct http_answer {
	int status;
	const char *type;              /* of the body; NULL without one */
	const char *policy;            /* Content-Security-Policy; NULL: nothing is allowed */
	const char *cache;             /* Cache-Control; NULL: no-store */
	const struct http_field *more; /* further fields, up to one without a name; NULL: none */
	char *body;                    /* heap, taken over; may be NULL */
	size_t len;
};

/* tls: of side TLS_WEB, borrowed for good. Errors: as listen_socket. */
enum ls_rc http_server_new(struct loop *loop, const char *address, struct tls_ctx *tls, http_fn fn, void *arg,
    struct http_server **out, struct ls_err *err) LS_MUST_CHECK;
void http_server_free(struct http_server *s); /* NULL-safe */
const char *http_server_address(const struct http_server *s);

/* Ends all connections: their clients have to be judged anew. */
void http_server_drop_clients(struct http_server *s);

/* Harmless when the client has gone meanwhile; the body is freed then. */
void http_answer(struct http_server *s, uint64_t number, struct http_answer *answer);

#endif
