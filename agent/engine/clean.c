/* Removing what engines made. No more than four levels of directories: the recursion ends there. */
#include "agent/engine/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine.h"
#include "agent/engine/path.h"
#include "common/base/mem.h"

#define LEFT_MAX    64 /* paths that are named; more would only be noise */
#define STALE_TRIES 3
#define LEVELS      3 /* n<node>/b.<worker>/00000/, n<node>/tool/Bonnie.<pid>/00000/ */

struct leftovers {
	char ***list;
	size_t *count;
};

static void
add_left(const struct leftovers *left, const char *dir, const char *name, int errnum)
{
	char why[128];
	char *text = ls_asprintf("%s%s%s: %s", dir, name != NULL ? "/" : "", name != NULL ? name : "",
	    ls_strerror(errnum, why, sizeof(why)));

	/* A directory that takes several passes says the same each time. */
	bool known = *left->count >= LEFT_MAX;
	for (size_t i = 0; i < *left->count && !known; i++)
		known = strcmp((*left->list)[i], text) == 0;
	if (known) {
		free(text);
		return;
	}
	*left->list = ls_grow(*left->list, *left->count, sizeof(**left->list));
	(*left->list)[(*left->count)++] = text;
}

static bool
is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool remove_sub(int dir_fd, const char *above, const char *name, unsigned levels, const struct leftovers *left);

/*
 * One pass over a directory: unlinks what can be unlinked, and removes directories within down to so many levels. Where
 * report is set, what stays is named. Returns how many went.
 */
static size_t
pass(DIR *dir, const char *path, unsigned levels, const struct leftovers *left, bool report)
{
	size_t gone = 0;
	struct dirent *d;

	rewinddir(dir);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while ((d = readdir(dir)) != NULL) {
		if (is_dot(d->d_name))
			continue;
		if (unlinkat(dirfd(dir), d->d_name, 0) == 0) {
			gone++;
			continue;
		}
		int errnum = errno;
		/* Linux says EISDIR, POSIX EPERM, for a directory. */
		if (levels > 0 && (errnum == EISDIR || errnum == EPERM) && !report)
			gone += remove_sub(dirfd(dir), path, d->d_name, levels - 1, left) ? 1 : 0;
		else if (report && errnum != ENOENT)
			add_left(left, path, d->d_name, errnum);
	}
	return gone;
}

/* Empties a directory: passes until nothing goes any more (a pass may miss entries while it removes), then names what stays. */
static void
empty_dir(int fd, const char *path, unsigned levels, const struct leftovers *left)
{
	DIR *dir = fdopendir(fd);

	if (dir == NULL) {
		add_left(left, path, NULL, errno);
		close(fd);
		return;
	}
	while (pass(dir, path, levels, left, false) > 0)
		continue;
	pass(dir, path, 0, left, true);
	closedir(dir);
}

/* A directory within one of ours. */
static bool
remove_sub(int dir_fd, const char *above, const char *name, unsigned levels, const struct leftovers *left)
{
	char *path = ls_asprintf("%s/%s", above, name);
	int fd = path_open(dir_fd, name, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		empty_dir(fd, path, levels, left);
	free(path);
	return unlinkat(dir_fd, name, AT_REMOVEDIR) == 0;
}

/*
 * Other nodes may remove the same directory at the same moment. What this one still believed to be there is then stale (ESTALE, on file
 * systems of several machines), and the next look finds that it is gone.
 */
static int
open_top(int run_dir_fd, const char *name)
{
	int fd = -1;

	for (int i = 0; i < STALE_TRIES; i++) {
		fd = path_open(run_dir_fd, name, O_RDONLY | O_DIRECTORY, 0);
		if (fd >= 0 || errno != ESTALE)
			break;
	}
	return fd;
}

static int
remove_empty(int run_dir_fd, const char *name)
{
	int rc = -1;

	for (int i = 0; i < STALE_TRIES; i++) {
		rc = unlinkat(run_dir_fd, name, AT_REMOVEDIR);
		if (rc == 0 || errno != ESTALE)
			break;
	}
	return rc;
}

static void
remove_top(int run_dir_fd, const char *name, const struct leftovers *left)
{
	int fd = open_top(run_dir_fd, name);

	if (fd < 0) {
		if (errno != ENOENT)
			add_left(left, name, NULL, errno);
		return;
	}
	empty_dir(fd, name, LEVELS, left);
	if (remove_empty(run_dir_fd, name) < 0 && errno != ENOENT)
		add_left(left, name, NULL, errno);
}

bool
clean_tree(int dir_fd, const char *name)
{
	char **list = NULL;
	size_t count = 0;
	struct leftovers left = { &list, &count };
	bool gone = unlinkat(dir_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT;

	if (!gone)
		gone = remove_sub(dir_fd, ".", name, LEVELS - 1, &left) || errno == ENOENT;

	int errnum = errno;
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
	errno = errnum;
	return gone;
}

void
engine_clean_node_dir(int run_dir_fd, uint64_t node_index, char ***left, size_t *left_count)
{
	struct leftovers leftovers = { left, left_count };
	char name[PATH_MAX_REL];

	snprintf(name, sizeof(name), "n%llu", (unsigned long long)node_index);
	remove_top(run_dir_fd, name, &leftovers);
}

void
engine_clean_shared_dir(int run_dir_fd, char ***left, size_t *left_count)
{
	struct leftovers leftovers = { left, left_count };

	remove_top(run_dir_fd, "shared", &leftovers);
}
