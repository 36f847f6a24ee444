/* DIR/issued: which certificates there are. Renewal leaves the old one valid, and revocation must reach that one too. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/pki/pki_int.h"

#define LINE_MAX_BYTES 256

static const char file_name[] = "issued";

enum ls_rc
pki_issued_add(const char *dir, const struct identity *id, const X509 *cert, struct ls_err *err)
{
	char path[PKI_PATH_MAX], serial[64], line[LINE_MAX_BYTES];
	int64_t from, until;
	enum ls_rc rc = pki_path(path, dir, file_name, err);

	if (rc == LS_OK)
		rc = pki_cert_validity(cert, &from, &until, err);
	if (rc != LS_OK)
		return rc;
	int len = snprintf(line, sizeof(line), "%s %" PRId64 " %s %s\n", pki_cert_serial(cert, serial, sizeof(serial)),
	    until, identity_role_names[id->role], id->name);
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return ls_err_sys(err, errno, "%s: open", path);
	/* One write: lines of two processes do not mix. */
	bool ok = fchmod(fd, 0600) == 0 && write(fd, line, (size_t)len) == len && fsync(fd) == 0;
	int failed = errno;
	close(fd);
	return ok ? LS_OK : ls_err_sys(err, failed, "%s: write", path);
}

static void
add(struct pki_serial **list, size_t *count, const char *serial)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp((*list)[i].text, serial) == 0)
			return;
	*list = ls_grow(*list, *count, sizeof(**list));
	snprintf((*list)[(*count)++].text, sizeof((*list)->text), "%s", serial);
}

/* Certificates from before there was such a list. */
static enum ls_rc
add_present(const char *dir, const struct identity *id, int64_t now, struct pki_serial **list, size_t *count, bool *any,
    struct ls_err *err)
{
	char path[PKI_PATH_MAX], serial[64];
	X509 *cert = NULL;
	int64_t from, until;

	enum ls_rc rc = pki_cert_path(path, dir, id, err);
	if (rc == LS_OK)
		rc = pki_read_cert(path, &cert, err);
	if (rc == LS_E_NOTFOUND)
		return LS_OK;
	if (rc == LS_OK)
		rc = pki_cert_validity(cert, &from, &until, err);
	if (rc == LS_OK) {
		*any = true;
		if (until > now)
			add(list, count, pki_cert_serial(cert, serial, sizeof(serial)));
	}
	X509_free(cert);
	return rc;
}

static enum ls_rc
add_listed(const char *dir, const struct identity *id, int64_t now, struct pki_serial **list, size_t *count, bool *any,
    struct ls_err *err)
{
	char path[PKI_PATH_MAX], line[LINE_MAX_BYTES], serial[64], end[32], role[32], name[IDENTITY_NAME_MAX + 1];
	int64_t until;
	enum ls_rc rc = pki_path(path, dir, file_name, err);

	if (rc != LS_OK)
		return rc;
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return errno == ENOENT ? LS_OK : ls_err_sys(err, errno, "%s: open", path);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%63s %31s %31s %63s", serial, end, role, name) != 4 || !pki_parse_time(end, &until) ||
		    strcmp(role, identity_role_names[id->role]) != 0 || strcmp(name, id->name) != 0)
			continue;
		*any = true;
		if (until > now)
			add(list, count, serial);
	}
	rc = ferror(f) ? ls_err_sys(err, errno, "%s: read", path) : LS_OK;
	fclose(f);
	return rc;
}

enum ls_rc
pki_issued_find(const char *dir, const struct identity *id, int64_t now, struct pki_serial **out, struct ls_err *err)
{
	struct pki_serial *list = NULL;
	size_t count = 0;
	bool any = false;
	enum ls_rc rc = add_listed(dir, id, now, &list, &count, &any, err);

	if (rc == LS_OK)
		rc = add_present(dir, id, now, &list, &count, &any, err);
	if (rc == LS_OK && !any)
		rc = ls_err_set(err, LS_E_NOTFOUND, "%s holds no certificate of %s %s", dir,
		    identity_role_names[id->role], id->name);
	if (rc != LS_OK) {
		free(list);
		return rc;
	}
	list = ls_grow(list, count, sizeof(*list));
	list[count].text[0] = '\0';
	*out = list;
	return LS_OK;
}
