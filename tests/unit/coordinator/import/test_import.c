/* What every importer promises, on small texts; the figures of all formats: tests/golden/import and tests/system/test_import.py. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/import/import.h"

#define CSV_A "a,2G,1,2,3,4,5,6,7,8,9,10,11.5,0,16,1,2,+++++,+++,3,4,5,6,7,8,9,10\n"
#define CSV_B "b,2G,100,2,300,4,500,6,700,8,900,10,1.5,0,16,1,2,+++++,+++,3,4,5,6,7,8,9,10\n"
#define TABLE "kB reclen write rewrite\n64 4 100 200\n"

static const struct {
	const char *name;
	const char *text;
	size_t documents; /* 0: refused */
	const char *error;
} cases[] = {
	{ "nothing", "", 0, "file:1: no result is recognised" },
	{ "only other text", "a\nb,c\n{ }\n", 0, "file:1: no result is recognised" },
	{ "27 fields of another kind", ",,,,,,,,,,,,,,,,,,,,,,,,,,\n", 0, "no result is recognised" },
	{ "one CSV line", CSV_A, 1, NULL },
	{ "two machines", CSV_A "text between\n" CSV_B, 2, NULL },
	{ "two tools", TABLE "\n" CSV_A, 2, NULL },
	{ "two tables without a head", TABLE "\n" TABLE "64 8 1 2\n", 2, NULL },
	{ "a cut CSV line among whole ones", CSV_A "1.97,1.97,x,1,1,2G\n", 0,
	    "file:2: a CSV line of bonnie++ 1.97 has 6 fields" },
	{ "a wrong field", "1.97,1.97,x,1,1,2G,,1,2,3,x4,5,6,7,8,9,10,11,12,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n", 0,
	    "file:1: field 11 of the CSV line" },
	{ "a row that lost a value", "kB reclen write rewrite\n64 4 100 200\n64 8 100\n", 0,
	    "file:3: this row of iozone has 1" },
	{ "a title of other columns", "kB reclen write read\n64 4 1 2\n", 0,
	    "file:1: column 2 of iozone's table should be rewrite" },
	{ "a record larger than its file", "kB reclen write\n4 64 100\n", 0,
	    "file:2: this row of iozone does not begin" },
	{ "JSON of something else", "{ \"jobs\": [ { \"jobname\": \"x\" } ] }\n", 0, "no result is recognised" },
	{ "fio that did nothing",
	    "{ \"fio version\": \"fio-3.1\", \"jobs\": [ { \"jobname\": \"x\", \"read\": { \"io_bytes\": 0 } } ] }\n",
	    0, "file:1: no job in fio's output has done anything" },
	{ "fio cut off", "x\n{ \"fio version\": \"fio-3.1\",\n\"jobs\": [\n", 0,
	    "fio's JSON, which begins in line 2, is cut off" },
};

static void
test_texts_give_documents_or_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct import_set set = { 0 };
		struct ls_err err = { 0 };
		enum ls_rc rc = import_read("file", cases[i].text, strlen(cases[i].text), &set, &err);

		if (cases[i].documents == 0 && (rc != LS_E_INVALID || strstr(err.text, cases[i].error) == NULL))
			fail_msg("%s: got %s \"%s\", wanted \"%s\"", cases[i].name, ls_rc_name(rc), err.text,
			    cases[i].error);
		if (cases[i].documents > 0 && (rc != LS_OK || set.count != cases[i].documents))
			fail_msg(
			    "%s: got %s \"%s\", %zu documents", cases[i].name, ls_rc_name(rc), err.text, set.count);
		import_set_free(&set);
	}
}

static void
read_ok(const char *text, struct import_set *set)
{
	struct ls_err err;

	if (import_read("file", text, strlen(text), set, &err) != LS_OK)
		fail_msg("%s", err.text);
}

