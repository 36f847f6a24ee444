#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordinator/cli/files.h"
#include "coordinator/cli/jobs.h"
#include "coordinator/cli/output.h"

static void
write_text(const char *path, const char *text)
{
	struct ls_err err;

	if (file_write(path, text, strlen(text), &err) != LS_OK)
		fail_msg("%s", err.text);
}

static int
enter_directory(void **state)
{
	static char dir[] = "/tmp/lockstep-unit-XXXXXX";

	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		return -1;
	*state = dir;
	return 0;
}

static int
leave_directory(void **state)
{
	if (chdir("/") != 0)
		return -1;
	file_remove_tree(*state);
	return access(*state, F_OK) == 0;
}

static const char job_text[] = "{\"path\": \"/from/file\", \"workers\": 2, \"phases\": [{\"kind\": \"write\"}]}";

static void
test_options_stand_above_the_job(void **state)
{
	const struct job_overrides overrides = { .path = "/from/option", .nodes = "a,,b", .workers = 7, .repeat = 3 };
	struct job job;
	struct ls_err err;

	(void)state;
	write_text("job.json", job_text);
	assert_int_equal(jobs_load("job.json", &overrides, &job, &err), LS_OK);
	assert_string_equal(job.path, "/from/option");
	assert_int_equal(job.workers, 7);
	assert_int_equal(job.repeat, 3);
	assert_int_equal(job.nodes_count, 2);
	assert_string_equal(job.nodes[1], "b");
	field_struct_fini(&job_desc, &job);
}

static void
test_without_options_the_job_stands(void **state)
{
	const struct job_overrides overrides = { 0 };
	struct job job;

	(void)state;
	assert_int_equal(jobs_load("./job.json", &overrides, &job, NULL), LS_OK);
	assert_string_equal(job.path, "/from/file");
	assert_int_equal(job.workers, 2);
	assert_int_equal(job.nodes_count, 0);
	field_struct_fini(&job_desc, &job);
}

static const struct {
	const char *name, *what, *text, *path, *set;
	enum ls_rc rc;
	const char *want;
} bad[] = {
	{ "no such preset", "quik", NULL, "/x", NULL, LS_E_NOTFOUND, "presets: " },
	{ "no such file", "none/job.json", NULL, "/x", NULL, LS_E_SYS, "none/job.json" },
	{ "syntax", "bad.json", "{\n \"path\": }", "/x", NULL, LS_E_INVALID, "line 2" },
	{ "no path", "bad.json", "{\"phases\": [{\"kind\": \"write\"}]}", NULL, NULL, LS_E_INVALID, "--path" },
	{ "relative path", "bad.json", "{\"phases\": [{\"kind\": \"write\"}]}", "x", NULL, LS_E_INVALID, "absolute" },
	{ "unknown key to set", "quick", NULL, "/x", "phases.recordsize=1", LS_E_INVALID, "record_size" },
	{ "a directory", "./", NULL, "/x", NULL, LS_E_SYS, "directory" },
};

static void
test_mistakes_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct option_texts set = { 0 };
		struct job_overrides overrides = { .path = bad[i].path, .set = &set };
		struct ls_err err = { 0 };
		struct job job;

		if (bad[i].set != NULL)
			option_texts_add(&set, bad[i].set);
		if (bad[i].text != NULL)
			write_text(bad[i].what, bad[i].text);
		enum ls_rc rc = jobs_load(bad[i].what, &overrides, &job, &err);
		if (rc != bad[i].rc || strstr(err.text, bad[i].want) == NULL)
			fail_msg("%s: %s: %s", bad[i].name, ls_rc_name(rc), err.text);
		option_texts_free(&set);
	}
}

static void
test_words_are_files_or_names(void **state)
{
	static const struct {
		const char *word;
		bool file;
	} cases[] = {
		{ "quick", false },
		{ "last", false },
		{ "20261130-155341-ba20", false },
		{ "a/b", true },
		{ "x.json", true },
		{ ".json", false },
		{ "plain", true },
	};

	(void)state;
	write_text("plain", "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (jobs_is_file(cases[i].word) != cases[i].file)
			fail_msg("%s", cases[i].word);
}

static void
test_files_are_written_whole_or_not_at_all(void **state)
{
	struct ls_err err;
	struct stat st;
	char *text;
	size_t len;

	(void)state;
	write_text("out", "first");
	write_text("out", "second");
	assert_int_equal(file_read("out", &text, &len, &err), LS_OK);
	assert_string_equal(text, "second");
	free(text);

	umask(022);
	write_text("new", "x");
	assert_int_equal(stat("new", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(file_write("missing/out", "x", 1, &err), LS_E_SYS);
	assert_non_null(strstr(err.text, "missing/out"));
	assert_int_equal(file_write("/dev/full", "x", 1, &err), LS_E_SYS);
	assert_int_equal(file_write("/dev/null", "x", 1, &err), LS_OK);
}

static void
test_a_place_is_checked_before_the_run(void **state)
{
	struct ls_err err;

	(void)state;
	assert_int_equal(file_check_writable("here", &err), LS_OK);
	assert_int_equal(file_check_writable("-", &err), LS_OK);
	assert_int_equal(file_check_writable("/dev/null", &err), LS_OK);
	assert_int_equal(file_check_writable("missing/out", &err), LS_E_SYS);
	assert_int_equal(file_check_writable("", &err), LS_E_SYS);
	assert_int_not_equal(access("here", F_OK), 0);
}

static void
test_a_document_of_another_form_is_refused(void **state)
{
	static const char *const texts[] = { "{\"schema\": \"other/1\", \"run\": {\"id\": \"x\"}}", "{}", "[", "" };
	struct results results;
	struct ls_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (results_parse(texts[i], strlen(texts[i]), "doc.json", &results, &err) == LS_OK)
			fail_msg("%s was read", texts[i]);
	assert_non_null(strstr(err.text, "doc.json"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options_stand_above_the_job),
		cmocka_unit_test(test_without_options_the_job_stands),
		cmocka_unit_test(test_mistakes_are_named),
		cmocka_unit_test(test_words_are_files_or_names),
		cmocka_unit_test(test_files_are_written_whole_or_not_at_all),
		cmocka_unit_test(test_a_place_is_checked_before_the_run),
		cmocka_unit_test(test_a_document_of_another_form_is_refused),
	};
	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
