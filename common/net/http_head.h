/*
 * The head of an HTTP request, read strictly: what is not plainly right is an error and ends the connection. Pure.
 */
#ifndef LS_COMMON_NET_HTTP_HEAD_H
#define LS_COMMON_NET_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX 8192 /* bytes of a head */

struct http_head {
	bool head_only;           /* HEAD: the answer has no body */
	bool keep_alive;          /* the connection may be used again */
	char path[256];           /* as it came, from "/" on, without the query: only letters, digits and . _ / - */
	char authorization[1024]; /* "" when there is none */
};

/* Offset just behind the empty line that ends a head within len bytes, 0: it has not come yet. */
size_t http_head_end(const char *text, size_t len);

/*
 * Reads a head of len bytes, its empty line included. Returns 0, or the status to answer before closing: 400 (not HTTP, a path with
 * other characters or "..", no or two Host, a field twice or folded), 405 (neither GET nor HEAD), 413 (a body), 414, 431, 505.
 */
int http_head_parse(const char *text, size_t len, struct http_head *out);

#endif
