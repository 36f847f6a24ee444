/* Phases of some nodes only, and solo phases written out. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/job.h"

static char *names[] = { (char[]){ "n1" }, (char[]){ "n2" }, (char[]){ "n3" } };

static void
set_list(char ***list, size_t *count, const char *a, const char *b)
{
	*list = ls_calloc(2, sizeof(**list));
	(*list)[(*count)++] = ls_strdup(a);
	if (b != NULL)
		(*list)[(*count)++] = ls_strdup(b);
}

static void
make_job(struct job *job, size_t phases)
{
	field_struct_init(&job_desc, job);
	job->path = ls_strdup("/mnt/vol");
	job->phases = ls_calloc(phases, sizeof(*job->phases));
	job->phases_count = phases;
	for (size_t i = 0; i < phases; i++) {
		field_struct_init(&phase_desc, &job->phases[i]);
		job->phases[i].kind = i % 2 == 0 ? PHASE_WRITE : PHASE_READ;
	}
}

static void
check_phase(const struct job *job, size_t p, const char *title, const char *only)
{
	const struct phase *phase = &job->phases[p];

	assert_string_equal(phase_title(phase), title);
	assert_false(phase->solo);
	assert_int_equal(phase->nodes_count, only != NULL);
	if (only != NULL)
		assert_string_equal(phase->nodes[0], only);
}

static void
test_each_node_comes_alone_before_all(void **state)
{
	struct job job;
	struct ls_err err;

	(void)state;
	make_job(&job, 2);
	job.phases[0].solo = true;
	job.phases[0].record_size = 4096;
	for (int again = 0; again < 2; again++) { /* a second call finds nothing to do */
		assert_int_equal(job_expand_solo(&job, names, 3, &err), LS_OK);
		assert_int_equal(job.phases_count, 5);
		check_phase(&job, 0, "write, n1 alone", "n1");
		check_phase(&job, 1, "write, n2 alone", "n2");
		check_phase(&job, 2, "write, n3 alone", "n3");
		check_phase(&job, 3, "write", NULL);
		check_phase(&job, 4, "read", NULL);
		for (size_t p = 0; p < 4; p++)
			assert_int_equal(job.phases[p].record_size, 4096);
		assert_true(phase_same_work(&job.phases[0], &job.phases[3]));
	}
	assert_int_equal(job_validate(&job, &err), LS_OK);
	field_struct_fini(&job_desc, &job);
}

static void
test_one_node_is_alone_already(void **state)
{
	struct job job;

	(void)state;
	make_job(&job, 1);
	job.phases[0].solo = true;
	assert_int_equal(job_expand_solo(&job, names, 1, NULL), LS_OK);
	assert_int_equal(job.phases_count, 1);
	assert_false(job.phases[0].solo);
	field_struct_fini(&job_desc, &job);
}

static void
test_solo_keeps_to_the_nodes_of_the_phase(void **state)
{
	struct job job;
	bool in[3];

	(void)state;
	make_job(&job, 1);
	job.phases[0].solo = true;
	set_list(&job.phases[0].nodes, &job.phases[0].nodes_count, "n3", "n1");
	assert_int_equal(job_expand_solo(&job, names, 3, NULL), LS_OK);
	assert_int_equal(job.phases_count, 3);
	check_phase(&job, 0, "write, n3 alone", "n3");
	check_phase(&job, 1, "write, n1 alone", "n1");
	assert_int_equal(job.phases[2].nodes_count, 2);
	phase_takes_part(&job.phases[2], names, 3, in);
	assert_true(in[0] && !in[1] && in[2]);
	phase_takes_part(&job.phases[1], names, 3, in);
	assert_true(in[0] && !in[1] && !in[2]);
	field_struct_fini(&job_desc, &job);
}

static void
test_names_stay_within_their_limit(void **state)
{
	char name[PHASE_NAME_MAX + 1];
	struct job job;
	struct ls_err err;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	make_job(&job, 1);
	job.phases[0].solo = true;
	job.phases[0].name = ls_strdup(name);
	assert_int_equal(job_expand_solo(&job, names, 2, &err), LS_OK);
	assert_int_equal(strlen(job.phases[0].name), PHASE_NAME_MAX);
	assert_int_equal(job_validate(&job, &err), LS_OK);
	field_struct_fini(&job_desc, &job);
}

static void
test_too_many_phases_are_refused_whole(void **state)
{
	char **many = ls_calloc(3000, sizeof(*many));
	struct job job;
	struct ls_err err;

	(void)state;
	for (size_t i = 0; i < 3000; i++)
		many[i] = ls_asprintf("node%zu", i);
	make_job(&job, 2);
	job.phases[0].solo = job.phases[1].solo = true;
	assert_int_equal(job_expand_solo(&job, many, 3000, &err), LS_E_RANGE);
	assert_non_null(strstr(err.text, "6002"));
	assert_int_equal(job.phases_count, 2);
	assert_true(job.phases[0].solo);
	job.phases[1].solo = false;
	job.repeat = 1000; /* 3002 phases of 1000 repetitions */
	assert_int_equal(job_expand_solo(&job, many, 3000, &err), LS_E_RANGE);
	field_struct_fini(&job_desc, &job);
	for (size_t i = 0; i < 3000; i++)
		free(many[i]);
	free(many);
}

static void
test_foreign_nodes_are_named(void **state)
{
	struct job job;
	struct ls_err err;

	(void)state;
	make_job(&job, 2);
	set_list(&job.phases[1].nodes, &job.phases[1].nodes_count, "n2", "n9");
	assert_int_equal(job_validate(&job, &err), LS_OK); /* which nodes there will be is not known yet */
	assert_int_equal(job_check_phase_nodes(&job, names, 3, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[1].nodes[1]: \"n9\""));
	set_list(&job.nodes, &job.nodes_count, "n1", "n2");
	assert_int_equal(job_validate(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "n9"));
	field_struct_fini(&job_desc, &job);

	make_job(&job, 1);
	set_list(&job.phases[0].nodes, &job.phases[0].nodes_count, "n2", "n2");
	assert_int_equal(job_validate(&job, &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "phases[0].nodes: \"n2\" is named twice"));
	field_struct_fini(&job_desc, &job);
}

static void
test_a_copy_owns_its_texts(void **state)
{
	struct job job;
	struct phase copy;

	(void)state;
	make_job(&job, 1);
	job.phases[0].name = ls_strdup("mine");
	set_list(&job.phases[0].nodes, &job.phases[0].nodes_count, "n2", "n3");
	phase_copy(&job.phases[0], &copy);
	field_struct_fini(&job_desc, &job);
	assert_string_equal(copy.name, "mine");
	assert_string_equal(copy.nodes[1], "n3");
	field_struct_fini(&phase_desc, &copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_node_comes_alone_before_all),
		cmocka_unit_test(test_one_node_is_alone_already),
		cmocka_unit_test(test_solo_keeps_to_the_nodes_of_the_phase),
		cmocka_unit_test(test_names_stay_within_their_limit),
		cmocka_unit_test(test_too_many_phases_are_refused_whole),
		cmocka_unit_test(test_foreign_nodes_are_named),
		cmocka_unit_test(test_a_copy_owns_its_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
