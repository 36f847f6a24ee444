#include "common/base/journal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/defs.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* What people look for, by the key in the line. */
static const struct {
	const char *key, *field;
} known[] = { { "run", "RUN" }, { "node", "NODE" }, { "phase", "PHASE" } };

bool
journal_is_stream(int fd, const char *stream)
{
	char is[64];
	struct stat st;

	if (stream == NULL || fstat(fd, &st) != 0)
		return false;
	(void)snprintf(is, sizeof(is), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(is, stream) == 0;
}

int
journal_open(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Appends "NAME=value\n" if it fits as a whole. */
static size_t
add(char *buf, size_t len, size_t at, const char *name, const char *value, size_t value_len)
{
	size_t name_len = strlen(name);

	if (len - at < name_len + value_len + 2)
		return at;
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): a counted text, no string of C */
	memcpy(buf + at, name, name_len);
	at += name_len;
	buf[at++] = '=';
	for (size_t i = 0; i < value_len; i++)
		buf[at++] = (char)(value[i] == '\n' ? ' ' : value[i]);
	buf[at++] = '\n';
	return at;
}

/* The value behind "key=" at p, without quotes; *end: what follows it. */
static const char *
value_of(const char *p, size_t *value_len, const char **end)
{
	if (*p == '"') {
		*value_len = strcspn(++p, "\"");
		*end = p + *value_len + (p[*value_len] == '"');
		return p;
	}
	*value_len = strcspn(p, " ");
	*end = p + *value_len;
	return p;
}

static const char *
field_name(const char *key, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strlen(known[i].key) == len && memcmp(known[i].key, key, len) == 0)
			return known[i].field;
	return NULL;
}

size_t
journal_entry(char *buf, size_t len, int priority, const char *program, const char *line)
{
	char digit = (char)('0' + priority);
	size_t at = add(buf, len, 0, "PRIORITY", &digit, 1);

	at = add(buf, len, at, "SYSLOG_IDENTIFIER", program, strlen(program));
	at = add(buf, len, at, "MESSAGE", line, strlen(line));
	for (const char *p = line; *p != '\0';) {
		size_t word = strcspn(p, " =\""), value_len;
		const char *name = field_name(p, word);

		if (p[word] != '=') {
			p += strcspn(p, " ");
			p += strspn(p, " ");
			continue;
		}
		const char *value = value_of(p + word + 1, &value_len, &p);
		if (name != NULL)
			at = add(buf, len, at, name, value, value_len);
	}
	return at;
}

bool
journal_send(int fd, const char *entry, size_t len)
{
	return send(fd, entry, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}
