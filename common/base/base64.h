/*
 * Base 64 (RFC 4648, with padding). Pure.
 */
#ifndef LS_COMMON_BASE_BASE64_H
#define LS_COMMON_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/sink.h"

/* Appends len bytes as text. */
void base64_encode(const void *data, size_t len, struct sink *out);

/* Writes at most max bytes to out and returns how many; SIZE_MAX for anything else than Base 64, or more. */
size_t base64_decode(const char *text, void *out, size_t max);

#endif
