/*
 * Every format renders every results document under tests/golden/results to the text that stands in
 * tests/golden/report/<document>.<extension>. Run from the top of the tree. To accept a wanted change: LOCKSTEP_GOLDEN_WRITE=1.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/report/format.h"
#include "proto/codec/json.h"

#define COLUMNS 100

static const char *const documents[] = { "cluster", "failed", "refused", "charts", "scale", "bonnie", "rows", "steady",
	"loss" };

static char *
read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL)
		return NULL;
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	char *text = ls_malloc(*len + 1);
	assert_int_equal(fread(text, 1, *len, f), *len);
	text[*len] = '\0';
	fclose(f);
	return text;
}

static void
load(const char *document, struct results *out)
{
	char *path = ls_asprintf("tests/golden/results/%s.json", document);
	struct ls_err err;
	size_t len;
	char *text = read_file(path, &len);

	if (text == NULL)
		fail_msg("%s is not there: run from the top of the tree", path);
	if (json_decode_struct(&results_desc, text, len, JSON_UNKNOWN_IGNORED, path, out, &err) != LS_OK)
		fail_msg("%s", err.text);
	free(text);
	free(path);
}

static size_t
first_difference(const char *a, const char *b)
{
	size_t line = 1;

	for (; *a != '\0' && *a == *b; a++, b++)
		line += *a == '\n';
	return line;
}

/* The page's style and programs are the same for every run, and whether dygraphs is among them depends on the machine. */
static void
cut_programs(const struct report_format *format, struct sink *text)
{
	const char *programs = strstr(text->text, "<!-- programs -->");
	char *style = strstr(text->text, "<style>");
	char *style_end = strstr(text->text, "</style>");

	if (strcmp(format->name, "html") != 0)
		return;
	assert_non_null(programs);
	assert_non_null(style);
	assert_non_null(style_end);
	text->len = (size_t)(programs - text->text);
	memmove(style, style_end, (size_t)(programs - style_end));
	text->len -= (size_t)(style_end - style);
}

static void
write_golden(const char *path, const struct sink *text)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text->text, 1, text->len, f), text->len);
	fclose(f);
}

static void
compare(const char *document, const struct report_format *format)
{
	char *path = ls_asprintf("tests/golden/report/%s.%s", document, format->extension);
	struct results results;
	struct sink got = { 0 };
	struct ls_err err;
	size_t len = 0;

	load(document, &results);
	enum ls_rc rc = format->render(&results, &got, &err);
	if (format
		->is_binary) { /* what stands in it is checked by tests/system/test_figures.py, with a program that reads it */
		assert_true(rc == LS_E_REFUSED || (rc == LS_OK && got.len > 2 && memcmp(got.text, "PK", 2) == 0));
		sink_free(&got);
		field_struct_fini(&results_desc, &results);
		free(path);
		return;
	}
	assert_int_equal(rc, LS_OK);
	cut_programs(format, &got);
	if (getenv("LOCKSTEP_GOLDEN_WRITE") != NULL)
		write_golden(path, &got);
	char *want = read_file(path, &len);
	if (want == NULL)
		fail_msg("format %s has no golden file %s", format->name, path);
	if (len != got.len || memcmp(want, got.text, len) != 0)
		fail_msg("%s differs from what %s renders, first in line %zu", path, format->name,
		    first_difference(want, got.text));
	free(want);
	free(path);
	sink_free(&got);
	field_struct_fini(&results_desc, &results);
}

static void
test_every_format_has_its_golden_files(void **state)
{
	(void)state;
	for (size_t i = 0; report_formats[i] != NULL; i++)
		for (size_t d = 0; d < ARRAY_LEN(documents); d++)
			compare(documents[d], report_formats[i]);
}

static void
test_text_stays_within_its_columns(void **state)
{
	(void)state;
	for (size_t d = 0; d < ARRAY_LEN(documents); d++) {
		struct results results;
		struct sink got = { 0 };
		size_t start = 0;

		load(documents[d], &results);
		assert_int_equal(report_format_find("text")->render(&results, &got, NULL), LS_OK);
		for (size_t i = 0; i < got.len; i++) {
			if (got.text[i] != '\n')
				continue;
			if (i - start > COLUMNS)
				fail_msg("%s: %zu columns: %.*s", documents[d], i - start, (int)(i - start),
				    got.text + start);
			start = i + 1;
		}
		sink_free(&got);
		field_struct_fini(&results_desc, &results);
	}
}

