/* Job files, --set and the presets. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec/jobfile.h"
#include "proto/codec/json.h"

#define SETS 4

struct job_case {
	const char *name;
	const char *text;
	const char *set[SETS];
	enum ls_rc rc;
	const char *error;
};

#define TWO "{\"phases\":[{\"kind\":\"write\"},{\"kind\":\"create\"}]}"

static const struct job_case cases[] = {
	{ "good", TWO, { NULL }, LS_OK, "" },
	{ "a schema for the editor", "{\"$schema\":\"job.schema.json\",\"phases\":[]}", { NULL }, LS_OK, "" },
	{ "syntax", "{\n  \"name\": \"x\",\n  phases: []\n}", { NULL }, LS_E_INVALID,
	    "job.json: line 3 column 8: string or '}' expected near 'phases'" },
	{ "unknown key", "{\"phases\":[{\"kind\":\"write\",\"recordsize\":1}]}", { NULL }, LS_E_INVALID,
	    "job.json: phases[0]: unknown key \"recordsize\", did you mean \"record_size\"?" },
	{ "unknown key of the job", "{\"worker\":1}", { NULL }, LS_E_INVALID,
	    "job.json: unknown key \"worker\", did you mean \"workers\"?" },
	{ "no kind", "{\"phases\":[{\"file_size\":1}]}", { NULL }, LS_E_INVALID, "job.json: phases[0].kind: missing" },
	{ "unknown kind", "{\"phases\":[{\"kind\":\"writes\"}]}", { NULL }, LS_E_INVALID,
	    "job.json: phases[0].kind: \"writes\" is none of write, rewrite, read, ..." },
	{ "parameter of another kind", "{\"phases\":[{\"kind\":\"stat\"},{\"kind\":\"write\",\"files\":5}]}", { NULL },
	    LS_E_INVALID, "job.json: phases[1].files: does not apply to write" },
	{ "and the other way round", "{\"phases\":[{\"kind\":\"delete\",\"direct\":true}]}", { NULL }, LS_E_INVALID,
	    "job.json: phases[0].direct: does not apply to delete" },
	{ "size", "{\"phases\":[{\"kind\":\"write\",\"record_size\":\"4KB\"}]}", { NULL }, LS_E_INVALID,
	    "job.json: phases[0].record_size: '4KB': KB means 1024 to some tools and 1000 to others; write KiB (1024) "
	    "or kB (1000)" },
	{ "time without unit", "{\"phases\":[{\"kind\":\"write\",\"time\":30}]}", { NULL }, LS_E_INVALID,
	    "job.json: phases[0].time: 30 has no unit; write \"30s\" for seconds" },
	{ "zero needs no unit", "{\"phases\":[{\"kind\":\"write\",\"time\":0}]}", { NULL }, LS_OK, "" },
	{ "phases no list", "{\"phases\":{\"kind\":\"write\"}}", { NULL }, LS_E_INVALID,
	    "job.json: phases: must be a list, not an object" },
	{ "no job", "[]", { NULL }, LS_E_INVALID, "job.json: must be an object, not a list" },
	/* --set */
	{ "set a number", TWO, { "workers=4" }, LS_OK, "" },
	{ "set a text without quotes", TWO, { "name=a b" }, LS_OK, "" },
	{ "set a text that looks like a number", TWO, { "name=5" }, LS_OK, "" },
	{ "set names", TWO, { "nodes=a,b,c" }, LS_OK, "" },
	{ "set a bool", TWO, { "keep_files=true" }, LS_OK, "" },
	{ "set several", TWO, { "phases.time=5s", "phases[0].record_size=4k", "phases.files=3", "workers=2" }, LS_OK,
	    "" },
	{ "set nothing", TWO, { "workers" }, LS_E_INVALID, "--set workers: KEY=VALUE is meant" },
	{ "set empty", TWO, { "workers=" }, LS_E_INVALID, "--set workers=: workers: must be an integer, not a text" },
	{ "set out of limits", TWO, { "workers=0" }, LS_E_RANGE,
	    "--set workers=0: workers: 0 is below the least allowed, 1" },
	{ "set a word for a number", TWO, { "workers=many" }, LS_E_INVALID,
	    "--set workers=many: workers: must be an integer, not a text" },
	{ "set unknown", TWO, { "wrkers=1" }, LS_E_INVALID,
	    "--set wrkers=1: unknown key \"wrkers\", did you mean \"workers\"?" },
	{ "set unknown in phases", TWO, { "phases.tim=1s" }, LS_E_INVALID,
	    "--set phases.tim=1s: unknown key \"tim\", did you mean \"time\"?" },
	{ "set in no phase", "{\"phases\":[{\"kind\":\"write\"}]}", { "phases.files=1" }, LS_E_INVALID,
	    "--set phases.files=1: no phase of the job takes files" },
	{ "set what does not apply", TWO, { "phases[0].files=1" }, LS_E_INVALID,
	    "--set phases[0].files=1: phases[0].files: does not apply to write" },
	{ "set beyond the last phase", TWO, { "phases[2].time=1s" }, LS_E_INVALID,
	    "--set phases[2].time=1s: there is no phases[2]: the job has 2, numbered from 0" },
	{ "set a phase by no number", TWO, { "phases[x].time=1s" }, LS_E_INVALID,
	    "--set phases[x].time=1s: phases are numbered from 0, as in phases[0].time" },
	{ "set a negative phase", TWO, { "phases[-1].time=1s" }, LS_E_INVALID,
	    "--set phases[-1].time=1s: phases are numbered from 0, as in phases[0].time" },
	{ "set a huge phase", TWO, { "phases[99999999999999999999999].time=1s" }, LS_E_INVALID,
	    "--set phases[99999999999999999999999].time=1s: there is no phases[18446744073709551615]: the job has 2, "
	    "numbered from 0" },
	{ "set half a place", TWO, { "phases[0]=1s" }, LS_E_INVALID, "--set phases[0]=1s: \"phases[N].KEY\" is meant" },
	{ "set a time without unit", TWO, { "phases.time=5" }, LS_E_INVALID,
	    "--set phases.time=5: phases[0].time: 5 has no unit; write \"5s\" for seconds" },
	{ "set kinds so that others stop to apply", "{\"phases\":[{\"kind\":\"write\",\"file_size\":1}]}",
	    { "phases.kind=create" }, LS_E_INVALID,
	    "--set phases.kind=create: phases[0].file_size: does not apply to create" },
	{ "set all phases", TWO, { "phases=[{\"kind\":\"read\"}]", "phases[0].layout=shared" }, LS_OK, "" },
	{ "set phases to a word", TWO, { "phases=read" }, LS_E_INVALID,
	    "--set phases=read: phases: must be a list, not a text" },
	{ "set bytes that are no UTF-8", TWO, { "name=\xff" }, LS_E_INVALID,
	    "--set name=\xff: the value is not UTF-8" },
	{ "set names that are no UTF-8", TWO, { "nodes=a,\xff" }, LS_E_INVALID,
	    "--set nodes=a,\xff: the value is not UTF-8" },
	{ "the first wrong one counts", TWO, { "workers=0", "repeat=0" }, LS_E_RANGE,
	    "--set workers=0: workers: 0 is below the least allowed, 1" },
};

