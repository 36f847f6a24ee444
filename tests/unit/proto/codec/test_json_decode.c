/* What is accepted as JSON for a struct, and the full text of each refusal. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "proto/codec/json.h"
#include "proto/codec/json_int.h"
#include "proto/model/results.h"

/* A struct with a field of every kind. */
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
test_values_of_every_kind(void **state)
{
	static const char text[] =
	    "{ \"flag\": true, \"i\": -5, \"u\": 9223372036854775807, \"size\": \"64KiB\", \"duration\": \"2s\","
	    "  \"f\": 1.5, \"color\": \"blue\", \"s\": \"\\u00e4\\ud83d\\ude00\\n\", \"texts\": [\"a\", \"\"],"
	    "  \"numbers\": [1, -2], \"pairs\": [[1, 2], [3, 4]], \"part\": { \"must\": 7 }, \"pointer\": { \"must\": "
	    "8 },"
	    "  \"parts\": [{ \"must\": 9 }, { \"must\": 10, \"note\": null }] }";
	struct sample s;
	struct ls_err err = { 0 };

	(void)state;
	if (json_decode_struct(&sample_desc, text, strlen(text), JSON_UNKNOWN_REFUSED, NULL, &s, &err) != LS_OK)
		fail_msg("%s", err.text);
	assert_true(s.flag);
	assert_int_equal(s.i, -5);
	assert_true(s.u == INT64_MAX);
	assert_int_equal(s.size, 65536);
	assert_int_equal(s.duration, 2000000000);
	assert_true(s.f >= 1.5 && s.f <= 1.5);
	assert_int_equal(s.color, 2);
	assert_string_equal(s.s, "\xc3\xa4\xf0\x9f\x98\x80\n");
	assert_int_equal(s.texts_count, 2);
	assert_string_equal(s.texts[0], "a");
	assert_int_equal(s.numbers_count, 2);
	assert_int_equal(s.numbers[1], -2);
	assert_int_equal(s.pairs_count, 2);
	assert_int_equal(s.pairs[3], 4);
	assert_int_equal(s.part.must, 7);
	assert_string_equal(s.part.note, "none");
	assert_int_equal(s.pointer->must, 8);
	assert_int_equal(s.parts_count, 2);
	assert_null(s.parts[1].note);
	field_struct_fini(&sample_desc, &s);
}

static void
test_defaults_and_nulls(void **state)
{
	static const char text[] = "{\"part\":{\"must\":0},\"unknown_i\":null,\"unknown_u\":null,\"unknown_f\":null,"
				   "\"unknown_s\":null,\"pointer\":null}";
	struct sample s;

	(void)state;
	assert_int_equal(
	    json_decode_struct(&sample_desc, text, strlen(text), JSON_UNKNOWN_REFUSED, NULL, &s, NULL), LS_OK);
	assert_int_equal(s.u, 3);
	assert_int_equal(s.color, 1);
	assert_string_equal(s.s, "text");
	assert_true(s.unknown_i == LS_UNKNOWN_I64 && s.unknown_u == LS_UNKNOWN_U64 && isnan(s.unknown_f));
	assert_null(s.unknown_s);
	assert_null(s.pointer);
	assert_int_equal(s.parts_count, 0);
	field_struct_fini(&sample_desc, &s);
}

struct bad_case {
	const char *name;
	const char *text;
	enum ls_rc rc;
	const char *error; /* a '*' at the end: what follows is jansson's */
};

static bool
matches(const char *text, const char *wanted)
{
	size_t n = strlen(wanted);

	return n > 0 && wanted[n - 1] == '*' ? strncmp(text, wanted, n - 1) == 0 : strcmp(text, wanted) == 0;
}

