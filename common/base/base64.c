#include "common/base/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_encode(const void *data, size_t len, struct sink *out)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t bits = (uint32_t)p[i] << 16;
		char text[4];

		if (n > 1)
			bits |= (uint32_t)p[i + 1] << 8;
		if (n > 2)
			bits |= p[i + 2];
		for (unsigned k = 0; k < 4; k++)
			text[k] = k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=';
		sink_add(out, text, sizeof(text));
	}
}

size_t
base64_decode(const char *text, void *out, size_t max)
{
	size_t len = strlen(text), count = 0;
	uint8_t *to = out;
	size_t padding = 0;

	if (len % 4 != 0)
		return SIZE_MAX;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < len; i += 4) {
		size_t kept = i + 4 == len ? 3 - padding : 3;
		uint32_t bits = 0;

		for (size_t k = 0; k < 4; k++) {
			/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): the end of the string is no digit */
			const char *digit = k <= kept ? memchr(digits, text[i + k], 64) : digits;

			if (digit == NULL)
				return SIZE_MAX;
			bits = bits << 6 | (uint32_t)(digit - digits);
		}
		for (size_t k = 0; k < kept; k++) {
			if (count == max)
				return SIZE_MAX;
			to[count++] = (uint8_t)(bits >> (16 - 8 * k));
		}
	}
	return count;
}
