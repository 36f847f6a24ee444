#include "common/base/pathname.h"

#include <string.h>

const char *
pathname_fault(const char *path)
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
pathname_lies_below(const char *dir, const char *path)
{
	size_t n = length_without_slash(dir);
	return strncmp(dir, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
