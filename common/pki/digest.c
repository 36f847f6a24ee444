#include "common/pki/digest.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

struct digest
digest_of(const void *data, size_t len)
{
	struct digest d;
	unsigned n = 0;

	if (EVP_Digest(data, len, d.bytes, &n, EVP_sha256(), NULL) != 1 || n != sizeof(d.bytes))
		abort();
	return d;
}

bool
digest_equal(const struct digest *a, const struct digest *b)
{
	return CRYPTO_memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool
digest_parse(const char *hex, struct digest *out)
{
	struct digest d;

	if (strlen(hex) != 2 * sizeof(d.bytes))
		return false;
	for (size_t i = 0; i < sizeof(d.bytes); i++) {
		int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		d.bytes[i] = (uint8_t)(high << 4 | low);
	}
	*out = d;
	return true;
}