static void
test_a_rate_alone_leaves_bytes_unknown_and_no_aggregate(void **state)
{
	struct import_set set = { 0 };

	(void)state;
	read_ok(TABLE, &set);
	const struct phase_result *phase = &set.docs[0]->phases[0];
	assert_string_equal(phase->imported->test, "write");
	assert_int_equal(phase->imported->file_size, 65536);
	assert_int_equal(phase->imported->record_size, 4096);
	assert_int_equal(phase->imported->line, 2);
	assert_true(phase->nodes[0].bytes == LS_UNKNOWN_U64);
	assert_true(phase->nodes[0].bytes_per_s == 102400);
	assert_true(isnan(phase->aggregate.last_done.bytes_per_s) && isnan(phase->aggregate.sum_of_rates.bytes_per_s));
	import_set_free(&set);
}

static void
test_what_was_too_fast_is_unknown_not_zero(void **state)
{
	struct import_set set = { 0 };

	(void)state;
	read_ok(CSV_A, &set);
	const struct phase_result *phase = &set.docs[0]->phases[7];
	assert_string_equal(phase->imported->test, "seq_stat");
	assert_true(isnan(phase->nodes[0].ops_per_s));
	assert_int_equal(phase->warnings_count, 1);
	import_set_free(&set);
}

static void
test_the_same_result_counts_once_and_has_one_identity(void **state)
{
	struct import_set set = { 0 };
	struct import_set again = { 0 };

	(void)state;
	read_ok(CSV_A CSV_B CSV_A, &set);
	assert_int_equal(set.count, 2);
	assert_non_null(strstr(set.docs[0]->run.warnings[0], "stands again in file, line 3"));
	read_ok("noise\r\n" CSV_A, &again);
	assert_string_equal(again.docs[0]->run.id, set.docs[0]->run.id);
	assert_string_not_equal(set.docs[0]->run.id, set.docs[1]->run.id);
	import_set_free(&set);
	import_set_free(&again);
}

static void
test_joined_machines_have_a_labelled_sum(void **state)
{
	struct import_set set = { 0 };
	struct ls_err err;

	(void)state;
	read_ok(CSV_A CSV_B, &set);
	assert_int_equal(import_join(&set, &err), LS_OK);
	assert_int_equal(set.count, 1);
	assert_int_equal(set.docs[0]->nodes_count, 2);
	const struct phase_result *phase = &set.docs[0]->phases[0];
	assert_int_equal(phase->nodes_count, 2);
	assert_true(phase->aggregate.sum_of_rates.bytes_per_s == 101 * 1024);
	assert_true(isnan(phase->aggregate.last_done.bytes_per_s));
	assert_non_null(strstr(phase->warnings[0], "not taken at one barrier"));
	import_set_free(&set);
}

static void
test_what_cannot_be_one_run_is_not_joined(void **state)
{
	static const struct {
		const char *text, *error;
	} texts[] = {
		{ CSV_A "a,4G,1,2,3,4,5,6,7,8,9,10,11.5,0,16,1,2,3,4,3,4,5,6,7,8,9,10\n", "of the machine \"a\"" },
		{ TABLE "\n" CSV_A, "of iozone and of bonnie++" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct import_set set = { 0 };
		struct ls_err err;

		read_ok(texts[i].text, &set);
		assert_int_equal(import_join(&set, &err), LS_E_INVALID);
		assert_non_null(strstr(err.text, texts[i].error));
		assert_int_equal(set.count, 2);
		import_set_free(&set);
	}
}

static void
test_every_importer_tells_what_it_reads(void **state)
{
	(void)state;
	for (size_t i = 0; importers[i] != NULL; i++) {
		assert_true(importers[i]->name[0] != '\0' && importers[i]->help[0] != '\0');
		assert_true(importers[i]->sees != NULL && importers[i]->read != NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_give_documents_or_a_reason),
		cmocka_unit_test(test_a_rate_alone_leaves_bytes_unknown_and_no_aggregate),
		cmocka_unit_test(test_what_was_too_fast_is_unknown_not_zero),
		cmocka_unit_test(test_the_same_result_counts_once_and_has_one_identity),
		cmocka_unit_test(test_joined_machines_have_a_labelled_sum),
		cmocka_unit_test(test_what_cannot_be_one_run_is_not_joined),
		cmocka_unit_test(test_every_importer_tells_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
