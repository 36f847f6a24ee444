/* Phases of external programs: how they are taken apart, which versions compare. */
#include "proto/model/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"

static void
one_phase(struct job *job, enum phase_kind kind)
{
	field_struct_init(&job_desc, job);
	job->path = ls_strdup("/mnt/v");
	job->phases = ls_calloc(1, sizeof(*job->phases));
	job->phases_count = 1;
	field_struct_init(&phase_desc, &job->phases[0]);
	job->phases[0].kind = (int)kind;
}

static void
test_bonnie_has_up_to_twelve_phases(void **state)
{
	static const struct {
		uint64_t file_size, file_count;
		bool characters;
		size_t steps;
	} cases[] = { { 8 << 20, 1, true, 12 }, { 8 << 20, 1, false, 10 }, { 8 << 20, 0, false, 4 },
		{ 0, 1, true, 6 } };
	struct ls_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct job job;

		one_phase(&job, PHASE_RUN_BONNIE);
		job.phases[0].file_size = cases[i].file_size;
		job.phases[0].file_count = cases[i].file_count;
		job.phases[0].characters = cases[i].characters;
		assert_int_equal(job_validate(&job, &err), LS_E_INVALID); /* not taken apart */
		assert_int_equal(job_expand_tools(&job, &err), LS_OK);
		assert_int_equal(job.phases_count, cases[i].steps);
		for (size_t p = 0; p < job.phases_count; p++) {
			assert_int_equal(job.phases[p].step, p);
			assert_int_equal(job.phases[p].steps, cases[i].steps);
			assert_int_equal(job_phase_workers(&job, &job.phases[p]), 1);
		}
		assert_int_equal(job_validate(&job, &err), LS_OK);
		job.phases[0].steps++;
		assert_int_equal(job_validate(&job, &err), LS_E_INVALID);
		field_struct_fini(&job_desc, &job);
	}
}

static void
test_iozone_goes_through_its_tests_in_its_own_order(void **state)
{
	static const char *const gates[] = { "Write", "Rewrite", "Strideread", "Randread", "Randwrite" };
	static const int64_t tests[] = { 5, 2, 0 };
	struct tool_step steps[TOOL_STEPS_MAX];
	struct job job;
	struct ls_err err;

	(void)state;
	one_phase(&job, PHASE_RUN_IOZONE);
	job.phases[0].tests = ls_calloc(ARRAY_LEN(tests), sizeof(*tests));
	memcpy(job.phases[0].tests, tests, sizeof(tests));
	job.phases[0].tests_count = ARRAY_LEN(tests);
	assert_int_equal(tool_steps(&job.phases[0], steps, TOOL_STEPS_MAX), ARRAY_LEN(gates));
	for (size_t i = 0; i < ARRAY_LEN(gates); i++)
		assert_string_equal(steps[i].gate, gates[i]);
	job.phases[0].tests[2] = 1; /* nothing makes the files */
	assert_int_equal(job_expand_tools(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[0].tests: 0 is missing"));
	field_struct_fini(&job_desc, &job);
}

static void
test_faults_name_the_field(void **state)
{
	struct job job;
	struct ls_err err;

	(void)state;
	one_phase(&job, PHASE_RUN_FIO);
	assert_int_equal(job_expand_tools(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[0].fio_job: missing"));
	job.phases[0].fio_job = ls_strdup("[a]\nexec_prerun=x\n");
	assert_int_equal(job_expand_tools(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[0].fio_job: line 2"));
	field_struct_fini(&job_desc, &job);
	one_phase(&job, PHASE_RUN_BONNIE);
	job.phases[0].file_size = 1000;
	assert_int_equal(job_expand_tools(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[0].file_size"));
	job.phases[0].file_size = 1 << 20;
	job.phases[0].chunk_size = 1000;
	assert_int_equal(job_expand_tools(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[0].chunk_size"));
	field_struct_fini(&job_desc, &job);
}

static void
test_versions_are_ordered(void **state)
{
	static const char *const ordered[] = { "1.03", "1.03e", "1.96", "1.97", "2.00", "2.00a", "3.318", "3.471" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ordered); i++)
		for (size_t k = 0; k < ARRAY_LEN(ordered); k++)
			assert_int_equal(tool_version_older(ordered[i], ordered[k]), i < k);
	assert_true(tool_version_older("fio-2.17", "3.0"));
	assert_false(tool_version_older("fio-3.33", "3.0"));
}

static void
test_only_block_read_and_stat_compare_between_generations(void **state)
{
	struct tool_step steps[TOOL_STEPS_MAX];
	struct job job;

	(void)state;
	one_phase(&job, PHASE_RUN_BONNIE);
	job.phases[0].characters = true;
	size_t n = tool_steps(&job.phases[0], steps, TOOL_STEPS_MAX);
	assert_int_equal(n, 12);
	for (size_t i = 0; i < n; i++) {
		bool same = steps[i].number == 4 || steps[i].number == 7 || steps[i].number == 10;

		assert_int_equal(tool_versions_differ(TOOL_BONNIE, &steps[i], "1.03e", "2.00a") == NULL, same);
		assert_null(tool_versions_differ(TOOL_BONNIE, &steps[i], "1.97", "2.00a"));
		assert_non_null(tool_versions_differ(TOOL_BONNIE, &steps[i], NULL, "2.00a"));
		assert_int_equal(steps[i].timed_wait, steps[i].number == 0);
	}
	field_struct_fini(&job_desc, &job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bonnie_has_up_to_twelve_phases),
		cmocka_unit_test(test_iozone_goes_through_its_tests_in_its_own_order),
		cmocka_unit_test(test_faults_name_the_field),
		cmocka_unit_test(test_versions_are_ordered),
		cmocka_unit_test(test_only_block_read_and_stat_compare_between_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
