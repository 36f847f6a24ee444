#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/defs.h"

struct crc_case {
	const char *name;
	unsigned char first; /* of 32 bytes */
	int step;            /* from one to the next */
	uint32_t crc;
};

/* RFC 3720, appendix B.4. */
static const struct crc_case cases[] = {
	{ "zeros", 0x00, 0, 0x8a9136aa },
	{ "ones", 0xff, 0, 0x62a8ab43 },
	{ "rising", 0x00, 1, 0x46dd794e },
	{ "falling", 0x1f, -1, 0x113fdb5c },
};

static void
test_known_sums(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned char bytes[32];
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (unsigned char)(cases[i].first + cases[i].step * (int)k);
		if (crc32c(0, bytes, sizeof(bytes)) != cases[i].crc)
			fail_msg("%s: got %08x", cases[i].name, crc32c(0, bytes, sizeof(bytes)));
		if (crc32c_table(0, bytes, sizeof(bytes)) != cases[i].crc)
			fail_msg("%s: table got %08x", cases[i].name, crc32c_table(0, bytes, sizeof(bytes)));
	}
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(7, "", 0), 7);
}

/* The definition, bit by bit. */
static uint32_t
slow(const unsigned char *p, size_t length)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < length; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

static void
test_every_length_and_cut(void **state)
{
	unsigned char bytes[80];

	(void)state;
	srand(1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)rand();
	for (size_t length = 0; length <= 72; length++) {
		const unsigned char *p = bytes + length % 8; /* unaligned, too */
		uint32_t want = slow(p, length);
		assert_int_equal(crc32c(0, p, length), want);
		assert_int_equal(crc32c_table(0, p, length), want);
		for (size_t cut = 0; cut <= length; cut++)
			assert_int_equal(crc32c(crc32c_table(0, p, cut), p + cut, length - cut), want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_sums),
		cmocka_unit_test(test_every_length_and_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
