/* Lines, words, numbers, fields and sizes of foreign text. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/import/import_int.h"

static const struct {
	const char *text;
	bool is;
	double value;
} numbers[] = {
	{ "0", true, 0 },
	{ "3647896.16", true, 3647896.16 },
	{ "5.4841168717e+02", true, 548.41168717 },
	{ "7.7469348907E-03", true, 0.0077469348907 },
	{ "-12", true, -12 },
	{ "8796093022208.0", true, 8796093022208.0 },
	{ "10401873920000", true, 10401873920000.0 },
	{ ".5", true, 0.5 },
	{ "1,5", false, 0 },
	{ "12x", false, 0 },
	{ "", false, 0 },
	{ "-", false, 0 },
	{ ".", false, 0 },
	{ "NA", false, 0 },
	{ "-nan", false, 0 },
	{ "inf", false, 0 },
	{ "0x10", false, 0 },
	{ "1e999", false, 0 },
	{ "1e", false, 0 },
};

static void
test_numbers_are_digits_only_and_exact(void **state)
{
	(void)state;
	setlocale(LC_ALL, "de_DE.UTF-8");
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		double value = -1;
		bool is = import_number(numbers[i].text, strlen(numbers[i].text), &value);

		if (is != numbers[i].is || (is && value != numbers[i].value))
			fail_msg("\"%s\": got %d %.17g, wanted %d %.17g", numbers[i].text, is, value, numbers[i].is,
			    numbers[i].value);
	}
	setlocale(LC_ALL, "C");
}

static const struct {
	const char *text;
	bool is;
	uint64_t bytes;
} sizes[] = {
	{ "16G", true, 16ULL << 30 },
	{ "480M", true, 480ULL << 20 },
	{ "2g", true, 2ULL << 30 },
	{ "300", true, 300ULL << 20 },
	{ "1.5k", true, 1536 },
	{ "16Gi", false, 0 },
	{ "-1", false, 0 },
	{ "G", false, 0 },
	{ "99999999P", false, 0 },
};

static void
test_sizes_count_in_powers_of_1024(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint64_t bytes = 0;
		bool is = import_size(sizes[i].text, strlen(sizes[i].text), 1 << 20, &bytes);

		if (is != sizes[i].is || (is && bytes != sizes[i].bytes))
			fail_msg("\"%s\": got %d %llu", sizes[i].text, is, (unsigned long long)bytes);
	}
}

static const struct {
	const char *name;
	const char *data;
	const char *lines[3];
	const char *bare[3];
} texts[] = {
	{ "line ends of both kinds", "a\r\nb\nc", { "a", "b", "c" }, { "a", "b", "c" } },
	{ "a quoted mail", "> a\n> > b\n>\n", { "a", "b", "" }, { "a", "b", "" } },
	{ "bars of a table", "| a b | |\n| |\n|c|\n", { "| a b | |", "| |", "|c|" }, { "a b", "", "c" } },
	{ "a byte order mark and blanks behind", "\xef\xbb\xbfx  \n\ty\t\n \n", { "x", "\ty", "" },
	    { "x", "\ty", "" } },
};

static void
test_lines_lose_marks_and_ends_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct import_text text;

		import_text_init(&text, "file", texts[i].data, strlen(texts[i].data));
		if (text.count != 3)
			fail_msg("%s: %zu lines", texts[i].name, text.count);
		for (size_t k = 0; k < 3; k++)
			if (strcmp(text.lines[k], texts[i].lines[k]) != 0 ||
			    strcmp(text.bare[k], texts[i].bare[k]) != 0)
				fail_msg("%s: line %zu is \"%s\", bare \"%s\"", texts[i].name, k, text.lines[k],
				    text.bare[k]);
		import_text_free(&text);
	}
}

static void
test_zero_bytes_do_not_end_a_line(void **state)
{
	struct import_text text;

	(void)state;
	import_text_init(&text, "file", "a\0b\nc\0", 6);
	assert_int_equal(text.count, 2);
	assert_string_equal(text.lines[0], "a b");
	assert_string_equal(text.lines[1], "c");
	import_text_free(&text);
}

static void
test_what_is_no_utf8_becomes_a_question_mark(void **state)
{
	static const char data[] = "a\xe4z \xc3\xa4 \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98\x80 \xff";
	struct import_text text;

	(void)state;
	import_text_init(&text, "file", data, sizeof(data) - 1);
	assert_string_equal(text.lines[0], "a?z \xc3\xa4 ?? ??? \xf0\x9f\x98\x80 ?");
	import_text_free(&text);
}

static void
test_fields_may_be_quoted(void **state)
{
	static const char *const want[] = { "a", "b,\"c\"", "", "d" };
	size_t count;

	(void)state;
	char **fields = import_csv_fields("a,\"b,\"\"c\"\"\",,d", &count);
	assert_int_equal(count, ARRAY_LEN(want));
	for (size_t i = 0; i < count; i++)
		assert_string_equal(fields[i], want[i]);
	free(fields);
}

static void
test_words_know_where_they_stand(void **state)
{
	struct import_words w;
	double value;

	(void)state;
	import_words_of("  KB\treclen  12", &w);
	assert_int_equal(w.count, 3);
	assert_int_equal(w.at[1].start, 5);
	assert_int_equal(w.at[1].end, 11);
	assert_true(import_word_is(&w, 0, "KB"));
	assert_true(import_word_like(&w, 0, "kb"));
	assert_false(import_word_is(&w, 0, "kb"));
	assert_true(import_word_number(&w, 2, &value));
	assert_false(import_word_number(&w, 3, &value));
}

static void
test_copies_end_at_a_character(void **state)
{
	char buf[4];

	(void)state;
	import_copy(buf, sizeof(buf), "ab\xc3\xa4", 4);
	assert_string_equal(buf, "ab");
	import_copy(buf, sizeof(buf), "abc", 3);
	assert_string_equal(buf, "abc");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_are_digits_only_and_exact),
		cmocka_unit_test(test_sizes_count_in_powers_of_1024),
		cmocka_unit_test(test_lines_lose_marks_and_ends_only),
		cmocka_unit_test(test_zero_bytes_do_not_end_a_line),
		cmocka_unit_test(test_what_is_no_utf8_becomes_a_question_mark),
		cmocka_unit_test(test_fields_may_be_quoted),
		cmocka_unit_test(test_words_know_where_they_stand),
		cmocka_unit_test(test_copies_end_at_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
