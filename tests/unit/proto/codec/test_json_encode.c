/* The text that is written: exact, ASCII, the same in every locale. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec/json.h"

static const char *const color_names[] = { "red", "green", "blue", NULL };

/* clang-format off: the tables must be read in this order */
#include "common/base/field_decl.h"
#include "tests/unit/proto/codec/sample.def"
#include "common/base/field_undef.h"
#include "common/base/field_table.h"
#include "tests/unit/proto/codec/sample.def"
#include "common/base/field_undef.h"
/* clang-format on */

static void
test_members_in_order_compact_and_indented(void **state)
{
	static const char indented[] = "{\n"
				       "  \"flag\": false,\n"
				       "  \"i\": 1,\n"
				       "  \"any\": 0,\n"
				       "  \"u\": 3,\n"
				       "  \"size\": 512,\n"
				       "  \"duration\": 1000000000,\n"
				       "  \"f\": 0,\n"
				       "  \"color\": \"green\",\n"
				       "  \"s\": \"text\",\n"
				       "  \"unknown_i\": 5,\n"
				       "  \"unknown_u\": 5,\n"
				       "  \"unknown_f\": null,\n"
				       "  \"unknown_s\": \"x\",\n"
				       "  \"texts\": [\n"
				       "    \"a\",\n"
				       "    \"b\"\n"
				       "  ],\n"
				       "  \"numbers\": [1,-2],\n"
				       "  \"pairs\": [[1,2]],\n"
				       "  \"part\": {\n"
				       "    \"must\": 0,\n"
				       "    \"note\": \"none\"\n"
				       "  },\n"
				       "  \"pointer\": null,\n"
				       "  \"parts\": []\n"
				       "}\n";
	char a[] = "a", b[] = "b";
	char *texts[] = { a, b };
	int64_t numbers[] = { 1, -2 };
	uint64_t pairs[] = { 1, 2 };
	struct sample s;
	char *text;
	size_t len;

	(void)state;
	field_struct_init(&sample_desc, &s);
	s.texts = texts;
	s.texts_count = 2;
	s.numbers = numbers;
	s.numbers_count = 2;
	s.pairs = pairs;
	s.pairs_count = 1;
	text = json_encode_struct(&sample_desc, &s, true, &len);
	assert_string_equal(text, indented);
	assert_int_equal(len, strlen(indented));
	free(text);

	text = json_encode_struct(&sample_desc, &s, false, NULL);
	assert_non_null(strstr(text, "\"numbers\":[1,-2],\"pairs\":[[1,2]],\"part\":{\"must\":0,\"note\":\"none\"},"));
	assert_null(strchr(text, '\n'));
	free(text);
	s.texts = NULL;
	s.numbers = NULL;
	s.pairs = NULL;
	s.texts_count = s.numbers_count = s.pairs_count = 0;
	field_struct_fini(&sample_desc, &s);
}

/* The value of one member, as written. */
static void
check_member(const struct sample *s, const char *member, const char *wanted)
{
	char *text = json_encode_struct(&sample_desc, s, false, NULL);
	char *key = ls_asprintf("\"%s\":", member);
	const char *at = strstr(text, key);

	if (at == NULL)
		fail_msg("no %s in %s", member, text);
	else if (strncmp(at + strlen(key), wanted, strlen(wanted)) != 0 ||
	    strchr(",}", at[strlen(key) + strlen(wanted)]) == NULL)
		fail_msg("%s: wanted %s in %s", member, wanted, at);
	free(key);
	free(text);
}

struct text_case {
	const char *name;
	const char *text;
	const char *wanted;
};

