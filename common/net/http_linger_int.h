/*
 * Sockets whose last answer has been sent. What a client still sends is thrown away for a while: a socket that is closed before would be
 * reset, and the answer lost on its way. For http.c alone.
 */
#ifndef LS_COMMON_NET_HTTP_LINGER_INT_H
#define LS_COMMON_NET_HTTP_LINGER_INT_H

#include "common/net/loop.h"

#define HTTP_LINGER_NS (2 * NS_PER_S)

struct http_lingering;

struct http_lingering *http_lingering_new(struct loop *loop);
void http_lingering_free(struct http_lingering *all); /* NULL-safe; closes them */

/* Says that nothing more is sent, and keeps a duplicate of fd until the client closes, HTTP_LINGER_NS at most; fd stays the caller's. */
void http_linger(struct http_lingering *all, int fd);

#endif
