#include "common/pki/identity.h"

#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#include "common/base/field.h"
#include "common/pki/identity_x509.h"
#include "common/pki/pki_int.h"

static const char uri_start[] = "lockstep://";

const char *const identity_role_names[] = { "none", "coordinator", "agent", "operator", NULL };

static bool
name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
	    c == '-';
}

bool
identity_name_valid(const char *name)
{
	size_t n = 0;

	if (name[0] == '.' || name[0] == '-')
		return false;
	while (name[n] != '\0') {
		if (n == IDENTITY_NAME_MAX || !name_char(name[n]))
			return false;
		n++;
	}
	return n > 0;
}

enum ls_rc
identity_parse_uri(const char *uri, struct identity *out, struct ls_err *err)
{
	char role_name[16];

	if (strncmp(uri, uri_start, sizeof(uri_start) - 1) != 0)
		return ls_err_set(err, LS_E_INVALID, "identity does not begin with %s", uri_start);

	const char *role_text = uri + sizeof(uri_start) - 1;
	const char *slash = strchr(role_text, '/');
	if (slash == NULL || (size_t)(slash - role_text) >= sizeof(role_name))
		return ls_err_set(err, LS_E_INVALID, "identity is not of the form lockstep://ROLE/NAME");
	memcpy(role_name, role_text, (size_t)(slash - role_text));
	role_name[slash - role_text] = '\0';

	int role = field_enum_value(identity_role_names, role_name);
	if (role <= ROLE_NONE)
		return ls_err_set(
		    err, LS_E_INVALID, "identity has an unknown role; known are coordinator, agent, operator");
	if (!identity_name_valid(slash + 1))
		return ls_err_set(err, LS_E_INVALID, "identity has a name that is not 1 to %d of A-Z a-z 0-9 . _ -",
		    IDENTITY_NAME_MAX);
	*out = (struct identity){ .role = (enum identity_role)role };
	snprintf(out->name, sizeof(out->name), "%s", slash + 1);
	return LS_OK;
}

const char *
identity_uri(const struct identity *id, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s/%s", uri_start, field_enum_name(identity_role_names, (int)id->role), id->name);
	return buf;
}

enum ls_rc
identity_from_cert_file(
    const char *path, struct identity *out, int64_t *not_before, int64_t *not_after, struct ls_err *err)
{
	struct identity id;
	int64_t from, until;
	X509 *cert = NULL;

	enum ls_rc rc = pki_read_cert(path, &cert, err);
	if (rc != LS_OK) {
		if (err != NULL)
			err->rc = LS_E_TLS; /* whatever was wrong: there is no identity */
		return LS_E_TLS;
	}
	rc = identity_from_x509(cert, &id, err);
	if (rc == LS_OK)
		rc = pki_cert_validity(cert, &from, &until, err);
	X509_free(cert);
	if (rc != LS_OK) {
		ls_err_wrap(err, "%s", path);
		return rc;
	}
	*out = id;
	if (not_before != NULL)
		*not_before = from;
	if (not_after != NULL)
		*not_after = until;
	return LS_OK;
}
