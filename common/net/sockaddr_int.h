/*
 * Socket addresses as text, for conn.c, dial.c and listen.c.
 */
#ifndef LS_COMMON_NET_SOCKADDR_INT_H
#define LS_COMMON_NET_SOCKADDR_INT_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/net/addr.h"

#define SOCKADDR_TEXT_BYTES 320

/*
 * "1.2.3.4:5" (IPv4 mapped into IPv6 too), "[::1]:5", "[fe80::1%eth0]:5", "unix:/path", or "unix" for a Unix socket without
 * a name. Returns buf.
 */
const char *sockaddr_format(const struct sockaddr *sa, socklen_t sa_len, char *buf, size_t len);

/* a: a Unix socket's address from addr_parse, so that its path fits. */
void sockaddr_unix(const struct addr *a, struct sockaddr_un *out);

/* The peer of a connected socket; "unix" for every Unix socket, "?" when it is gone already. Returns buf. */
const char *sockaddr_peer(int fd, char *buf, size_t len);

#endif
