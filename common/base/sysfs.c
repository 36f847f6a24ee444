#include "common/base/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"

#define LINE_MAX_BYTES 512
#define NAMES_LIMIT    4096

static bool LS_PRINTF(4, 0) make_path(char *out, size_t size, const char *root, const char *fmt, va_list ap)
{
	int n = snprintf(out, size, "%s", root);

	if (n < 0 || (size_t)n >= size)
		return false;

	int m = vsnprintf(out + n, size - (size_t)n, fmt, ap);

	return m >= 0 && (size_t)m < size - (size_t)n;
}

static char *
read_line(const char *path)
{
	char line[LINE_MAX_BYTES + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return NULL;

	ssize_t n = read(fd, line, LINE_MAX_BYTES);

	close(fd);
	if (n <= 0)
		return NULL;
	line[n] = '\0';

	char *from = line + strspn(line, " \t");
	size_t len = strcspn(from, "\n");

	while (len > 0 && (from[len - 1] == ' ' || from[len - 1] == '\t'))
		len--;
	from[len] = '\0';
	for (char *p = from; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return len > 0 ? ls_strdup(from) : NULL;
}

char *
sysfs_line(const char *root, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	bool ok = make_path(path, sizeof(path), root, fmt, ap);
	va_end(ap);
	return ok ? read_line(path) : NULL;
}

bool
sysfs_number(uint64_t *out, const char *root, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	bool ok = make_path(path, sizeof(path), root, fmt, ap);
	va_end(ap);

	char *line = ok ? read_line(path) : NULL;

	if (line == NULL)
		return false;

	char *end = line;

	errno = 0;
	unsigned long long value = strtoull(line, &end, 10);

	ok = end != line && *line != '-' && errno == 0 && value <= INT64_MAX;
	if (ok)
		*out = value;
	free(line);
	return ok;
}

char *
sysfs_link(const char *root, const char *path)
{
	char whole[PATH_MAX], target[PATH_MAX];
	int n = snprintf(whole, sizeof(whole), "%s%s", root, path);

	if (n < 0 || (size_t)n >= sizeof(whole))
		return NULL;

	ssize_t len = readlink(whole, target, sizeof(target) - 1);

	if (len < 0)
		return NULL;
	target[len] = '\0';
	return ls_strdup(target);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **
sysfs_names(size_t *count, const char *root, const char *fmt, ...)
{
	char path[PATH_MAX];
	char **names = NULL;
	const struct dirent *entry;
	va_list ap;

	*count = 0;
	va_start(ap, fmt);
	bool ok = make_path(path, sizeof(path), root, fmt, ap);
	va_end(ap);

	DIR *dir = ok ? opendir(path) : NULL;

	if (dir == NULL)
		return NULL;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while (*count < NAMES_LIMIT && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		names = ls_grow(names, *count, sizeof(*names));
		names[(*count)++] = ls_strdup(entry->d_name);
	}
	closedir(dir);
	if (*count > 1)
		qsort(names, *count, sizeof(*names), by_name);
	return names;
}

void
sysfs_names_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}
