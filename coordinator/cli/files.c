#include "coordinator/cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/sink.h"

#define FILE_MAX   (1UL << 30)
#define TREE_DEPTH 32 /* descriptors that nftw may use */

enum ls_rc
file_read(const char *path, char **out, size_t *out_len, struct ls_err *err)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct sink text = { 0 };
	char buf[65536];
	enum ls_rc rc = LS_OK;

	if (fd < 0)
		return ls_err_sys(err, errno, "%s", path);
	sink_add(&text, "", 0);
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = ls_err_sys(err, errno, "%s: read", path);
		if (n <= 0)
			break;
		sink_add(&text, buf, (size_t)n);
		if (text.len > FILE_MAX) {
			rc = ls_err_set(err, LS_E_LIMIT, "%s: larger than 1 GiB", path);
			break;
		}
	}
	if (!standard)
		close(fd);
	if (rc != LS_OK) {
		sink_free(&text);
		return rc;
	}
	*out = text.text;
	*out_len = text.len;
	return LS_OK;
}

static enum ls_rc
write_all(int fd, const char *path, const char *text, size_t len, struct ls_err *err)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ls_err_sys(err, errno, "%s: write", path);
		text += n;
		len -= (size_t)n;
	}
	return LS_OK;
}

/* Devices and pipes (/dev/stdout, /dev/null) cannot be replaced by renaming. */
static bool
is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static enum ls_rc
write_special(const char *path, const char *text, size_t len, struct ls_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s", path);
	enum ls_rc rc = write_all(fd, path, text, len, err);
	if (close(fd) != 0 && rc == LS_OK)
		rc = ls_err_sys(err, errno, "%s: close", path);
	return rc;
}

enum ls_rc
file_write(const char *path, const char *text, size_t len, struct ls_err *err)
{
	if (strcmp(path, "-") == 0) {
		fflush(stdout);
		return write_all(STDOUT_FILENO, "standard output", text, len, err);
	}
	if (is_special(path))
		return write_special(path, text, len, err);

	char *temporary = ls_asprintf("%s.XXXXXX", path);
	enum ls_rc rc = LS_OK;
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		rc = ls_err_sys(err, errno, "%s", path);
		free(temporary);
		return rc;
	}

	mode_t mask = umask(0);
	umask(mask);
	rc = write_all(fd, path, text, len, err);
	if (rc == LS_OK && fchmod(fd, 0666 & ~mask) != 0)
		rc = ls_err_sys(err, errno, "%s: fchmod", path);
	if (close(fd) != 0 && rc == LS_OK)
		rc = ls_err_sys(err, errno, "%s: close", path);
	if (rc == LS_OK && rename(temporary, path) != 0)
		rc = ls_err_sys(err, errno, "%s: rename", path);
	if (rc != LS_OK)
		unlink(temporary);
	free(temporary);
	return rc;
}

enum ls_rc
file_check_writable(const char *path, struct ls_err *err)
{
	if (strcmp(path, "-") == 0)
		return LS_OK;
	if (is_special(path)) {
		if (access(path, W_OK) != 0)
			return ls_err_sys(err, errno, "%s", path);
		return LS_OK;
	}

	const char *slash = strrchr(path, '/');
	enum ls_rc rc = LS_OK;
	char *dir;

	if (path[0] == '\0')
		return ls_err_sys(err, ENOENT, "an empty name");
	if (slash == NULL)
		dir = ls_strdup(".");
	else
		dir = ls_strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (access(dir, W_OK | X_OK) != 0)
		rc = ls_err_sys(err, errno, "%s", path);
	free(dir);
	return rc;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

void
file_remove_tree(const char *path)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the command has one thread, and no FTW_CHDIR */
	nftw(path, remove_one, TREE_DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