static const struct bad_case bad_cases[] = {
	/* syntax */
	{ "nothing", "", LS_E_INVALID, "f: line 1 column *" },
	{ "no object", "[]", LS_E_INVALID, "f: must be an object, not a list" },
	{ "no document", "5", LS_E_INVALID, "f: line 1 column *" },
	{ "third line", "{\n \"flag\": true,\n \"i\": }", LS_E_INVALID,
	    "f: line 3 column 7: unexpected token near '}'" },
	{ "trailing text", "{} x", LS_E_INVALID, "f: line 1 column 4: end of file expected near 'x'" },
	{ "duplicate key", "{\"i\":1,\"i\":2}", LS_E_INVALID, "f: line 1 column 10: duplicate object key*" },
	{ "comment", "{ // no\n}", LS_E_INVALID, "f: line 1 column *" },
	{ "not closed", "{\"i\":1", LS_E_INVALID, "f: line 1 column *" },
	{ "string not closed", "{\"s\":\"abc\\", LS_E_INVALID, "f: line 1 column *" },
	{ "NUL in a string", "{\"s\":\"a\\u0000b\"}", LS_E_INVALID, "f: line 1 column 15: \\u0000 is not allowed*" },
	{ "lone high surrogate", "{\"s\":\"\\ud800\"}", LS_E_INVALID, "f: line 1 column *" },
	{ "lone low surrogate", "{\"s\":\"\\udc00\"}", LS_E_INVALID, "f: line 1 column *" },
	{ "surrogates swapped", "{\"s\":\"\\udc00\\ud800\"}", LS_E_INVALID, "f: line 1 column *" },
	{ "bytes that are no UTF-8", "{\"s\":\"\xff\"}", LS_E_INVALID, "f: line 1 column *" },
	{ "overlong UTF-8", "{\"s\":\"\xc0\x80\"}", LS_E_INVALID, "f: line 1 column *" },
	{ "encoded surrogate", "{\"s\":\"\xed\xa0\x80\"}", LS_E_INVALID, "f: line 1 column *" },
	{ "2^63", "{\"u\":9223372036854775808}", LS_E_INVALID, "f: line 1 column *" },
	{ "2^64", "{\"u\":18446744073709551616}", LS_E_INVALID, "f: line 1 column *" },
	{ "1e400", "{\"f\":1e400}", LS_E_INVALID, "f: line 1 column *" },
	{ "NaN", "{\"f\":NaN}", LS_E_INVALID, "f: line 1 column *" },
	{ "leading zero", "{\"i\":007}", LS_E_INVALID, "f: line 1 column *" },
	/* kinds */
	{ "integer as text", "{\"i\":\"5\"}", LS_E_INVALID, "f: i: must be an integer, not a text" },
	{ "integer with fraction", "{\"i\":5.0}", LS_E_INVALID,
	    "f: i: must be an integer, not a number with a fraction or exponent" },
	{ "integer with exponent", "{\"u\":1e3}", LS_E_INVALID,
	    "f: u: must be an integer, not a number with a fraction or exponent" },
	{ "null where there must be a value", "{\"i\":null}", LS_E_INVALID, "f: i: must be an integer, not null" },
	{ "text where null only", "{\"unknown_i\":\"\"}", LS_E_INVALID,
	    "f: unknown_i: must be an integer, not a text" },
	{ "bool as integer", "{\"flag\":1}", LS_E_INVALID, "f: flag: must be true or false, not an integer" },
	{ "number as text", "{\"f\":\"1.5\"}", LS_E_INVALID, "f: f: must be a number, not a text" },
	{ "text as list", "{\"s\":[]}", LS_E_INVALID, "f: s: must be a text, not a list" },
	{ "list as object", "{\"texts\":{}}", LS_E_INVALID, "f: texts: must be a list, not an object" },
	{ "object as text", "{\"part\":\"x\"}", LS_E_INVALID, "f: part: must be an object, not a text" },
	{ "enum as number", "{\"color\":1}", LS_E_INVALID, "f: color: must be a text, not an integer" },
	{ "enum unknown", "{\"color\":\"pink\"}", LS_E_INVALID, "f: color: \"pink\" is none of red, green, blue" },
	{ "size as bool", "{\"size\":true}", LS_E_INVALID,
	    "f: size: must be a size such as 65536 or \"64KiB\", not true or false" },
	{ "size with two meanings", "{\"size\":\"4KB\"}", LS_E_INVALID,
	    "f: size: '4KB': KB means 1024 to some tools and 1000 to others; write KiB (1024) or kB (1000)" },
	{ "duration as list", "{\"duration\":[]}", LS_E_INVALID,
	    "f: duration: must be a duration such as \"5s\" or \"100ms\", not a list" },
	{ "duration without unit", "{\"duration\":5}", LS_E_INVALID,
	    "f: duration: 5 has no unit; write \"5s\" for seconds" },
	/* limits */
	{ "too small", "{\"i\":-11}", LS_E_RANGE, "f: i: -11 is below the least allowed, -10" },
	{ "too large", "{\"i\":11}", LS_E_RANGE, "f: i: 11 is above the most allowed, 10" },
	{ "negative", "{\"u\":-1}", LS_E_RANGE, "f: u: -1 is below the least allowed, 0" },
	{ "size too small", "{\"size\":\"0\"}", LS_E_RANGE, "f: size: 0 is below the least allowed, 1" },
	{ "size too large", "{\"size\":\"1GiB\"}", LS_E_RANGE,
	    "f: size: 1073741824 is above the most allowed, 1048576" },
	{ "duration too long", "{\"duration\":\"1h\"}", LS_E_RANGE,
	    "f: duration: 3600000000000 is above the most allowed, 60000000000" },
	{ "text too long", "{\"s\":\"\\u00e4\\u00e4\\u00e4\\u00e4\\u00e4\"}", LS_E_RANGE,
	    "f: s: 10 bytes of text, at most 8 are allowed" },
	{ "list too long", "{\"texts\":[\"\",\"\",\"\",\"\"]}", LS_E_RANGE,
	    "f: texts: 4 elements, at most 3 are allowed" },
	/* places */
	{ "in a list", "{\"numbers\":[1,2,\"3\"]}", LS_E_INVALID, "f: numbers[2]: must be an integer, not a text" },
	{ "in a list of texts", "{\"texts\":[\"a\",null]}", LS_E_INVALID, "f: texts[1]: must be a text, not null" },
	{ "in a list of structs", "{\"part\":{\"must\":1},\"parts\":[{\"must\":1},{\"must\":2,\"note\":3}]}",
	    LS_E_INVALID, "f: parts[1].note: must be a text, not an integer" },
	{ "pair of three", "{\"pairs\":[[1,2,3]]}", LS_E_INVALID, "f: pairs[0]: must be a list of two integers" },
	{ "pair of texts", "{\"pairs\":[[1,\"2\"]]}", LS_E_INVALID,
	    "f: pairs[0]: must be two integers that are not negative" },
	{ "negative pair", "{\"pairs\":[[1,-2]]}", LS_E_INVALID,
	    "f: pairs[0]: must be two integers that are not negative" },
	{ "required", "{\"part\":{}}", LS_E_INVALID, "f: part.must: missing" },
	{ "required in a list", "{\"part\":{\"must\":1},\"parts\":[{}]}", LS_E_INVALID, "f: parts[0].must: missing" },
	{ "required in a pointer", "{\"part\":{\"must\":1},\"pointer\":{}}", LS_E_INVALID, "f: pointer.must: missing" },
	/* unknown keys */
	{ "misspelt", "{\"colour\":1}", LS_E_INVALID, "f: unknown key \"colour\", did you mean \"color\"?" },
	{ "strange", "{\"something else\":1}", LS_E_INVALID, "f: unknown key \"something else\"" },
	{ "misspelt inside", "{\"part\":{\"must\":1},\"parts\":[{\"must\":1,\"nota\":1}]}", LS_E_INVALID,
	    "f: parts[0]: unknown key \"nota\", did you mean \"note\"?" },
};

