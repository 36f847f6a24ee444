#include "common/base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static LS_NORETURN void
out_of_memory(void)
{
	static const char text[] = "lockstep: out of memory\n";

	fwrite(text, 1, sizeof(text) - 1, stderr);
	abort();
}

void *
ls_try_calloc(size_t n, size_t size)
{
	return calloc(n > 0 ? n : 1, size > 0 ? size : 1);
}

void *
ls_calloc(size_t n, size_t size)
{
	void *p = ls_try_calloc(n, size);

	if (p == NULL)
		out_of_memory();
	return p;
}

void *
ls_malloc(size_t size)
{
	void *p = malloc(size > 0 ? size : 1);

	if (p == NULL)
		out_of_memory();
	return p;
}

void *
ls_realloc(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n > 0 ? n : 1, size > 0 ? size : 1);

	if (q == NULL)
		out_of_memory();
	return q;
}

char *
ls_strndup(const char *s, size_t n)
{
	if (s == NULL)
		return NULL;

	size_t len = strnlen(s, n);
	char *copy = ls_malloc(len + 1);
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *
ls_strdup(const char *s)
{
	return s == NULL ? NULL : ls_strndup(s, SIZE_MAX);
}

char *
ls_asprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		out_of_memory();
	return text;
}

void *
ls_grow(void *items, size_t count, size_t size)
{
	bool full = count == 0 || (count & (count - 1)) == 0; /* a power of two: that many are in use, no more fit */

	return full ? ls_realloc(items, count == 0 ? 1 : count * 2, size) : items;
}
