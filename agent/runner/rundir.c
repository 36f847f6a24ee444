#include "agent/runner/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/engine/engine.h"
#include "agent/runner/marker.h"
#include "agent/runner/volume.h"
#include "common/base/mem.h"

#define DIR_PREFIX    ".lockstep-"
#define MARKER_PREFIX "marker."
#define TOKEN_PREFIX  "token."
#define PROBE_PREFIX  "probe."
#define SHARED_NAME   "shared"
#define TEXT_MAX      1024 /* longest marker or token that is read */
#define JOIN_TRIES    16

struct rundir {
	int parent_fd, fd;
	char *path; /* whole, for messages */
	char *parent_path;
	ino_t ino;  /* of the directory, while it is let go */
	char *name; /* below parent_fd */
	char *run, *node;
	uint64_t node_index;
	bool has_own; /* the directory n<node_index> is ours to remove */
	char *marker_name, *token_name, *probe_name, *own_name;
};

bool
rundir_name_ok(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > 64 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (name[i] == '/' || (unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return true;
}

static enum ls_rc
check_id(const struct rundir_id *id, struct ls_err *err)
{
	if (!rundir_name_ok(id->run))
		return ls_err_set(err, LS_E_INVALID, "run id cannot be part of a file name");
	if (!rundir_name_ok(id->node))
		return ls_err_set(err, LS_E_INVALID, "node name cannot be part of a file name");
	return LS_OK;
}

static struct rundir *
rundir_new(int parent_fd, const struct rundir_id *id)
{
	struct rundir *rd = ls_calloc(1, sizeof(*rd));
	size_t n = strlen(id->path);

	rd->parent_fd = parent_fd;
	rd->fd = -1;
	rd->run = ls_strdup(id->run);
	rd->node = ls_strdup(id->node);
	rd->node_index = id->node_index;
	rd->parent_path = ls_strdup(id->path);
	rd->name = ls_asprintf(DIR_PREFIX "%s", id->run);
	rd->path = ls_asprintf("%s%s%s", id->path, n > 0 && id->path[n - 1] == '/' ? "" : "/", rd->name);
	rd->marker_name = ls_asprintf(MARKER_PREFIX "%s", id->node);
	rd->token_name = ls_asprintf(TOKEN_PREFIX "%s", id->node);
	rd->probe_name = ls_asprintf(PROBE_PREFIX "%s", id->node);
	rd->own_name = ls_asprintf("n%llu", (unsigned long long)id->node_index);
	return rd;
}

void
rundir_free(struct rundir *rd)
{
	if (rd == NULL)
		return;
	if (rd->fd >= 0)
		close(rd->fd);
	if (rd->parent_fd >= 0)
		close(rd->parent_fd);
	free(rd->path);
	free(rd->parent_path);
	free(rd->name);
	free(rd->run);
	free(rd->node);
	free(rd->marker_name);
	free(rd->token_name);
	free(rd->probe_name);
	free(rd->own_name);
	free(rd);
}

int
rundir_fd(const struct rundir *rd)
{
	return rd->fd;
}

const char *
rundir_path(const struct rundir *rd)
{
	return rd->path;
}

static int
open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

const char *
rundir_probe_name(const struct rundir *rd)
{
	return rd->probe_name;
}

/* Text of a small file, terminated; its length, or -1 with errno set. */
static ssize_t
read_small(int at, const char *name, char *buf, size_t size)
{
	ssize_t n;
	size_t len = 0;
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int errnum = errno;

			close(fd);
			errno = errnum;
			return -1;
		}
		len += (size_t)n;
	}
	close(fd);
	buf[len] = '\0';
	return (ssize_t)len;
}