static const struct text_case text_cases[] = {
	{ "plain", "a b", "\"a b\"" },
	{ "empty", "", "\"\"" },
	{ "quotes and backslashes", "\"\\", "\"\\\"\\\\\"" },
	{ "control characters", "\n\t\x01\x1f\x7f", "\"\\n\\t\\u0001\\u001f\\u007f\"" },
	{ "two bytes", "\xc3\xa4", "\"\\u00e4\"" },
	{ "three bytes", "\xe2\x82\xac", "\"\\u20ac\"" },
	{ "four bytes", "\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\"" },
	{ "last code point", "\xf4\x8f\xbf\xbf", "\"\\udbff\\udfff\"" },
	{ "beyond the last", "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ "Latin-1 file name", "gr\xfc\xdf", "\"gr\\ufffd\\ufffd\"" },
	{ "cut in a character", "a\xe2\x82", "\"a\\ufffd\\ufffd\"" },
	{ "overlong", "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
	{ "overlong of three", "\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"" },
	{ "encoded surrogate", "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
	{ "slash stays", "/a", "\"/a\"" },
};

static void
test_texts_are_ascii(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(text_cases); i++) {
		struct sample s;

		field_struct_init(&sample_desc, &s);
		free(s.s);
		s.s = ls_strdup(text_cases[i].text);
		check_member(&s, "s", text_cases[i].wanted);
		field_struct_fini(&sample_desc, &s);
	}
}

struct number_case {
	double value;
	const char *wanted;
};

static const struct number_case number_cases[] = {
	{ 0.0, "0" },
	{ -0.0, "0" },
	{ 1, "1" },
	{ 0.1, "0.1" },
	{ 1.0 / 3, "0.3333333333333333" },
	{ 2.0 / 3, "0.6666666666666666" },
	{ 5e-324, "4.94065645841247e-324" },
	{ DBL_MAX, "1.7976931348623157e+308" },
	{ 123456789012345680.0, "1.2345678901234568e+17" },
	{ -1e22, "-1e+22" },
	{ (double)INFINITY, "null" },
	{ -(double)INFINITY, "null" },
	{ (double)NAN, "null" },
};

static void
check_numbers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(number_cases); i++) {
		struct sample s;

		field_struct_init(&sample_desc, &s);
		s.f = number_cases[i].value;
		check_member(&s, "f", number_cases[i].wanted);
		field_struct_fini(&sample_desc, &s);
	}
}

static void
test_numbers_are_short_and_exact(void **state)
{
	(void)state;
	check_numbers();
}

static void
test_locale_does_not_matter(void **state)
{
	static const char text[] = "{\"part\":{\"must\":1},\"f\":1234.5,\"size\":\"1.5KiB\"}";
	struct sample s;
	char point;

	(void)state;
	if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
		skip();
	check_numbers();
	assert_int_equal(
	    json_decode_struct(&sample_desc, text, strlen(text), JSON_UNKNOWN_REFUSED, NULL, &s, NULL), LS_OK);
	assert_true(s.f >= 1234.5 && s.f <= 1234.5);
	assert_int_equal(s.size, 1536);
	check_member(&s, "f", "1234.5");
	field_struct_fini(&sample_desc, &s);

	point = localeconv()->decimal_point[0]; /* the caller's locale is as before */
	setlocale(LC_ALL, "C");
	assert_int_equal(point, ',');
}

static void
test_integers_at_their_ends(void **state)
{
	struct sample s;

	(void)state;
	field_struct_init(&sample_desc, &s);
	s.any = INT64_MIN;
	check_member(&s, "any", "-9223372036854775808");
	s.any = INT64_MAX;
	check_member(&s, "any", "9223372036854775807");
	s.u = UINT64_MAX; /* not nullable: the largest that a reader takes */
	check_member(&s, "u", "9223372036854775807");
	field_struct_fini(&sample_desc, &s);
}

static void
test_unknown_is_null_or_left_out(void **state)
{
	struct sample s;
	char *text;

	(void)state;
	field_struct_init(&sample_desc, &s);
	s.unknown_i = LS_UNKNOWN_I64;
	s.unknown_u = LS_UNKNOWN_U64;
	free(s.unknown_s);
	s.unknown_s = NULL;
	free(s.s);
	s.s = NULL;
	check_member(&s, "unknown_i", "null");
	check_member(&s, "unknown_u", "null");
	check_member(&s, "unknown_s", "null");
	check_member(&s, "s", "\"\""); /* may not be null */
	text = json_encode_struct(&sample_desc, &s, false, NULL);
	assert_null(strstr(text, "omitted"));
	free(text);
	s.omitted_i = 7;
	s.omitted_s = ls_strdup("");
	check_member(&s, "omitted_i", "7");
	check_member(&s, "omitted_s", "\"\"");
	field_struct_fini(&sample_desc, &s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_in_order_compact_and_indented),
		cmocka_unit_test(test_texts_are_ascii),
		cmocka_unit_test(test_numbers_are_short_and_exact),
		cmocka_unit_test(test_locale_does_not_matter),
		cmocka_unit_test(test_integers_at_their_ends),
		cmocka_unit_test(test_unknown_is_null_or_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
