#include "agent/runner/ext_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/defs.h"

/* A small file of /proc; false when it is not there (any more). */
static int
read_proc(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return 0;
	buf[n] = '\0';
	return 1;
}

static size_t
add_pids(const char *text, pid_t *out, size_t n, size_t max)
{
	char *end;

	for (;;) {
		long pid = strtol(text, &end, 10);

		if (end == text || n >= max)
			return n;
		if (pid > 0)
			out[n++] = (pid_t)pid;
		text = end;
	}
}

/* Children by the kernel's own list (CONFIG_PROC_CHILDREN), of all threads. */
static size_t
children_of(pid_t pid, pid_t *out, size_t n, size_t max)
{
	char path[96];
	char text[8192];
	struct dirent *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return n;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while ((d = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, d->d_name);
		if (read_proc(path, text, sizeof(text)))
			n = add_pids(text, out, n, max);
	}
	closedir(dir);
	return n;
}

/* Fields of /proc/PID/stat after the name, which may contain anything; 0: state, 1: parent. */
static int
stat_fields(pid_t pid, long long *out, size_t count)
{
	char path[64];
	char text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_proc(path, text, sizeof(text)))
		return 0;

	char *p = strrchr(text, ')');
	if (p == NULL || p[1] == '\0' || p[2] == '\0')
		return 0;
	out[0] = (unsigned char)p[2];
	p += 3;
	for (size_t i = 1; i < count; i++)
		out[i] = strtoll(p, &p, 10);
	return 1;
}

/* Children by looking at all processes: where the kernel keeps no list. */
static size_t
children_by_scan(pid_t pid, pid_t *out, size_t n, size_t max)
{
	struct dirent *d;
	DIR *dir = opendir("/proc");

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while (dir != NULL && n < max && (d = readdir(dir)) != NULL) {
		long long fields[2];
		long other = strtol(d->d_name, NULL, 10);

		if (other > 0 && stat_fields((pid_t)other, fields, ARRAY_LEN(fields)) && fields[1] == pid)
			out[n++] = (pid_t)other;
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

size_t
ext_tree_list(pid_t root, pid_t *out, size_t max)
{
	size_t n = 0;
	int listed = access("/proc/thread-self/children", R_OK) == 0;

	n = listed ? children_of(root, out, n, max) : children_by_scan(root, out, n, max);
	for (size_t i = 0; i < n; i++)
		n = listed ? children_of(out[i], out, n, max) : children_by_scan(out[i], out, n, max);
	return n;
}

static uint64_t
line_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static int64_t
ticks_ns(long long ticks)
{
	static const long long per_second = 100; /* USER_HZ, part of the kernel's interface */

	return (int64_t)ticks * (NS_PER_S / per_second);
}

static void
add_process(pid_t pid, struct ext_counts *c)
{
	char path[64];
	char text[512];
	long long f[15];

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	if (read_proc(path, text, sizeof(text))) {
		c->read_bytes += line_value(text, "rchar: ");
		c->write_bytes += line_value(text, "wchar: ");
		c->reads += line_value(text, "syscr: ");
		c->writes += line_value(text, "syscw: ");
		c->device_read += line_value(text, "\nread_bytes: ");
		c->device_write += line_value(text, "\nwrite_bytes: ");
	}
	/* utime, stime, and those of children that were waited for */
	if (stat_fields(pid, f, ARRAY_LEN(f))) {
		c->user_ns += ticks_ns(f[11] + f[13]);
		c->system_ns += ticks_ns(f[12] + f[14]);
	}
}

void
ext_tree_counts(pid_t root, struct ext_counts *out)
{
	pid_t pids[EXT_TREE_MAX];
	size_t n = ext_tree_list(root, pids, EXT_TREE_MAX);

	*out = (struct ext_counts){ 0 };
	add_process(root, out);
	for (size_t i = 0; i < n; i++)
		add_process(pids[i], out);
}
