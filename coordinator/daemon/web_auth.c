#include "coordinator/daemon/web_auth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/base/base64.h"

#define LINE_MAX_BYTES 512

static enum ls_rc
take_line(const char *path, unsigned number, char *line, struct web_tokens *t, struct ls_err *err)
{
	size_t len;

	line[strcspn(line, "\r\n")] = '\0';
	line += strspn(line, " \t");
	len = strlen(line);
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		line[--len] = '\0';
	if (len == 0 || line[0] == '#')
		return LS_OK;
	if (t->count == WEB_TOKENS_MAX)
		return ls_err_set(err, LS_E_INVALID, "%s:%u: more than %d tokens", path, number, WEB_TOKENS_MAX);
	if (strncmp(line, "sha256:", 7) == 0) {
		if (!digest_parse(line + 7, &t->digests[t->count]))
			return ls_err_set(
			    err, LS_E_INVALID, "%s:%u: sha256: needs 64 hexadecimal digits", path, number);
		t->count++;
		return LS_OK;
	}
	if (len < WEB_TOKEN_MIN)
		return ls_err_set(err, LS_E_INVALID,
		    "%s:%u: a token has %d characters at least; openssl rand -hex 24 makes one", path, number,
		    WEB_TOKEN_MIN);
	t->digests[t->count++] = digest_of(line, len);
	return LS_OK;
}

static enum ls_rc
read_lines(FILE *file, const char *path, struct web_tokens *t, struct ls_err *err)
{
	char line[LINE_MAX_BYTES];
	enum ls_rc rc = LS_OK;

	for (unsigned number = 1; rc == LS_OK && fgets(line, sizeof(line), file) != NULL; number++) {
		if (strlen(line) == sizeof(line) - 1)
			rc = ls_err_set(err, LS_E_INVALID, "%s:%u: a line is too long", path, number);
		else
			rc = take_line(path, number, line, t, err);
	}
	explicit_bzero(line, sizeof(line));
	if (rc == LS_OK && ferror(file))
		rc = ls_err_sys(err, errno, "web_token_file %s", path);
	return rc;
}

enum ls_rc
web_tokens_load(const char *path, struct web_tokens *out, struct ls_err *err)
{
	struct web_tokens t = { 0 };
	struct stat st;
	FILE *file;
	enum ls_rc rc;

	if (path == NULL || path[0] == '\0') {
		*out = t;
		return LS_OK;
	}
	file = fopen(path, "re");
	if (file == NULL || fstat(fileno(file), &st) != 0)
		rc = ls_err_sys(err, errno, "web_token_file %s", path);
	else if ((st.st_mode & S_IRWXO) != 0)
		rc = ls_err_set(err, LS_E_REFUSED, "web_token_file %s: mode %04o lets everybody in, use 0600 or 0640",
		    path, (unsigned)(st.st_mode & 07777));
	else
		rc = read_lines(file, path, &t, err);
	if (file != NULL)
		fclose(file);
	if (rc == LS_OK)
		*out = t;
	return rc;
}

/* All of them are compared, whichever it is. */
static bool
is_known(const struct web_tokens *t, const char *token, size_t len)
{
	struct digest given = digest_of(token, len);
	bool known = false;

	for (size_t i = 0; i < t->count; i++)
		known |= digest_equal(&given, &t->digests[i]);
	return known;
}

static bool
check_basic(const struct web_tokens *t, const char *text)
{
	char plain[1024];
	size_t len = base64_decode(text, plain, sizeof(plain));
	const char *colon = len == SIZE_MAX ? NULL : memchr(plain, ':', len);
	bool known = false;

	if (colon != NULL)
		known = is_known(t, colon + 1, len - (size_t)(colon + 1 - plain));
	explicit_bzero(plain, sizeof(plain));
	return known;
}

enum web_access
web_access_of(const struct web_tokens *tokens, const struct identity *peer, const char *authorization)
{
	bool known = false;

	if (peer->role == ROLE_OPERATOR)
		return WEB_ALLOWED;
	if (strncasecmp(authorization, "bearer ", 7) == 0)
		known = is_known(tokens, authorization + 7, strlen(authorization + 7));
	else if (strncasecmp(authorization, "basic ", 6) == 0)
		known = check_basic(tokens, authorization + 6);
	if (known)
		return WEB_ALLOWED;
	if (authorization[0] != '\0')
		return WEB_WRONG_TOKEN;
	return peer->role == ROLE_NONE ? WEB_UNKNOWN : WEB_WRONG_ROLE;
}