/* Makes a new file with that text; none stays when it cannot be written. */
static enum ls_rc
write_new(const struct rundir *rd, const char *name, const char *text, struct ls_err *err)
{
	size_t len = strlen(text), done = 0;
	enum ls_rc rc = LS_OK;
	int fd = openat(rd->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s/%s: open", rd->path, name);
	while (done < len && rc == LS_OK) {
		ssize_t n = write(fd, text + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			rc = ls_err_sys(err, errno, "%s/%s: write", rd->path, name);
	}
	if (close(fd) != 0 && rc == LS_OK)
		rc = ls_err_sys(err, errno, "%s/%s: close", rd->path, name);
	if (rc != LS_OK)
		unlinkat(rd->fd, name, 0);
	return rc;
}

static enum ls_rc
sync_file(const struct rundir *rd, const char *name, struct ls_err *err)
{
	int fd = openat(rd->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	enum ls_rc rc = LS_OK;

	if (fd < 0)
		return ls_err_sys(err, errno, "%s/%s: open", rd->path, name);
	if (fsync(fd) != 0)
		rc = ls_err_sys(err, errno, "%s/%s: fsync", rd->path, name);
	close(fd);
	return rc;
}

/*
 * After all is made and not after each piece: where the first flush takes the others along (one journal), they cost little.
 * A crash before it leaves at worst an empty marker, which counts as ours.
 */
static enum ls_rc
make_durable(const struct rundir *rd, struct ls_err *err)
{
	enum ls_rc rc = sync_file(rd, rd->token_name, err);

	if (rc == LS_OK)
		rc = sync_file(rd, rd->marker_name, err);
	if (rc == LS_OK && fsync(rd->fd) != 0)
		rc = ls_err_sys(err, errno, "%s: fsync", rd->path);
	return rc;
}

void
rundir_left_free(char ***left, size_t *left_count)
{
	for (size_t i = 0; i < *left_count; i++)
		free((*left)[i]);
	free(*left);
	*left = NULL;
	*left_count = 0;
}

static void
left_add(char ***left, size_t *left_count, char *text)
{
	*left = ls_grow(*left, *left_count, sizeof(**left));
	(*left)[(*left_count)++] = text;
}

/* Removes a file of ours in the run's directory. What is gone already is no failure. */
static void
remove_file(const struct rundir *rd, const char *name, char ***left, size_t *left_count)
{
	char why[96];

	if (unlinkat(rd->fd, name, 0) != 0 && errno != ENOENT)
		left_add(left, left_count, ls_asprintf("%s: %s", name, ls_strerror(errno, why, sizeof(why))));
}

/* This node's part. The marker goes last and only if all else went, so that a later try still finds whose it is. */
static void
remove_own(const struct rundir *rd, char ***left, size_t *left_count)
{
	size_t before = *left_count;

	remove_file(rd, rd->token_name, left, left_count);
	remove_file(rd, rd->probe_name, left, left_count);
	for (enum locktest_kind kind = 0; rd->node_index == 0 && kind < LOCKTEST_KINDS; kind++) {
		char *name = rundir_lock_name(rd->node, kind);

		remove_file(rd, name, left, left_count);
		free(name);
	}
	if (rd->has_own)
		engine_clean_node_dir(rd->fd, rd->node_index, left, left_count);
	if (*left_count == before)
		remove_file(rd, rd->marker_name, left, left_count);
}

/* Does our marker's place hold a marker of this run and node? An empty one was cut short by a crash. */
static bool
marker_is_ours(const struct rundir *rd)
{
	char text[TEXT_MAX];
	ssize_t n = read_small(rd->fd, rd->marker_name, text, sizeof(text));

	return n == 0 || (n > 0 && marker_names(text, (size_t)n, rd->run, rd->node));
}

/*
 * A directory that was there is this run's when it belongs to whom the file system makes the owner of our own files; that is
 * not always our user (NFS with squashed users), so a file of ours tells.
 */
static enum ls_rc
check_owner(const struct rundir *rd, struct ls_err *err)
{
	struct stat dir, file;

	if (fstat(rd->fd, &dir) != 0 || fstatat(rd->fd, rd->marker_name, &file, AT_SYMLINK_NOFOLLOW) != 0)
		return ls_err_sys(err, errno, "%s: stat", rd->path);
	if (dir.st_uid == file.st_uid)
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED, "%s is there already and belongs to another user (uid %u, not %u)",
	    rd->path, dir.st_uid, file.st_uid);
}

static enum ls_rc
make_marker(const struct rundir *rd, struct ls_err *err)
{
	char *text = marker_text(rd->run, rd->node, rd->node_index);
	enum ls_rc rc = write_new(rd, rd->marker_name, text, err);

	free(text);
	return rc;
}

/* Marks the directory as this node's too. An earlier runner's marker is taken over with all that it made. */
static enum ls_rc
mark(struct rundir *rd, struct ls_err *err)
{
	struct ls_err why = { 0 };
	enum ls_rc rc = make_marker(rd, &why);

	if (rc == LS_E_SYS && why.sys == EEXIST && marker_is_ours(rd)) {
		char **left = NULL;
		size_t left_count = 0;

		rd->has_own = true;
		remove_own(rd, &left, &left_count);
		rd->has_own = left_count > 0;
		rundir_left_free(&left, &left_count);
		rc = make_marker(rd, &why);
	}
	if (rc != LS_OK) {
		if (err != NULL)
			*err = why;
		return rc;
	}
	rc = check_owner(rd, err);
	if (rc != LS_OK)
		unlinkat(rd->fd, rd->marker_name, 0);
	return rc;
}

/* What is there may be taken away by a node that leaves, as its directory. */
static enum ls_rc
make_shared(const struct rundir *rd, struct ls_err *err)
{
	struct stat st;

	for (int i = 0; i < JOIN_TRIES; i++) {
		if (mkdirat(rd->fd, SHARED_NAME, 0700) == 0)
			return LS_OK;
		if (errno != EEXIST)
			return ls_err_sys(err, errno, "%s/%s: mkdir", rd->path, SHARED_NAME);
		if (fstatat(rd->fd, SHARED_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return S_ISDIR(st.st_mode)
			    ? LS_OK
			    : ls_err_set(err, LS_E_REFUSED, "%s/%s is not a directory", rd->path, SHARED_NAME);
	}
	return ls_err_sys(err, errno, "%s/%s: stat", rd->path, SHARED_NAME);
}

static enum ls_rc
make_own_part(struct rundir *rd, const char *token, struct ls_err *err)
{
	enum ls_rc rc = write_new(rd, rd->token_name, token, err);

	if (rc != LS_OK)
		return rc;
	if (mkdirat(rd->fd, rd->own_name, 0700) != 0)
		return ls_err_sys(err, errno, "%s/%s: mkdir", rd->path, rd->own_name);
	rd->has_own = true;
	rc = make_shared(rd, err);
	return rc == LS_OK ? make_durable(rd, err) : rc;
}

/* Makes the directory, or opens the one that is there. */
static enum ls_rc
make_or_open(struct rundir *rd, bool *made, struct ls_err *err)
{
	*made = mkdirat(rd->parent_fd, rd->name, 0700) == 0;
	if (!*made && errno != EEXIST)
		return ls_err_sys(err, errno, "%s: mkdir", rd->path);
	rd->fd = open_dir(rd->parent_fd, rd->name);
	if (rd->fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return ls_err_set(err, LS_E_REFUSED, "%s is there already and is no directory", rd->path);
	if (rd->fd < 0)
		return ls_err_sys(err, errno, "%s: open", rd->path);
	return LS_OK;
}

/*
 * Into the directory, with our marker. Another node that leaves at that moment finds no marker and takes the directory away before ours
 * is in it: then once more.
 */
static enum ls_rc
join(struct rundir *rd, struct ls_err *err)
{
	struct ls_err why = { 0 };
	enum ls_rc rc = LS_E_STATE;

	for (int i = 0; i < JOIN_TRIES; i++) {
		bool made = false;

		if (rd->fd >= 0)
			close(rd->fd);
		rd->fd = -1;
		rc = make_or_open(rd, &made, &why);
		if (rc == LS_OK)
			rc = mark(rd, &why);
		if (rc == LS_OK)
			return LS_OK;
		/* Without our marker nothing in it is ours; an empty directory that we made is. */
		if (made)
			unlinkat(rd->parent_fd, rd->name, AT_REMOVEDIR);
		if (rc != LS_E_SYS || why.sys != ENOENT)
			break;
	}
	if (err != NULL)
		*err = why;
	return rc;
}

enum ls_rc
rundir_make(int parent_fd, const struct rundir_id *id, const char *token, struct rundir **out, struct ls_err *err)
{
	enum ls_rc rc = check_id(id, err);

	if (rc != LS_OK) {
		close(parent_fd);
		return rc;
	}

	struct rundir *rd = rundir_new(parent_fd, id);

	rc = join(rd, err);
	if (rc != LS_OK)
		goto out;
	rc = make_own_part(rd, token, err);
	if (rc != LS_OK) {
		char **left = NULL;
		size_t left_count = 0;

		rundir_clean(rd, false, &left, &left_count);
		rundir_left_free(&left, &left_count);
		goto out;
	}
	*out = rd;
	rd = NULL;
out:
	rundir_free(rd);
	return rc;
}

/* Marker of another node? Asked afresh, as a listing may be out of date. */
static bool
is_live_marker(int fd, const char *name)
{
	struct stat st;

	return strncmp(name, MARKER_PREFIX, strlen(MARKER_PREFIX)) == 0 &&
	    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is any node's marker left? Failing to look counts as yes. */
static bool
others_left(const struct rundir *rd)
{
	bool found = false;
	int fd = open_dir(rd->parent_fd, rd->name);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (dir == NULL) {
		bool gone = fd < 0 && errno == ENOENT;

		if (fd >= 0)
			close(fd);
		return !gone;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): dir is known to this thread alone */
	while (!found && (entry = readdir(dir)) != NULL)
		found = is_live_marker(fd, entry->d_name);
	closedir(dir);
	return found;
}

/* What all nodes shared and the directory itself. Another node may think that it is the last, too: then some of it is gone already. */
/* Another one may have taken it away and made a new one of that name. */
static bool
is_still_there(const struct rundir *rd)
{
	struct stat ours, named;

	return fstat(rd->fd, &ours) == 0 && fstatat(rd->parent_fd, rd->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

static void
remove_whole(const struct rundir *rd, char ***left, size_t *left_count)
{
	char why[96];

	/* One that has joined just now has it from here on; one that has come and gone meanwhile has left it to us. */
	for (int i = 0; i < JOIN_TRIES; i++) {
		engine_clean_shared_dir(rd->fd, left, left_count);
		if (unlinkat(rd->parent_fd, rd->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return;
		if (errno != ENOTEMPTY)
			break;
		if (others_left(rd) || !is_still_there(rd))
			return;
		errno = ENOTEMPTY;
	}
	left_add(left, left_count, ls_asprintf("%s: %s", rd->path, ls_strerror(errno, why, sizeof(why))));
}

/* Opens what is there and looks whose it is. */
static enum ls_rc
find_ours(struct rundir *rd, struct ls_err *err)
{
	struct stat st;
	char **left = NULL;
	size_t left_count = 0;

	rd->fd = open_dir(rd->parent_fd, rd->name);
	if (rd->fd < 0 && errno == ENOENT)
		return ls_err_set(err, LS_E_NOTFOUND, "%s does not exist", rd->path);
	if (rd->fd < 0)
		return ls_err_sys(err, errno, "%s: open", rd->path);
	if (fstatat(rd->fd, rd->marker_name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) {
		/* Nothing of ours is there; but who was last may have been killed while it removed what all shared. */
		if (!others_left(rd))
			remove_whole(rd, &left, &left_count);
		rundir_left_free(&left, &left_count);
		return ls_err_set(err, LS_E_NOTFOUND, "%s has nothing of node %s", rd->path, rd->node);
	}
	if (!marker_is_ours(rd))
		return ls_err_set(
		    err, LS_E_REFUSED, "%s/%s is not this run's marker: left alone", rd->path, rd->marker_name);
	return LS_OK;
}

enum ls_rc
rundir_find(int parent_fd, const struct rundir_id *id, struct rundir **out, struct ls_err *err)
{
	enum ls_rc rc = check_id(id, err);

	if (rc != LS_OK) {
		close(parent_fd);
		return rc;
	}

	struct rundir *rd = rundir_new(parent_fd, id);

	rc = find_ours(rd, err);
	if (rc != LS_OK) {
		rundir_free(rd);
		return rc;
	}
	rd->has_own = true;
	*out = rd;
	return LS_OK;
}

/* Puts from in the place of to, whose number stays, and closes it. */
static enum ls_rc
take_place(int from, int to, struct ls_err *err)
{
	int rc = dup3(from, to, O_CLOEXEC);
	int errnum = errno;

	close(from);
	return rc >= 0 ? LS_OK : ls_err_sys(err, errnum, "dup3");
}

enum ls_rc
rundir_release(struct rundir *rd, struct ls_err *err)
{
	struct stat st;
	const int fds[] = { rd->fd, rd->parent_fd };

	if (fstat(rd->fd, &st) != 0)
		return ls_err_sys(err, errno, "%s: stat", rd->path);
	rd->ino = st.st_ino;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		/* No directory at all: whoever used it by mistake meanwhile would get an error. */
		int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (nowhere < 0)
			return ls_err_sys(err, errno, "/dev/null");

		enum ls_rc rc = take_place(nowhere, fds[i], err);

		if (rc != LS_OK)
			return rc;
	}
	return LS_OK;
}

/* Is that the directory that was let go? Its marker says run and node; the number, that nobody has copied it. */
static enum ls_rc
check_same(const struct rundir *rd, struct ls_err *err)
{
	struct stat st;

	if (fstat(rd->fd, &st) != 0)
		return ls_err_sys(err, errno, "%s: stat", rd->path);
	if (st.st_ino != rd->ino || !marker_is_ours(rd))
		return ls_err_set(err, LS_E_REFUSED, "%s is not the run's directory any more", rd->path);
	return LS_OK;
}

enum ls_rc
rundir_reopen(struct rundir *rd, struct ls_err *err)
{
	int parent = -1;
	enum ls_rc rc = volume_open(rd->parent_path, &parent, err);

	if (rc != LS_OK)
		return rc;
	rc = take_place(parent, rd->parent_fd, err);
	if (rc != LS_OK)
		return rc;

	int fd = open_dir(rd->parent_fd, rd->name);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", rd->path);
	rc = take_place(fd, rd->fd, err);
	return rc != LS_OK ? rc : check_same(rd, err);
}

char *
rundir_lock_name(const char *node, enum locktest_kind kind)
{
	static const char *const prefixes[LOCKTEST_KINDS] = {
		[LOCKTEST_FCNTL] = "fcntl.",
		[LOCKTEST_FLOCK] = "flock.",
	};

	return rundir_name_ok(node) ? ls_asprintf("%s%s", prefixes[kind], node) : NULL;
}

bool
rundir_token_seen(const struct rundir *rd, const char *node, const char *token)
{
	char text[TEXT_MAX];
	char name[80];
	bool seen = false;

	if (!rundir_name_ok(node))
		return false;
	snprintf(name, sizeof(name), TOKEN_PREFIX "%s", node);

	/* Opening the directory makes an NFS client ask the server whether names that it found missing are there now. */
	int fd = open_dir(rd->parent_fd, rd->name);

	if (fd < 0)
		return false;
	if (read_small(fd, name, text, sizeof(text)) >= 0)
		seen = strcmp(text, token) == 0;
	close(fd);
	return seen;
}

void
rundir_clean(struct rundir *rd, bool keep_files, char ***left, size_t *left_count)
{
	size_t before = *left_count;

	if (keep_files) {
		remove_file(rd, rd->token_name, left, left_count);
		return;
	}
	remove_own(rd, left, left_count);
	if (*left_count == before && !others_left(rd))
		remove_whole(rd, left, left_count);
}