static void
test_json_reads_back_the_same(void **state)
{
	struct results results;
	struct results again;
	struct sink once = { 0 };
	struct sink twice = { 0 };

	(void)state;
	load("cluster", &results);
	assert_int_equal(report_format_find("json")->render(&results, &once, NULL), LS_OK);
	assert_int_equal(
	    json_decode_struct(&results_desc, once.text, once.len, JSON_UNKNOWN_IGNORED, "once", &again, NULL), LS_OK);
	assert_int_equal(report_format_find("json")->render(&again, &twice, NULL), LS_OK);
	assert_string_equal(once.text, twice.text);
	sink_free(&once);
	sink_free(&twice);
	field_struct_fini(&results_desc, &results);
	field_struct_fini(&results_desc, &again);
}

static void
test_unknown_formats_are_not_found(void **state)
{
	(void)state;
	assert_null(report_format_find("xml"));
	for (size_t i = 0; report_formats[i] != NULL; i++)
		assert_ptr_equal(report_format_find(report_formats[i]->name), report_formats[i]);
}

/* Names come from peers: they must not become markup or end a script. */
static void
test_texts_in_a_page_are_only_texts(void **state)
{
	static const char evil[] = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>";
	struct results results;
	struct sink got = { 0 };

	(void)state;
	load("cluster", &results);
	for (size_t p = 0; p < results.phases_count; p++) {
		free(results.phases[p].name);
		results.phases[p].name = ls_strdup(evil);
		for (size_t n = 0; n < results.phases[p].nodes_count; n++) {
			free(results.phases[p].nodes[n].node);
			results.phases[p].nodes[n].node = ls_strdup(evil);
		}
	}
	free(results.run.name);
	results.run.name = ls_strdup(evil);
	free(results.run.warnings[0]);
	results.run.warnings[0] = ls_strdup(evil);
	assert_int_equal(report_format_find("html")->render(&results, &got, NULL), LS_OK);
	assert_null(strstr(got.text, "alert(1)</script>"));
	assert_null(strstr(got.text, "<img src=x"));
	assert_null(strstr(got.text, "http://"));
	sink_free(&got);
	field_struct_fini(&results_desc, &results);
}

/* Nothing known at all: no crash, no nan, no inf. */
static void
test_an_empty_document_renders(void **state)
{
	struct results results;

	(void)state;
	field_struct_init(&results_desc, &results);
	results.phases = ls_calloc(1, sizeof(*results.phases));
	results.phases_count = 1;
	field_struct_init(&phase_result_desc, &results.phases[0]);
	results.phases[0].nodes = ls_calloc(1, sizeof(*results.phases[0].nodes));
	results.phases[0].nodes_count = 1;
	field_struct_init(&node_result_desc, &results.phases[0].nodes[0]);
	for (size_t i = 0; report_formats[i] != NULL; i++) {
		struct sink got = { 0 };

		if (report_formats[i]->is_binary)
			continue;
		assert_int_equal(report_formats[i]->render(&results, &got, NULL), LS_OK);
		cut_programs(report_formats[i], &got);
		got.text[got.len] = '\0';
		assert_null(strstr(got.text, "nan"));
		for (const char *inf = strstr(got.text, "inf"); inf != NULL; inf = strstr(inf + 1, "inf"))
			assert_int_equal(inf[3], 'o'); /* "info" */
		sink_free(&got);
	}
	field_struct_fini(&results_desc, &results);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_format_has_its_golden_files),
		cmocka_unit_test(test_text_stays_within_its_columns),
		cmocka_unit_test(test_json_reads_back_the_same),
		cmocka_unit_test(test_unknown_formats_are_not_found),
		cmocka_unit_test(test_texts_in_a_page_are_only_texts),
		cmocka_unit_test(test_an_empty_document_renders),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
