#include "agent/daemon/allow.h"

#include <string.h>

#include "common/base/pathname.h"

enum ls_rc
allow_check(char *const *allow, size_t count, const char *path, struct ls_err *err)
{
	const char *fault = pathname_fault(path);
	if (fault)
		return ls_err_set(err, LS_E_REFUSED, "%s: %s", path ? path : "(no path)", fault);

	for (size_t i = 0; i < count; i++)
		if (!pathname_fault(allow[i]) && pathname_lies_below(allow[i], path))
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