static void
test_refusals_name_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad_cases); i++) {
		const struct bad_case *c = &bad_cases[i];
		struct ls_err err = { 0 };
		struct sample s;
		/* a copy without a terminating NUL: reading past the end is seen by the sanitizer */
		char *text = ls_malloc(strlen(c->text) + (c->text[0] == '\0'));

		memcpy(text, c->text, strlen(c->text));
		enum ls_rc rc =
		    json_decode_struct(&sample_desc, text, strlen(c->text), JSON_UNKNOWN_REFUSED, "f", &s, &err);
		if (rc != c->rc || !matches(err.text, c->error))
			fail_msg("%s: got %d \"%s\", wanted %d \"%s\"", c->name, rc, err.text, c->rc, c->error);
		assert_int_equal(
		    json_decode_struct(&sample_desc, text, strlen(c->text), JSON_UNKNOWN_REFUSED, NULL, &s, NULL),
		    c->rc);
		free(text);
	}
}

static void
test_unknown_keys_may_be_ignored(void **state)
{
	static const char text[] = "{\"part\":{\"must\":1,\"new\":{}},\"newer\":[[[]]],\"duration\":5}";
	struct sample s;

	(void)state;
	assert_int_equal(
	    json_decode_struct(&sample_desc, text, strlen(text), JSON_UNKNOWN_IGNORED, NULL, &s, NULL), LS_OK);
	assert_int_equal(s.duration, 5); /* nanoseconds between programs */
	field_struct_fini(&sample_desc, &s);
}

