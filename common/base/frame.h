/*
 * The frame around every message: a 4-byte big-endian length and that many bytes. Pure.
 */
#ifndef LS_COMMON_BASE_FRAME_H
#define LS_COMMON_BASE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/defs.h"

#define FRAME_HEADER_BYTES 4

/* Writes len as the frame's header: four bytes, the highest first. */
static inline void
frame_header_put(uint8_t out[FRAME_HEADER_BYTES], uint32_t len)
{
	out[0] = (uint8_t)(len >> 24);
	out[1] = (uint8_t)(len >> 16);
	out[2] = (uint8_t)(len >> 8);
	out[3] = (uint8_t)len;
}

/* The length that a header holds, not checked against any limit. */
static inline uint32_t
frame_header_get(const uint8_t in[FRAME_HEADER_BYTES])
{
	return (uint32_t)in[0] << 24 | (uint32_t)in[1] << 16 | (uint32_t)in[2] << 8 | in[3];
}

#endif