/* Equal; or, where wanted ends with "...", equal so far: a list of kinds grows. */
static bool
text_fits(const char *got, const char *wanted)
{
	size_t n = strlen(wanted);

	if (n > 3 && strcmp(wanted + n - 3, "...") == 0)
		return strncmp(got, wanted, n - 3) == 0;
	return strcmp(got, wanted) == 0;
}

static void
test_errors_say_where_and_what(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct job_case *c = &cases[i];
		struct ls_err err = { 0 };
		struct job job;
		size_t sets = 0;

		while (sets < SETS && c->set[sets] != NULL)
			sets++;
		enum ls_rc rc = jobfile_parse(c->text, strlen(c->text), "job.json", c->set, sets, &job, &err);
		if (rc != c->rc || !text_fits(err.text, c->error))
			fail_msg("%s: got %d \"%s\", wanted %d \"%s\"", c->name, rc, err.text, c->rc, c->error);
		if (rc == LS_OK)
			field_struct_fini(&job_desc, &job);
	}
}

static void
test_set_changes_what_it_says(void **state)
{
	static const char *const set[] = { "workers=4", "phases.time=5s", "phases[0].record_size=4k", "nodes=a,b",
		"name=7", "expect_fs=\"ocfs2\"", "nodes=[\"c\"]", "on_node_loss=continue" };
	struct ls_err err = { 0 };
	struct job job;

	(void)state;
	if (jobfile_parse(TWO, strlen(TWO), "job.json", set, ARRAY_LEN(set), &job, &err) != LS_OK)
		fail_msg("%s", err.text);
	assert_int_equal(job.workers, 4);
	assert_int_equal(job.phases[0].time, 5 * NS_PER_S);
	assert_int_equal(job.phases[1].time, 5 * NS_PER_S);
	assert_int_equal(job.phases[0].record_size, 4096);
	assert_int_equal(job.phases[1].record_size, 65536); /* the default: it is not for create */
	assert_int_equal(job.nodes_count, 1);
	assert_string_equal(job.nodes[0], "c");
	assert_string_equal(job.name, "7");
	assert_string_equal(job.expect_fs, "ocfs2");
	assert_int_equal(job.on_node_loss, ON_LOSS_CONTINUE);
	field_struct_fini(&job_desc, &job);
}