static void
test_numbers_are_exact(void **state)
{
	static const char text[] =
	    "{\"part\":{\"must\":-0},\"any\":-9223372036854775808,\"u\":9007199254740993,\"f\":0.1}";
	struct sample s;

	(void)state;
	assert_int_equal(
	    json_decode_struct(&sample_desc, text, strlen(text), JSON_UNKNOWN_REFUSED, NULL, &s, NULL), LS_OK);
	assert_int_equal(s.part.must, 0);
	assert_true(s.any == INT64_MIN);
	assert_true(s.u == 9007199254740993ULL);
	field_struct_fini(&sample_desc, &s);
}

/* n times open, the middle, n times close, as the value of an unknown key */
static char *
nested(size_t n, const char *open, const char *middle, const char *close)
{
	struct sink s = { 0 };

	sink_printf(&s, "{\"part\":{\"must\":1},\"x\":");
	for (size_t i = 0; i < n; i++)
		sink_printf(&s, "%s", open);
	sink_printf(&s, "%s", middle);
	for (size_t i = 0; i < n; i++)
		sink_printf(&s, "%s", close);
	sink_printf(&s, "}");
	return s.text;
}

static enum ls_rc
decode_ignoring(char *text, size_t max_values, struct ls_err *err)
{
	struct sample s;
	enum ls_rc rc =
	    json_decode_struct_max(&sample_desc, text, strlen(text), JSON_UNKNOWN_IGNORED, max_values, "f", &s, err);

	if (rc == LS_OK)
		field_struct_fini(&sample_desc, &s);
	free(text);
	return rc;
}

static void
test_depth_is_bounded(void **state)
{
	struct ls_err err = { 0 };

	(void)state;
	assert_int_equal(decode_ignoring(nested(JSON_DEPTH_MAX - 1, "[", "1", "]"), 0, &err), LS_OK);
	assert_int_equal(decode_ignoring(nested(JSON_DEPTH_MAX, "[", "1", "]"), 0, &err), LS_E_INVALID);
	assert_string_equal(err.text, "f: line 1 column 55: nested deeper than 32");
	assert_int_equal(decode_ignoring(nested(JSON_DEPTH_MAX, "{\"a\":", "1", "}"), 0, &err), LS_E_INVALID);
	assert_int_equal(decode_ignoring(nested(500000, "[", "", ""), 0, &err), LS_E_INVALID);
	/* brackets in strings do not nest, also after escaped quotes */
	assert_int_equal(
	    decode_ignoring(nested(1, "[", "\"[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[[[[[[[[[[[[[[[[[\\\\\"", "]"), 0, &err),
	    LS_OK);
	assert_int_equal(decode_ignoring(nested(500, "[],[", "", "]"), 0, &err), LS_E_INVALID);
}

static void
test_number_of_values_is_bounded(void **state)
{
	struct ls_err err = { 0 };

	(void)state;
	assert_int_equal(decode_ignoring(nested(1, "[", "1,2,3,\",,,,,,,\"", "]"), 7, &err), LS_OK);
	assert_int_equal(decode_ignoring(nested(1, "[", "1,2,3,\",,,,,,,\"", "]"), 6, &err), LS_E_LIMIT);
	assert_string_equal(err.text, "f: line 1 column 30: more than 6 values");
}

/*
 * The quick way takes a text or gives up. What it takes must be what the tree holds; what lockstep itself writes it must
 * take, or large documents become slow without anybody noticing.
 */
