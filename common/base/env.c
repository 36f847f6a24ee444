#include "common/base/env.h"

#include <stddef.h>
#include <stdlib.h>

const char *
ls_env(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment while there are threads */
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}
