/*
 * The one parser of addresses: "HOST:PORT", "[IPv6]:PORT", "[fe80::1%eth0]:PORT", ":PORT", "unix:/path"; a bare IPv6 literal
 * or host takes the default port. Pure.
 */
#ifndef LS_COMMON_NET_ADDR_H
#define LS_COMMON_NET_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define LOCKSTEP_PORT 7437

struct addr {
	bool is_unix;
	char host[256]; /* empty: any. For Unix sockets the path */
	uint16_t port;
};

/*
 * "host", "host:port", "[IPv6]:port" or "unix:/path"; without a port the default. Looks nothing up.
 * out is untouched on error. Errors: LS_E_INVALID, LS_E_RANGE. Pure.
 */
enum ls_rc addr_parse(const char *text, uint16_t default_port, struct addr *out, struct ls_err *err) LS_MUST_CHECK;

/* "host:port", IPv6 in brackets, or "unix:/path"; returns buf (300 bytes are enough). */
const char *addr_format(const struct addr *a, char *buf, size_t len);

#endif
