#include "common/base/units.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	enum ls_rc rc;
	uint64_t bytes;
} size_cases[] = {
	{ "0", LS_OK, 0 },
	{ "4096", LS_OK, 4096 },
	{ "007", LS_OK, 7 },
	{ "512B", LS_OK, 512 },
	{ "4k", LS_OK, 4096 }, /* as fio reads it */
	{ "4K", LS_OK, 4096 },
	{ "4KiB", LS_OK, 4096 },
	{ "4kB", LS_OK, 4000 },
	{ "1m", LS_OK, 1 << 20 },
	{ "1M", LS_OK, 1 << 20 },
	{ "1MiB", LS_OK, 1 << 20 },
	{ "1MB", LS_OK, 1000000 },
	{ "1.5GiB", LS_OK, 3ULL << 29 },
	{ "1.5g", LS_OK, 3ULL << 29 },
	{ "2GB", LS_OK, 2000000000 },
	{ "1T", LS_OK, 1ULL << 40 },
	{ "1TB", LS_OK, 1000000000000 },
	{ "1p", LS_OK, 1ULL << 50 },
	{ "1PB", LS_OK, 1000000000000000 },
	{ "64 KiB", LS_OK, 65536 },
	{ "0.0001KiB", LS_OK, 0 },
	{ "0.999999999999999999999999999999k", LS_OK, 1023 },
	{ "1.1kB", LS_OK, 1100 },
	{ "9223372036854775807", LS_OK, INT64_MAX },
	{ "8191.9999PiB", LS_OK, 9223371924264785123 },
	{ "9223372036854775808", LS_E_RANGE, 0 },
	{ "18446744073709551616", LS_E_RANGE, 0 },
	{ "8192PiB", LS_E_RANGE, 0 },
	{ "99999999999999999999999999", LS_E_RANGE, 0 },
	{ "16384P", LS_E_RANGE, 0 },
	{ "", LS_E_INVALID, 0 },
	{ "k", LS_E_INVALID, 0 },
	{ "KiB", LS_E_INVALID, 0 },
	{ "-1", LS_E_INVALID, 0 },
	{ "-4k", LS_E_INVALID, 0 },
	{ "+4k", LS_E_INVALID, 0 },
	{ "4KB", LS_E_INVALID, 0 },
	{ "4kb", LS_E_INVALID, 0 },
	{ "4kib", LS_E_INVALID, 0 },
	{ "4kiB", LS_E_INVALID, 0 },
	{ "4mB", LS_E_INVALID, 0 },
	{ "4b", LS_E_INVALID, 0 },
	{ "4X", LS_E_INVALID, 0 },
	{ "4kk", LS_E_INVALID, 0 },
	{ "1.5", LS_E_INVALID, 0 },
	{ "1.0B", LS_E_INVALID, 0 },
	{ "1.", LS_E_INVALID, 0 },
	{ ".5k", LS_E_INVALID, 0 },
	{ "1.5.5k", LS_E_INVALID, 0 },
	{ "1,5k", LS_E_INVALID, 0 },
	{ "1e3", LS_E_INVALID, 0 },
	{ "0x10", LS_E_INVALID, 0 },
	{ " 4k", LS_E_INVALID, 0 },
	{ "4k ", LS_E_INVALID, 0 },
	{ "4 ", LS_E_INVALID, 0 },
	{ "4  k", LS_E_INVALID, 0 },
	{ "4\tk", LS_E_INVALID, 0 },
	{ "inf", LS_E_INVALID, 0 },
};

static void
test_sizes_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(size_cases); i++) {
		uint64_t bytes = 77;
		struct ls_err err = { 0 };
		enum ls_rc rc = units_parse_size(size_cases[i].text, &bytes, &err);

		if (rc != size_cases[i].rc || bytes != (rc == LS_OK ? size_cases[i].bytes : 77))
			fail_msg("'%s': %s, %llu", size_cases[i].text, ls_rc_name(rc), (unsigned long long)bytes);
		assert_true(rc == LS_OK || (err.text[0] != '\0' && err.rc == rc));
		assert_int_equal(units_parse_size(size_cases[i].text, &bytes, NULL), rc);
	}
}