static const struct walk_case {
	const char *text;
	bool walked;
} walk_cases[] = {
	{ "{}", true },
	{ " { } ", true },
	{ "{\"i\":-5,\"u\":0,\"f\":1.5e3,\"flag\":true,\"color\":\"blue\",\"size\":\"64KiB\",\"duration\":\"7s\"}",
	    true },
	{ "{\"s\":\"\\u00e4,]}\",\"texts\":[\"a\",\"]\"],\"unknown_i\":null,\"pointer\":null}", true },
	{ "{\"numbers\" : [ 1 , -2,\n3 ] , \"pairs\":[[1,2] , [ 3,4 ]]}", true },
	{ "{\"numbers\":[],\"pairs\":[],\"parts\":[],\"part\":{\"must\":1},\"pointer\":{\"must\":2,\"note\":null}}",
	    true },
	{ "{\"parts\":[{\"must\":999999999999999999},{\"note\":\"x\",\"must\":-0}]}", true },
	{ "{\"any\":9223372036854775807}", true },
	{ "{\"numbers\":[1,2,3,4]}", false },             /* too many */
	{ "{\"numbers\":[9223372036854775807]}", false }, /* for the tree */
	{ "{\"numbers\":[1.0]}", false },                 /* no integer */
	{ "{\"numbers\":[01]}", false },                  /* no JSON */
	{ "{\"numbers\":[1,]}", false },                  /* likewise */
	{ "{\"numbers\":[1 2]}", false },                 /* likewise */
	{ "{\"pairs\":[[1,2,3]]}", false },               /* no pair */
	{ "{\"pairs\":[[1,-2]]}", false },                /* negative */
	{ "{\"i\":11}", false },                          /* above the limit */
	{ "{\"i\":1,\"i\":1}", false },                   /* twice */
	{ "{\"part\":{}}", false },                       /* something required is missing */
	{ "{\"parts\":[{\"must\":1},null]}", false },     /* no struct */
	{ "{\"x\":1}", false },                           /* not ours: whether it is refused the tree says */
	{ "{\"\\u0069\":1}", false },                     /* "i", written in another way */
	{ "{\"i\":1}x", false },
	{ "{\"i\":1", false },
	{ "{\"i\"", false },
	{ "[]", false },
	{ "", false },
};

static void
check_walk(const struct walk_case *c)
{
	const struct json_context context = { .what = "case", .unknown = JSON_UNKNOWN_REFUSED };
	struct sample walked;
	struct sample read;
	json_t *tree;
	char *one;
	char *other;

	if (json_walk(&context, &sample_desc, c->text, strlen(c->text), &walked) != c->walked)
		fail_msg("%s: is %s", c->text, c->walked ? "given up" : "taken");
	if (!c->walked)
		return;
	assert_int_equal(json_text_parse(c->text, strlen(c->text), 0, "case", &tree, NULL), LS_OK);
	assert_int_equal(json_tree_to_struct(&context, NULL, &sample_desc, tree, &read, NULL), LS_OK);
	json_decref(tree);
	one = json_encode_struct(&sample_desc, &walked, false, NULL);
	other = json_encode_struct(&sample_desc, &read, false, NULL);
	assert_string_equal(one, other);
	free(one);
	free(other);
	field_struct_fini(&sample_desc, &walked);
	field_struct_fini(&sample_desc, &read);
}

static void
test_the_quick_way_reads_what_the_tree_holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(walk_cases); i++)
		check_walk(&walk_cases[i]);
}

static void
test_what_is_written_is_read_quickly(void **state)
{
	const struct json_context context = { .what = "written" };
	struct results results;
	struct results back;
	char *text;
	size_t len;

	(void)state;
	field_struct_init(&results_desc, &results);
	results.phases = ls_calloc(1, sizeof(*results.phases));
	results.phases_count = 1;
	field_struct_init(&phase_result_desc, &results.phases[0]);
	for (int indent = 0; indent < 2; indent++) {
		text = json_encode_struct(&results_desc, &results, indent, &len);
		assert_true(json_walk(&context, &results_desc, text, len, &back));
		field_struct_fini(&results_desc, &back);
		free(text);
	}
	field_struct_fini(&results_desc, &results);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_every_kind),
		cmocka_unit_test(test_defaults_and_nulls),
		cmocka_unit_test(test_refusals_name_the_place),
		cmocka_unit_test(test_unknown_keys_may_be_ignored),
		cmocka_unit_test(test_numbers_are_exact),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_number_of_values_is_bounded),
		cmocka_unit_test(test_the_quick_way_reads_what_the_tree_holds),
		cmocka_unit_test(test_what_is_written_is_read_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
