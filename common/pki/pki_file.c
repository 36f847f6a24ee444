#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/pki/pki_int.h"

enum ls_rc
pki_path(char buf[PKI_PATH_MAX], const char *dir, const char *name, struct ls_err *err)
{
	int n = snprintf(buf, PKI_PATH_MAX, "%s/%s", dir, name);

	if (n < 0 || n >= PKI_PATH_MAX)
		return ls_err_set(err, LS_E_LIMIT, "%.64s...: path is longer than %d bytes", dir, PKI_PATH_MAX - 1);
	return LS_OK;
}

enum ls_rc
pki_cert_path(char buf[PKI_PATH_MAX], const char *dir, const struct identity *id, struct ls_err *err)
{
	char name[IDENTITY_NAME_MAX + 32];

	snprintf(name, sizeof(name), "%s-%s.crt", identity_role_names[id->role], id->name);
	return pki_path(buf, dir, name, err);
}

static int
write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Content, then mode (the umask does not count), then the medium. 0 or errno. */
static int
fill(int fd, mode_t mode, const char *text, size_t len)
{
	int failed = write_all(fd, text, len);

	if (failed != 0)
		return failed;
	if (fchmod(fd, mode) != 0 || fsync(fd) != 0)
		return errno;
	return 0;
}

enum ls_rc
pki_stage(struct pki_staged *s, const char *path, mode_t mode, const char *text, size_t len, struct ls_err *err)
{
	snprintf(s->path, sizeof(s->path), "%s", path);
	snprintf(s->temp, sizeof(s->temp), "%s.XXXXXX", path);

	int fd = mkostemp(s->temp, O_CLOEXEC); /* mode 0600 from the start */
	if (fd < 0) {
		s->temp[0] = '\0';
		return ls_err_sys(err, errno, "%s: cannot write beside it", path);
	}

	int failed = fill(fd, mode, text, len);
	if (close(fd) != 0 && failed == 0)
		failed = errno;
	if (failed != 0) {
		pki_discard(s);
		return ls_err_sys(err, failed, "%s: write", path);
	}
	return LS_OK;
}

enum ls_rc
pki_publish(struct pki_staged *s, bool replace, struct ls_err *err)
{
	if (replace) {
		if (rename(s->temp, s->path) != 0)
			return ls_err_sys(err, errno, "%s: rename", s->path);
		s->temp[0] = '\0';
		return LS_OK;
	}
	if (link(s->temp, s->path) != 0) { /* unlike rename, link never replaces */
		if (errno == EEXIST)
			return ls_err_set(err, LS_E_EXISTS, "%s exists already", s->path);
		return ls_err_sys(err, errno, "%s: link", s->path);
	}
	pki_discard(s);
	return LS_OK;
}

void
pki_discard(struct pki_staged *s)
{
	if (s->temp[0] != '\0')
		unlink(s->temp);
	s->temp[0] = '\0';
}

enum ls_rc
pki_sync_dir(const char *dir, struct ls_err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", dir);

	int failed = fsync(fd) != 0 ? errno : 0;
	close(fd);
	return failed != 0 ? ls_err_sys(err, failed, "%s: fsync", dir) : LS_OK;
}
