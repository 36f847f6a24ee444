/* Whether nodes have the external programs that a job wants, and the same ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/run_tools.h"

/* A job of one bonnie++, taken apart as it is when it is submitted. */
static void
make_job(struct job *job, bool files)
{
	struct ls_err err;

	field_struct_init(&job_desc, job);
	job->phases = ls_calloc(1, sizeof(*job->phases));
	job->phases_count = 1;
	field_struct_init(&phase_desc, &job->phases[0]);
	job->phases[0].kind = PHASE_RUN_BONNIE;
	job->phases[0].file_size = 8 << 20;
	job->phases[0].chunk_size = 8192;
	job->phases[0].file_count = files;
	assert_int_equal(job_expand_tools(job, &err), LS_OK);
}

static void
test_a_job_wants_the_programs_of_its_phases(void **state)
{
	struct job job;

	(void)state;
	make_job(&job, false);
	assert_int_equal(job.phases_count, 4);
	assert_true(run_wants_tool(&job, TOOL_BONNIE));
	assert_false(run_wants_tool(&job, TOOL_FIO));
	assert_false(run_wants_tool(&job, TOOL_IOZONE));
	field_struct_fini(&job_desc, &job);
}

static void
test_a_node_has_a_program_or_the_reason_why_not(void **state)
{
	struct node_facts facts;
	const struct tool_facts *found = NULL;
	struct ls_err err;

	(void)state;
	field_struct_init(&node_facts_desc, &facts);
	facts.tools = ls_calloc(2, sizeof(*facts.tools));
	facts.tools_count = 2;
	for (size_t i = 0; i < 2; i++)
		field_struct_init(&tool_facts_desc, &facts.tools[i]);
	free(facts.tools[0].name);
	facts.tools[0].name = ls_strdup("fio");
	facts.tools[0].problem = ls_strdup("too old");
	free(facts.tools[0].path);
	facts.tools[0].path = ls_strdup("/opt/fio");
	free(facts.tools[1].name);
	facts.tools[1].name = ls_strdup("bonnie++");

	assert_int_equal(run_tool_of("n1", &facts, TOOL_BONNIE, &found, &err), LS_OK);
	assert_ptr_equal(found, &facts.tools[1]);
	assert_int_equal(run_tool_of("n1", &facts, TOOL_FIO, &found, &err), LS_E_REFUSED);
	assert_string_equal(err.text, "node n1: /opt/fio: too old");
	assert_int_equal(run_tool_of("n1", &facts, TOOL_IOZONE, &found, &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, "node n1 may not run iozone"));
	assert_non_null(strstr(err.text, "iozone = /path/to/iozone"));
	field_struct_fini(&node_facts_desc, &facts);
}

static void
test_versions_are_refused_with_what_can_be_compared(void **state)
{
	static const struct {
		const char *first, *other;
		bool files;
		const char *says; /* NULL: they go together */
	} cases[] = {
		{ "2.00a", "2.00a", true, NULL },
		{ "1.03e", "2.00a", false, "1.03e on node a and 2.00a on node b; comparable in block read (allow" },
		{ "1.03e", "2.00a", true, "comparable in block read, sequential stat, random stat (allow" },
		{ "2.00a", "1.03e", false, "comparable in block read (allow" },
		{ NULL, "2.00a", true, "of unknown version on node a and 2.00a on node b; comparable in no phase" },
		{ "2.00a", NULL, true, "comparable in no phase" },
		{ NULL, NULL, true, "comparable in no phase" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ls_err err = { 0 };
		struct job job;

		make_job(&job, cases[i].files);
		enum ls_rc rc = run_tool_versions(&job, TOOL_BONNIE, "a", cases[i].first, "b", cases[i].other, &err);
		assert_int_equal(rc, cases[i].says == NULL ? LS_OK : LS_E_REFUSED);
		if (cases[i].says != NULL && strstr(err.text, cases[i].says) == NULL)
			fail_msg("%zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].says);
		field_struct_fini(&job_desc, &job);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_job_wants_the_programs_of_its_phases),
		cmocka_unit_test(test_a_node_has_a_program_or_the_reason_why_not),
		cmocka_unit_test(test_versions_are_refused_with_what_can_be_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