static void
test_an_ambiguous_unit_is_explained(void **state)
{
	struct ls_err err;
	uint64_t bytes;

	(void)state;
	assert_int_equal(units_parse_size("4KB", &bytes, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "KiB (1024)"));
	assert_non_null(strstr(err.text, "kB (1000)"));
	assert_int_equal(units_parse_size("4kib", &bytes, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "unknown unit 'kib'"));
}

static const struct {
	const char *text;
	enum ls_rc rc;
	int64_t ns;
} duration_cases[] = {
	{ "0", LS_OK, 0 },
	{ "0s", LS_OK, 0 },
	{ "7ns", LS_OK, 7 },
	{ "7us", LS_OK, 7000 },
	{ "100ms", LS_OK, 100 * NS_PER_MS },
	{ "5s", LS_OK, 5 * NS_PER_S },
	{ "2m", LS_OK, 120 * NS_PER_S },
	{ "2min", LS_OK, 120 * NS_PER_S },
	{ "2 min", LS_OK, 120 * NS_PER_S },
	{ "1h", LS_OK, 3600 * NS_PER_S },
	{ "1d", LS_OK, 86400 * NS_PER_S },
	{ "1.5s", LS_OK, 1500 * NS_PER_MS },
	{ "0.25us", LS_OK, 250 },
	{ "1.9ns", LS_OK, 1 },
	{ "106751d", LS_OK, 106751 * (86400 * NS_PER_S) },
	{ "9223372036854775807ns", LS_OK, INT64_MAX },
	{ "9223372036854775808ns", LS_E_RANGE, 0 },
	{ "106752d", LS_E_RANGE, 0 },
	{ "5", LS_E_INVALID, 0 },
	{ "0.0", LS_E_INVALID, 0 },
	{ "", LS_E_INVALID, 0 },
	{ "s", LS_E_INVALID, 0 },
	{ "-5s", LS_E_INVALID, 0 },
	{ "5S", LS_E_INVALID, 0 },
	{ "5sec", LS_E_INVALID, 0 },
	{ "5M", LS_E_INVALID, 0 },
	{ "1h30m", LS_E_INVALID, 0 },
	{ "5s ", LS_E_INVALID, 0 },
};

static void
test_durations_are_parsed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(duration_cases); i++) {
		int64_t ns = 77;
		struct ls_err err = { 0 };
		enum ls_rc rc = units_parse_duration(duration_cases[i].text, &ns, &err);

		if (rc != duration_cases[i].rc || ns != (rc == LS_OK ? duration_cases[i].ns : 77))
			fail_msg("'%s': %s, %lld", duration_cases[i].text, ls_rc_name(rc), (long long)ns);
		assert_true(rc == LS_OK || (err.text[0] != '\0' && err.rc == rc));
	}
}

static const struct {
	uint64_t bytes;
	const char *text;
} size_texts[] = {
	{ 0, "0 B" },
	{ 512, "512 B" },
	{ 1000, "1000 B" },
	{ 1023, "1023 B" },
	{ 1024, "1 KiB" },
	{ 65536, "64 KiB" },
	{ 1536, "1.5 KiB" },
	{ 1034, "1.01 KiB" },
	{ 10250, "10 KiB" },
	{ 1048575, "1 MiB" },
	{ 1047552, "1023 KiB" },
	{ 3ULL << 29, "1.5 GiB" },
	{ 1ULL << 50, "1 PiB" },
	{ INT64_MAX, "8 EiB" },
	{ UINT64_MAX, "16 EiB" },
};

static const struct {
	double value;
	const char *rate, *count;
} number_texts[] = {
	{ 0, "0.00 B/s", "0" },
	{ 0.126, "0.13 B/s", "0.13" },
	{ 12, "12.0 B/s", "12" },
	{ 12.34, "12.3 B/s", "12.3" },
	{ 9.996, "10.0 B/s", "10.0" },
	{ 99.96, "100 B/s", "100" },
	{ 999, "999 B/s", "999" },
	{ 999.7, "1000 B/s", "1.00 k" },
	{ 12345, "12.1 KiB/s", "12.3 k" },
	{ 1048576, "1.00 MiB/s", "1.05 M" },
	{ 1.32e9, "1.23 GiB/s", "1.32 G" },
	{ 1e20, "86.7 EiB/s", "100 E" },
	{ -12345, "-12.1 KiB/s", "-12.3 k" },
	{ 1e300, "n/a", "n/a" },
};

