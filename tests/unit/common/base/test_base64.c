#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "common/base/base64.h"
#include "common/base/defs.h"

/* RFC 4648, section 10 */
static const char *const pairs[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" }, { "\xfb\xff\xfe", "+//+" } };

static void
test_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct sink out = { 0 };
		char plain[16];

		base64_encode(pairs[i][0], strlen(pairs[i][0]), &out);
		assert_string_equal(out.text != NULL ? out.text : "", pairs[i][1]);
		sink_free(&out);
		assert_int_equal(base64_decode(pairs[i][1], plain, sizeof(plain)), strlen(pairs[i][0]));
		assert_memory_equal(plain, pairs[i][0], strlen(pairs[i][0]));
	}
}

static void
test_what_is_no_base_64_is_refused(void **state)
{
	static const char *const bad[] = { "Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm 9", "Zm-_",
		"=Zg=" };
	char plain[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (base64_decode(bad[i], plain, sizeof(plain)) != SIZE_MAX)
			fail_msg("\"%s\" was taken", bad[i]);
	assert_int_equal(base64_decode("Zm9vYmFy", plain, 5), SIZE_MAX);
	assert_int_equal(base64_decode("Zm9vYmFy", plain, 6), 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_what_is_no_base_64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
