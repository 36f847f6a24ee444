#include "agent/runner/leftover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/runner/marker.h"
#include "agent/runner/rundir.h"
#include "agent/runner/volume.h"
#include "common/base/mem.h"
#include "common/base/sink.h"

#define DIR_PREFIX    ".lockstep-"
#define MARKER_PREFIX "marker."
#define MARKER_MAX    1024
#define NODES_MAX     4096
#define DISK_BLOCK    512 /* of st_blocks */

struct part {
	char *node;
	uint64_t index;
};

struct leftover {
	struct part *parts;
	size_t count;
	char *oldest;
	size_t foreign; /* markers that are none of this run's */
};

/* As run ids and node names are made: nothing that a line or a file name could trip over. */
static bool
is_plain(const char *s)
{
	if (!rundir_name_ok(s))
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("._-:", *s) == NULL)
			return false;
	return true;
}

static void
leftover_fini(struct leftover *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->parts[i].node);
	free(l->parts);
	free(l->oldest);
	*l = (struct leftover){ 0 };
}

static ssize_t
read_marker(int dir, const char *name, char *buf)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;

	ssize_t n = read(fd, buf, MARKER_MAX);

	close(fd);
	return n;
}

static void
take_marker(struct leftover *l, int dir, const char *run, const char *name)
{
	const char *node = name + strlen(MARKER_PREFIX);
	char text[MARKER_MAX];
	char *created = NULL;
	uint64_t index;
	ssize_t n = is_plain(node) ? read_marker(dir, name, text) : -1;

	if (n <= 0 || l->count == NODES_MAX || !marker_read(text, (size_t)n, run, node, &index, &created)) {
		l->foreign++;
		return;
	}
	l->parts = ls_grow(l->parts, l->count, sizeof(*l->parts));
	l->parts[l->count++] = (struct part){ .node = ls_strdup(node), .index = index };
	/* Such times sort as texts. */
	if (is_plain(created) && (l->oldest == NULL || strcmp(created, l->oldest) < 0)) {
		free(l->oldest);
		l->oldest = created;
		return;
	}
	free(created);
}

/* All markers in a run's directory; false: it is no directory, or cannot be read. */
static bool
look_into(int parent, const char *run, struct leftover *l)
{
	char *name = ls_asprintf(DIR_PREFIX "%s", run);
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	free(name);
	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while ((entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, MARKER_PREFIX, strlen(MARKER_PREFIX)) == 0)
			take_marker(l, fd, run, entry->d_name);
	closedir(dir);
	return true;
}

/* Space and number of the files below; links are not followed, other mounts not entered. */
static void
measure(char *dir, uint64_t *bytes, uint64_t *files)
{
	char *roots[] = { dir, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	const FTSENT *entry;

	*bytes = *files = 0;
	if (tree == NULL)
		return;
	while ((entry = fts_read(tree)) != NULL) {
		if (entry->fts_info != FTS_F && entry->fts_info != FTS_SL && entry->fts_info != FTS_DEFAULT)
			continue;
		*bytes += (uint64_t)entry->fts_statp->st_blocks * DISK_BLOCK;
		++*files;
	}
	fts_close(tree);
}

static void
print_one(int parent, const char *path, const char *run)
{
	struct leftover l = { 0 };
	struct sink nodes = { 0 };
	const char *problem = "-";
	uint64_t bytes = 0, files = 0;

	if (!look_into(parent, run, &l)) {
		problem = errno == EACCES ? "cannot be read by this user" : "no directory that can be read";
	} else if (l.count == 0) {
		problem = "no marker of lockstep";
	} else {
		char *dir = ls_asprintf("%s/" DIR_PREFIX "%s", path, run);

		measure(dir, &bytes, &files);
		free(dir);
		if (l.foreign > 0)
			problem = "markers that are not this run's";
	}
	for (size_t i = 0; i < l.count; i++)
		sink_printf(&nodes, "%s%s", i > 0 ? "," : "", l.parts[i].node);
	printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\n", run, l.oldest != NULL ? l.oldest : "-", bytes, files,
	    nodes.text != NULL ? nodes.text : "-", problem);
	sink_free(&nodes);
	leftover_fini(&l);
}

static int
fail(const struct ls_err *err)
{
	(void)fprintf(stderr, "%s\n", err->text);
	return 1;
}

/* The volume's directory as *fd and to read; NULL with the reason, and *fd is closed. */
static DIR *
open_path(const char *path, int *fd, struct ls_err *err)
{
	if (volume_open(path, fd, err) != LS_OK)
		return NULL;

	int list = openat(*fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = list >= 0 ? fdopendir(list) : NULL;

	if (dir != NULL)
		return dir;
	(void)ls_err_sys(err, errno, "path %s cannot be read", path);
	if (list >= 0)
		close(list);
	close(*fd);
	return NULL;
}

int
leftover_list_main(const char *path)
{
	const struct dirent *entry;
	struct ls_err err = { 0 };
	int fd = -1;
	DIR *dir = open_path(path, &fd, &err);

	if (dir == NULL)
		return fail(&err);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while ((entry = readdir(dir)) != NULL) {
		const char *run = entry->d_name + strlen(DIR_PREFIX);

		if (strncmp(entry->d_name, DIR_PREFIX, strlen(DIR_PREFIX)) == 0 && is_plain(run))
			print_one(fd, path, run);
	}
	closedir(dir);
	close(fd);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* One node's part, as its own runner would. */
static void
remove_part(int parent, const char *path, const char *run, const struct part *part, char ***left, size_t *left_count)
{
	struct rundir_id id = { .path = path, .run = run, .node = part->node, .node_index = part->index };
	struct rundir *rd = NULL;
	struct ls_err err = { 0 };
	int fd = fcntl(parent, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return;

	enum ls_rc rc = rundir_find(fd, &id, &rd, &err);

	if (rc == LS_OK) {
		rundir_clean(rd, false, left, left_count);
		rundir_free(rd);
	} else if (rc != LS_E_NOTFOUND) {
		*left = ls_grow(*left, *left_count, sizeof(**left));
		(*left)[(*left_count)++] = ls_strdup(err.text);
	}
}

int
leftover_remove_main(const char *path, const char *run)
{
	struct leftover l = { 0 };
	struct ls_err err = { 0 };
	char **left = NULL;
	size_t left_count = 0;
	int fd = -1;

	if (!is_plain(run)) {
		ls_err_set(&err, LS_E_INVALID, "that is no run's id");
		return fail(&err);
	}
	if (volume_open(path, &fd, &err) != LS_OK)
		return fail(&err);
	if (!look_into(fd, run, &l) || l.count == 0) {
		ls_err_set(&err, LS_E_NOTFOUND, "%s/" DIR_PREFIX "%s has no marker of lockstep", path, run);
		leftover_fini(&l);
		close(fd);
		return fail(&err);
	}
	for (size_t i = 0; i < l.count; i++)
		remove_part(fd, path, run, &l.parts[i], &left, &left_count);
	for (size_t i = 0; i < left_count; i++)
		printf("%s\n", left[i]);

	int status = left_count > 0 || fflush(stdout) != 0;

	rundir_left_free(&left, &left_count);
	leftover_fini(&l);
	close(fd);
	return status;
}
