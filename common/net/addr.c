#include "common/net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#define HOST_NAME_MAX_BYTES 253 /* RFC 1035, without the root's dot */

static bool
is_host_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
	    c == '_';
}

/* text: "fe80::1" or "fe80::1%eth0" */
static bool
is_ipv6(const char *text)
{
	char literal[INET6_ADDRSTRLEN];
	struct in6_addr parsed;
	size_t n = strcspn(text, "%");

	if (n >= sizeof(literal))
		return false;
	if (text[n] == '%' && (text[n + 1] == '\0' || strspn(text + n + 1, "%[]:/ ") > 0))
		return false;
	memcpy(literal, text, n);
	literal[n] = '\0';
	return inet_pton(AF_INET6, literal, &parsed) == 1;
}

static bool
is_host(const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n > HOST_NAME_MAX_BYTES || text[0] == '-' || text[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_host_char(text[i]))
			return false;
	return true;
}

static enum ls_rc
parse_port(const char *text, const char *digits, uint16_t *out, struct ls_err *err)
{
	unsigned port = 0;
	size_t n = strlen(digits);

	if (n == 0 || n > 5 || strspn(digits, "0123456789") != n)
		return ls_err_set(err, LS_E_INVALID, "address '%.300s': the port must be a number up to 65535", text);
	for (size_t i = 0; i < n; i++)
		port = port * 10 + (unsigned)(digits[i] - '0');
	if (port > UINT16_MAX)
		return ls_err_set(err, LS_E_INVALID, "address '%.300s': the port must be a number up to 65535", text);
	*out = (uint16_t)port;
	return LS_OK;
}

static enum ls_rc
parse_unix(const char *text, struct addr *out, struct ls_err *err)
{
	const char *path = text + strlen("unix:");
	size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (path[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "address '%s': a path must follow unix:", text);
	if (strlen(path) > max)
		return ls_err_set(
		    err, LS_E_INVALID, "address '%.300s': the path of a Unix socket has %zu bytes at most", text, max);
	out->is_unix = true;
	snprintf(out->host, sizeof(out->host), "%s", path);
	return LS_OK;
}

/* "[IPv6]" or "[IPv6]:PORT" */
static enum ls_rc
parse_bracketed(const char *text, struct addr *out, struct ls_err *err)
{
	const char *end = strchr(text, ']');
	size_t n = end == NULL ? 0 : (size_t)(end - text - 1);

	if (end == NULL || n >= sizeof(out->host) || (end[1] != '\0' && end[1] != ':'))
		return ls_err_set(err, LS_E_INVALID, "address '%.300s': expected [IPv6]:PORT", text);
	memcpy(out->host, text + 1, n);
	out->host[n] = '\0';
	if (!is_ipv6(out->host))
		return ls_err_set(err, LS_E_INVALID, "address '%.300s': not an IPv6 address in brackets", text);
	if (end[1] == ':')
		return parse_port(text, end + 2, &out->port, err);
	return LS_OK;
}

/* "HOST", "HOST:PORT", ":PORT" or a bare IPv6 literal */
static enum ls_rc
parse_unbracketed(const char *text, struct addr *out, struct ls_err *err)
{
	const char *colon = strchr(text, ':');
	bool bare = colon == NULL || strchr(colon + 1, ':') != NULL;
	size_t n = bare ? strlen(text) : (size_t)(colon - text);

	if (n >= sizeof(out->host))
		return ls_err_set(err, LS_E_INVALID, "address '%.300s...': the host is too long", text);
	memcpy(out->host, text, n);
	out->host[n] = '\0';
	if (n > 0 && !is_host(out->host) && !(bare && is_ipv6(out->host)))
		return ls_err_set(err, LS_E_INVALID, "address '%.300s': '%s' is neither a host name nor an IP address",
		    text, out->host);
	return bare ? LS_OK : parse_port(text, colon + 1, &out->port, err);
}

enum ls_rc
addr_parse(const char *text, uint16_t default_port, struct addr *out, struct ls_err *err)
{
	struct addr parsed = { .port = default_port };
	enum ls_rc rc;

	if (text[0] == '\0')
		return ls_err_set(err, LS_E_INVALID, "the address is empty");
	if (strncmp(text, "unix:", strlen("unix:")) == 0)
		rc = parse_unix(text, &parsed, err);
	else if (text[0] == '[')
		rc = parse_bracketed(text, &parsed, err);
	else
		rc = parse_unbracketed(text, &parsed, err);
	if (rc != LS_OK)
		return rc;
	if (parsed.is_unix)
		parsed.port = 0;
	*out = parsed;
	return LS_OK;
}

const char *
addr_format(const struct addr *a, char *buf, size_t len)
{
	if (a->is_unix)
		snprintf(buf, len, "unix:%s", a->host);
	else if (strchr(a->host, ':') != NULL)
		snprintf(buf, len, "[%s]:%u", a->host, (unsigned)a->port);
	else
		snprintf(buf, len, "%s:%u", a->host, (unsigned)a->port);
	return buf;
}
