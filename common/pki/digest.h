/*
 * SHA-256, and texts that must be compared without telling by the time it takes where they differ.
 */
#ifndef LS_COMMON_PKI_DIGEST_H
#define LS_COMMON_PKI_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_BYTES 32

struct digest {
	uint8_t bytes[DIGEST_BYTES];
};

/* Ends the process when OpenSSL has no SHA-256, as for missing memory. Any thread. */
struct digest digest_of(const void *data, size_t len);

/* In constant time. */
bool digest_equal(const struct digest *a, const struct digest *b);

/* Reads 64 hexadecimal digits; false for any other text. */
bool digest_parse(const char *hex, struct digest *out);

#endif