static void
test_presets_are_valid_jobs(void **state)
{
	static const char *const set[] = { "path=/mnt/x" };
	size_t count = 0;
	const struct job_preset *presets = job_presets(&count);

	(void)state;
	assert_true(count >= 3);
	for (size_t i = 0; i < count; i++) {
		struct ls_err err = { 0 };
		struct job job;

		if (jobfile_parse(presets[i].text, strlen(presets[i].text), presets[i].name, set, 1, &job, &err) !=
		    LS_OK)
			fail_msg("%s", err.text);
		if (job_validate(&job, &err) != LS_OK)
			fail_msg("%s: %s", presets[i].name, err.text);
		assert_string_equal(job.name, presets[i].name);
		assert_string_equal(job.description, presets[i].help);
		assert_ptr_equal(job_preset_find(presets[i].name), &presets[i]);
		field_struct_fini(&job_desc, &job);
	}
	assert_non_null(job_preset_find("quick"));
	assert_non_null(job_preset_find("bonnie"));
	assert_non_null(job_preset_find("iozone"));
	assert_null(job_preset_find("slow"));
}

static void
check_schema(const char *file, char *text)
{
	char *path = ls_asprintf("proto/schema/%s", file);
	FILE *f = fopen(path, "r");
	char *published = ls_calloc(1, strlen(text) + 2);

	if (f != NULL) {
		size_t n = fread(published, 1, strlen(text) + 1, f);

		published[n] = '\0';
		fclose(f);
		if (strcmp(published, text) != 0)
			fail_msg("%s is not what the tables say: make schemas", path);
	}
	free(published);
	free(path);
	free(text);
}

static void
test_published_job_schema_is_that_of_the_table(void **state)
{
	(void)state;
	check_schema(
	    "job.schema.json", json_schema(&job_desc, JSON_SCHEMA_FILE, "urn:lockstep:schema:job", "lockstep job"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_say_where_and_what),
		cmocka_unit_test(test_set_changes_what_it_says),
		cmocka_unit_test(test_presets_are_valid_jobs),
		cmocka_unit_test(test_published_job_schema_is_that_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
