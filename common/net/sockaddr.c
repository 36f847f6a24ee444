#include "common/net/sockaddr_int.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const char *
format_unix(const struct sockaddr_un *un, socklen_t sa_len, char *buf, size_t len)
{
	struct addr a = { .is_unix = true };
	size_t head = offsetof(struct sockaddr_un, sun_path);

	if (sa_len <= head || un->sun_path[0] == '\0')
		snprintf(buf, len, "unix");
	else {
		snprintf(a.host, sizeof(a.host), "%.*s", (int)(sa_len - head), un->sun_path);
		addr_format(&a, buf, len);
	}
	return buf;
}

const char *
sockaddr_format(const struct sockaddr *sa, socklen_t sa_len, char *buf, size_t len)
{
	struct addr a = { .port = 0 };
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	switch (sa->sa_family) {
	case AF_UNIX:
		return format_unix((const struct sockaddr_un *)(const void *)sa, sa_len, buf, len);
	case AF_INET:
		memcpy(&in, sa, sizeof(in));
		a.port = ntohs(in.sin_port);
		inet_ntop(AF_INET, &in.sin_addr, a.host, sizeof(a.host));
		return addr_format(&a, buf, len);
	case AF_INET6:
		memcpy(&in6, sa, sizeof(in6));
		a.port = ntohs(in6.sin6_port);
		if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
			inet_ntop(AF_INET, &in6.sin6_addr.s6_addr[12], a.host, sizeof(a.host));
		else if (getnameinfo(sa, sa_len, a.host, sizeof(a.host), NULL, 0, NI_NUMERICHOST) != 0)
			snprintf(a.host, sizeof(a.host), "::");
		return addr_format(&a, buf, len);
	default:
		snprintf(buf, len, "?");
		return buf;
	}
}

void
sockaddr_unix(const struct addr *a, struct sockaddr_un *out)
{
	size_t n = strnlen(a->host, sizeof(out->sun_path) - 1);

	*out = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(out->sun_path, a->host, n);
}

const char *
sockaddr_peer(int fd, char *buf, size_t len)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t ss_len = sizeof(ss);

	if (getpeername(fd, (struct sockaddr *)&ss, &ss_len) != 0)
		snprintf(buf, len, "?");
	else if (ss.ss_family == AF_UNIX)
		snprintf(buf, len, "unix");
	else
		sockaddr_format((const struct sockaddr *)&ss, ss_len, buf, len);
	return buf;
}
