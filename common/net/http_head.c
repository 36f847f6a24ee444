#include "common/net/http_head.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/defs.h"

#define TOKEN_CHARS "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define PATH_CHARS  "/._-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A stretch of the text. */
struct span {
	const char *at;
	size_t len;
};

static bool
span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

static bool
all_of(struct span s, const char *chars)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] == '\0' || strchr(chars, s.at[i]) == NULL)
			return false;
	return true;
}

size_t
http_head_end(const char *text, size_t len)
{
	const char *end = memmem(text, len, "\r\n\r\n", 4);

	return end == NULL ? 0 : (size_t)(end - text) + 4;
}

/* The line at *from, without its CRLF; moves *from behind it. The text ends with an empty line. */
static struct span
next_line(const char *text, size_t len, size_t *from)
{
	const char *end = memmem(text + *from, len - *from, "\r\n", 2);
	struct span line = { text + *from, end == NULL ? 0 : (size_t)(end - text) - *from };

	*from += line.len + 2;
	return line;
}

/* Up to the next blank; moves *line behind it. */
static struct span
next_word(struct span *line)
{
	const char *blank = memchr(line->at, ' ', line->len);
	struct span word = { line->at, blank == NULL ? line->len : (size_t)(blank - line->at) };
	size_t used = word.len + (blank != NULL);

	line->at += used;
	line->len -= used;
	return word;
}

/* No percent signs: nothing that is served has a name that needs them, and what cannot be written cannot be misread. */
static int
take_path(struct span target, struct http_head *out)
{
	const char *query = memchr(target.at, '?', target.len);
	struct span path = { target.at, query == NULL ? target.len : (size_t)(query - target.at) };

	if (path.len >= sizeof(out->path))
		return 414;
	if (path.len == 0 || path.at[0] != '/' || !all_of(path, PATH_CHARS))
		return 400;
	memcpy(out->path, path.at, path.len);
	out->path[path.len] = '\0';
	return strstr(out->path, "..") != NULL || strstr(out->path, "//") != NULL ? 400 : 0;
}

static int
take_request_line(struct span line, struct http_head *out)
{
	struct span method = next_word(&line), target = next_word(&line);

	if (method.len == 0 || !all_of(method, TOKEN_CHARS) || target.len == 0)
		return 400;
	if (!span_is(line, "HTTP/1.1") && !span_is(line, "HTTP/1.0"))
		return line.len > 5 && strncmp(line.at, "HTTP/", 5) == 0 && memchr(line.at, ' ', line.len) == NULL
		    ? 505
		    : 400;
	out->keep_alive = span_is(line, "HTTP/1.1");
	out->head_only = method.len == 4 && memcmp(method.at, "HEAD", 4) == 0;
	if (!out->head_only && (method.len != 3 || memcmp(method.at, "GET", 3) != 0))
		return 405;
	return take_path(target, out);
}

/* What is asked of a field may be there once. */
struct seen {
	unsigned host, authorization;
};

static int
take_field(struct span line, struct http_head *out, struct seen *seen)
{
	const char *colon = memchr(line.at, ':', line.len);
	struct span name = { line.at, colon == NULL ? 0 : (size_t)(colon - line.at) };
	struct span value;

	if (name.len == 0 || !all_of(name, TOKEN_CHARS))
		return 400;
	value = (struct span){ colon + 1, line.len - name.len - 1 };
	while (value.len > 0 && (value.at[0] == ' ' || value.at[0] == '\t')) {
		value.at++;
		value.len--;
	}
	while (value.len > 0 && (value.at[value.len - 1] == ' ' || value.at[value.len - 1] == '\t'))
		value.len--;
	for (size_t i = 0; i < value.len; i++)
		if (((unsigned char)value.at[i] < 0x20 && value.at[i] != '\t') || value.at[i] == 0x7f)
			return 400;
	if (span_is(name, "transfer-encoding") || (span_is(name, "content-length") && !span_is(value, "0")))
		return 413;
	if (span_is(name, "host"))
		seen->host++;
	if (span_is(name, "connection") && span_is(value, "close"))
		out->keep_alive = false;
	if (!span_is(name, "authorization"))
		return 0;
	seen->authorization++;
	if (value.len >= sizeof(out->authorization))
		return 431;
	memcpy(out->authorization, value.at, value.len);
	out->authorization[value.len] = '\0';
	return 0;
}

int
http_head_parse(const char *text, size_t len, struct http_head *out)
{
	struct seen seen = { 0 };
	size_t from = 0;
	int status;

	*out = (struct http_head){ 0 };
	if (len > HTTP_HEAD_MAX)
		return 431;
	if (http_head_end(text, len) != len || memchr(text, '\0', len) != NULL)
		return 400;
	status = take_request_line(next_line(text, len, &from), out);
	while (status == 0) {
		struct span line = next_line(text, len, &from);

		if (line.len == 0)
			break;
		status = take_field(line, out, &seen);
	}
	if (status != 0)
		return status;
	return seen.host == 1 && seen.authorization <= 1 ? 0 : 400;
}
