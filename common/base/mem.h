/*
 * Small allocations. They end the process when memory is out: there is nothing sensible left to do. What a job sizes
 * (buffers, rings, lists) does not come from here but is checked, see ls_try_calloc.
 */
#ifndef LS_COMMON_BASE_MEM_H
#define LS_COMMON_BASE_MEM_H

#include <stddef.h>

#include "common/base/defs.h"

/* Never NULL; zeroed. Owned by the caller, free() ends it. n * size is checked for overflow. */
void *ls_calloc(size_t n, size_t size);
void *ls_malloc(size_t size);

/* Grows p (or NULL) to n * size bytes; what is new is not zeroed. Never NULL. */
void *ls_realloc(void *p, size_t n, size_t size);

/* Copies of strings; NULL gives NULL. Owned by the caller. */
char *ls_strdup(const char *s);
char *ls_strndup(const char *s, size_t n);

/* A formatted string on the heap, owned by the caller. Never NULL. */
char *ls_asprintf(const char *fmt, ...) LS_PRINTF(1, 2);

/* Job-sized: zeroed memory or NULL. */
void *ls_try_calloc(size_t n, size_t size) LS_MUST_CHECK;

/*
 * Room for one more element in a growing array: returns items, possibly moved, with space for at least count + 1
 * elements of the given size. Grows in powers of two, so that no capacity has to be kept: call it before each append.
 */
void *ls_grow(void *items, size_t count, size_t size);

#endif
