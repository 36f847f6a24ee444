/*
 * Compiler attributes and the few trivial helpers that every folder needs. Nothing with behaviour of its own.
 */
#ifndef LS_COMMON_BASE_DEFS_H
#define LS_COMMON_BASE_DEFS_H

#include <stddef.h>

#define LS_MUST_CHECK      __attribute__((warn_unused_result))
#define LS_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#define LS_NORETURN        __attribute__((noreturn))
#define LS_UNUSED          __attribute__((unused))
#define LS_CACHE_LINE      64

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define LS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LS_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Nanoseconds in the usual units; int64_t like every duration here. */
#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL

#endif