static void
test_sizes_rates_and_counts_are_written(void **state)
{
	char buf[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(size_texts); i++)
		assert_string_equal(units_format_size(size_texts[i].bytes, buf, sizeof(buf)), size_texts[i].text);
	for (size_t i = 0; i < ARRAY_LEN(number_texts); i++) {
		assert_string_equal(units_format_rate(number_texts[i].value, buf, sizeof(buf)), number_texts[i].rate);
		assert_string_equal(units_format_count(number_texts[i].value, buf, sizeof(buf)), number_texts[i].count);
	}
	assert_string_equal(units_format_rate((double)NAN, buf, sizeof(buf)), "n/a");
	assert_string_equal(units_format_count((double)INFINITY, buf, sizeof(buf)), "n/a");
	assert_string_equal(units_format_count(-(double)INFINITY, buf, sizeof(buf)), "n/a");
}

static const struct {
	int64_t ns;
	const char *text;
} duration_texts[] = {
	{ 0, "0 ns" },
	{ 7, "7 ns" },
	{ 512, "512 ns" },
	{ 12300, "12.3 us" },
	{ 4560000, "4.56 ms" },
	{ 999999, "1.00 ms" },
	{ 1200000000, "1.20 s" },
	{ 59940000000, "59.9 s" },
	{ 59950000000, "1 min 00 s" },
	{ 123 * NS_PER_S, "2 min 03 s" },
	{ 3599 * NS_PER_S + 600000000, "1 h 00 min" },
	{ 3900 * NS_PER_S, "1 h 05 min" },
	{ 52 * 3600 * NS_PER_S, "2 d 04 h" },
	{ -1500000, "-1.50 ms" },
	{ -123 * NS_PER_S, "-2 min 03 s" },
	{ INT64_MAX, "106752 d 00 h" },
	{ INT64_MIN, "n/a" },
};

static void
test_durations_are_written(void **state)
{
	char buf[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(duration_texts); i++)
		if (strcmp(units_format_duration(duration_texts[i].ns, buf, sizeof(buf)), duration_texts[i].text) != 0)
			fail_msg(
			    "%lld: '%s', wanted '%s'", (long long)duration_texts[i].ns, buf, duration_texts[i].text);
}

static void
test_the_locale_does_not_matter(void **state)
{
	static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C.UTF-8" };
	char buf[32];
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commas) && setlocale(LC_ALL, commas[i]) == NULL; i++)
		continue;
	assert_int_equal(units_parse_size("1.5k", &bytes, NULL), LS_OK);
	assert_int_equal(bytes, 1536);
	assert_string_equal(units_format_size(1536, buf, sizeof(buf)), "1.5 KiB");
	setlocale(LC_ALL, "C");
}

static void
test_a_short_buffer_is_never_overrun(void **state)
{
	char buf[40];

	(void)state;
	for (size_t len = 1; len < 32; len++) {
		memset(buf, '#', sizeof(buf));
		units_format_size(UINT64_MAX, buf, len);
		units_format_rate(-12345.6, buf, len);
		units_format_count(-123456.7, buf, len);
		units_format_duration(INT64_MAX, buf, len);
		assert_true(strnlen(buf, sizeof(buf)) < len);
		assert_int_equal(buf[len], '#');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_parsed),
		cmocka_unit_test(test_an_ambiguous_unit_is_explained),
		cmocka_unit_test(test_durations_are_parsed),
		cmocka_unit_test(test_sizes_rates_and_counts_are_written),
		cmocka_unit_test(test_durations_are_written),
		cmocka_unit_test(test_the_locale_does_not_matter),
		cmocka_unit_test(test_a_short_buffer_is_never_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
