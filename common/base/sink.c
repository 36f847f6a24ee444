#include "common/base/sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static void
reserve(struct sink *s, size_t more)
{
	size_t need = s->len + more + 1;

	if (need <= s->size)
		return;
	s->size = LS_MAX(need, s->size * 2);
	s->text = ls_realloc(s->text, s->size, 1);
}

void
sink_add(struct sink *s, const char *text, size_t len)
{
	reserve(s, len);
	if (len > 0) /* text may be NULL then */
		memcpy(s->text + s->len, text, len);
	s->len += len;
	s->text[s->len] = '\0';
}

void
sink_printf(struct sink *s, const char *fmt, ...)
{
	va_list ap;

	reserve(s, 256);
	va_start(ap, fmt);
	int n = vsnprintf(s->text + s->len, s->size - s->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		s->text[s->len] = '\0';
		return;
	}
	if ((size_t)n >= s->size - s->len) {
		reserve(s, (size_t)n);
		va_start(ap, fmt);
		vsnprintf(s->text + s->len, s->size - s->len, fmt, ap);
		va_end(ap);
	}
	s->len += (size_t)n;
}

void
sink_repeat(struct sink *s, char c, size_t n)
{
	reserve(s, n);
	memset(s->text + s->len, c, n);
	s->len += n;
	s->text[s->len] = '\0';
}

void
sink_free(struct sink *s)
{
	free(s->text);
	*s = (struct sink){ 0 };
}
