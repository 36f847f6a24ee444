#include "agent/daemon/allow.h"

#include <string.h>

const char *
allow_path_fault(const char *path)
{
	if (!path || path[0] != '/')
		return "the path is not absolute";

	for (const char *p = path; *p;) {
		p++; /* a slash */
		size_t n = strcspn(p, "/");
		if (n == 0 && *p)
			return "the path has an empty component (//)";
		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return "the path has a component . or ..";
		p += n;
	}
	return NULL;
}

static size_t
length_without_slash(const char *path)
{
	size_t n = strlen(path);
	return n > 0 && path[n - 1] == '/' ? n - 1 : n;
}

bool
allow_lies_below(const char *dir, const char *path)
{
	size_t n = length_without_slash(dir);
	return strncmp(dir, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

enum ls_rc
allow_check(char *const *allow, size_t count, const char *path, struct ls_err *err)
{
	const char *fault = allow_path_fault(path);
	if (fault)
		return ls_err_set(err, LS_E_REFUSED, "%s: %s", path ? path : "(no path)", fault);

	for (size_t i = 0; i < count; i++)
		if (!allow_path_fault(allow[i]) && allow_lies_below(allow[i], path))
			return LS_OK;

	if (count == 0)
		return ls_err_set(err, LS_E_REFUSED,
		    "%s: this agent allows no path at all; the key \"allow\" in its agent.conf permits directories",
		    path);
	return ls_err_set(err, LS_E_REFUSED,
	    "%s: not below any directory that this agent's configuration allows (key \"allow\" in agent.conf)", path);
}

enum ls_rc
allow_device(char *const *devices, size_t count, const char *device, struct ls_err *err)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(devices[i], device) == 0)
			return LS_OK;
	return ls_err_set(err, LS_E_REFUSED,
	    "device %s: this agent's configuration does not name it (key \"raw_devices\" in agent.conf)", device);
}
