/*
 * A growing text. Ends the process when memory is out, as mem.h does.
 */
#ifndef LS_COMMON_BASE_SINK_H
#define LS_COMMON_BASE_SINK_H

#include <stddef.h>

#include "common/base/defs.h"

struct sink {
	char *text; /* owned; NUL-terminated once anything was added; NULL before */
	size_t len, size;
};

/* Append bytes, formatted text, a character n times. The text stays NUL-terminated; it moves in memory. */
void sink_add(struct sink *s, const char *text, size_t len);
void sink_printf(struct sink *s, const char *fmt, ...) LS_PRINTF(2, 3);
void sink_repeat(struct sink *s, char c, size_t n);
void sink_free(struct sink *s); /* empties it */

#endif
