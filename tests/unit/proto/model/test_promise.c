/* What file systems promise, how rows become steps, and what all nodes together make of what each saw. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/cluster.h"

static void
test_the_first_row_that_fits_decides(void **state)
{
	(void)state;
	static const struct {
		const char *type, *options;
		enum promise_row row;
		bool promised;
	} cases[] = {
		{ "ext4", "rw", ROW_FCNTL, true },
		{ "tmpfs", NULL, ROW_APPEND, true },
		{ "ocfs2", "rw,coherency=full", ROW_DATA_DIRECT, true },
		{ "ocfs2", "rw,coherency=buffered", ROW_DATA_DIRECT, false },
		{ "ocfs2", "rw,coherency=buffered", ROW_DATA_BUFFERED, true },
		{ "ocfs2", "rw,coherency=full", ROW_FCNTL, false },
		{ "ocfs2", "rw,cluster_stack=o2cb", ROW_FCNTL, false },
		{ "ocfs2", "rw,cluster_stack=pcmk", ROW_FCNTL, true },
		{ "ocfs2", "rw,localflocks,cluster_stack=pcmk", ROW_FCNTL, false },
		{ "ocfs2", "rw", ROW_FLOCK, true },
		{ "ocfs2", "rw", ROW_APPEND, false },
		{ "gfs2", "rw", ROW_APPEND, false },
		{ "gfs2", "rw", ROW_TRUNCATE, false },
		{ "gfs2", "rw", ROW_FCNTL, true },
		{ "gfs2", "rw,localflocks", ROW_FLOCK, false },
		{ "nfs4", "rw,vers=4.2", ROW_DATA_BUFFERED, true },
		{ "nfs", "rw,nocto", ROW_DATA_BUFFERED, false },
		{ "nfs", "rw,vers=3", ROW_EXCL, true },
		{ "nfs", "rw,noac", ROW_ATTRIBUTES, true },
		{ "nfs", "rw", ROW_ATTRIBUTES, false },
		{ "nfs", "rw,local_lock=posix", ROW_FLOCK, true },
		{ "nfs", "rw,local_lock=posix", ROW_RANGE, false },
		{ "fuse.faulty", "rw", ROW_DATA_BUFFERED, false },
		{ "ext", "rw", ROW_DATA_BUFFERED, false },
		{ NULL, NULL, ROW_SEEN, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct promise p = promise_of(cases[i].type, cases[i].options, cases[i].row);
		if (p.promised != cases[i].promised)
			fail_msg("case %zu: %s", i, p.source);
		assert_true(strlen(p.source) > 10);
	}
}

static void
test_rows_become_steps(void **state)
{
	(void)state;
	char a[] = "a", b[] = "b", c[] = "c";
	char *nodes[] = { a, b, c };
	struct job job;
	struct ls_err err;

	field_struct_init(&job_desc, &job);
	job.phases = ls_calloc(2, sizeof(*job.phases));
	job.phases_count = 2;
	for (size_t i = 0; i < 2; i++)
		field_struct_init(&phase_desc, &job.phases[i]);
	job.phases[0].kind = PHASE_LOCKS;
	job.phases[1].kind = PHASE_VISIBILITY;
	assert_int_equal(job_expand_cluster(&job, nodes, 1, &err), LS_E_INVALID);
	assert_int_equal(job.phases_count, 2);
	assert_int_equal(job_expand_cluster(&job, nodes, 3, &err), LS_OK);
	assert_int_equal(job.phases_count, 8 + 3);
	/* counted by one node, by two, by three */
	assert_int_equal(job.phases[2].nodes_count, 1);
	assert_string_equal(job.phases[2].nodes[0], "a");
	assert_int_equal(job.phases[4].nodes_count, 2);
	assert_int_equal(job.phases[6].nodes_count, 0);
	assert_string_equal(job.phases[9].name, "visibility of create: made by b");
	assert_int_equal(job_expand_cluster(&job, nodes, 3, &err), LS_OK);
	assert_int_equal(job.phases_count, 11);
	field_struct_fini(&job_desc, &job);
}

/* A phase of two nodes that told these numbers. */
static void
fill(struct results *r, struct phase *spec, const int64_t *numbers[2], const size_t counts[2])
{
	struct phase_result *phase;

	field_struct_init(&results_desc, r);
	r->phases = ls_calloc(1, sizeof(*r->phases));
	r->phases_count = 1;
	phase = r->phases;
	field_struct_init(&phase_result_desc, phase);
	field_struct_fini(&phase_desc, &phase->spec);
	phase->spec = *spec;
	phase->kind = spec->kind;
	phase->nodes = ls_calloc(2, sizeof(*phase->nodes));
	phase->nodes_count = 2;
	for (size_t n = 0; n < 2; n++) {
		struct node_result *node = &phase->nodes[n];

		field_struct_init(&node_result_desc, node);
		free(node->node);
		node->node = ls_strdup(n == 0 ? "a" : "b");
		node->cluster = ls_malloc(sizeof(*node->cluster));
		field_struct_init(&cluster_node_desc, node->cluster);
		node->cluster->numbers = ls_calloc(counts[n] + 1, sizeof(int64_t));
		node->cluster->numbers_count = counts[n];
		memcpy(node->cluster->numbers, numbers[n], counts[n] * sizeof(int64_t));
	}
}

static void
check_judgement(struct phase *spec, const int64_t *numbers[2], const size_t counts[2], int outcome, uint64_t broken)
{
	struct results r;

	fill(&r, spec, numbers, counts);
	results_judge_promises(&r);
	results_judge_promises(&r);
	assert_int_equal(r.phases[0].promise->outcome, outcome);
	assert_int_equal(r.phases[0].promise->broken, broken);
	assert_int_equal(r.phases[0].state, outcome == OUTCOME_VIOLATED ? PHASE_STATE_MISMATCH : PHASE_STATE_DONE);
	field_struct_fini(&results_desc, &r);
}

static void
test_what_only_all_together_can_show(void **state)
{
	(void)state;
	const int64_t first[] = { 0, 2 }, second[] = { 1 }, both[] = { 0, 1 };
	const int64_t counted[] = { 10, 25 }, also[] = { 15, 25 }, lost[] = { 16, 25 };
	struct phase spec;

	field_struct_init(&phase_desc, &spec);
	spec.kind = PHASE_COHERENCE;
	spec.check = CHECK_EXCL;
	spec.count = 3;
	spec.promise = PROMISE_ALL;
	check_judgement(&spec, (const int64_t *[]){ first, second }, (const size_t[]){ 2, 1 }, OUTCOME_HELD, 0);
	/* name 0 made by both, name 2 by nobody */
	check_judgement(&spec, (const int64_t *[]){ first, both }, (const size_t[]){ 1, 2 }, OUTCOME_VIOLATED, 2);
	spec.kind = PHASE_LOCKS;
	spec.step = CLUSTER_LOCK_FIRST + 1;
	check_judgement(&spec, (const int64_t *[]){ counted, also }, (const size_t[]){ 2, 2 }, OUTCOME_HELD, 0);
	check_judgement(&spec, (const int64_t *[]){ counted, lost }, (const size_t[]){ 2, 2 }, OUTCOME_VIOLATED, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_row_that_fits_decides),
		cmocka_unit_test(test_rows_become_steps),
		cmocka_unit_test(test_what_only_all_together_can_show),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
