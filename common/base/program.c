#include "common/base/program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/defs.h"
#include "common/base/mem.h"

static const char *const beside[] = { "", "/../libexec/lockstep" };

char *
program_find(const char *name, const char *folder)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; slash != NULL && i < ARRAY_LEN(beside); i++) {
		char *path = ls_asprintf("%s%s/%s", self, beside[i], name);

		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return ls_asprintf("%s/%s", folder, name);
}
