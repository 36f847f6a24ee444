/* Grids of sizes become phases, as iozone counts its rows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/job.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)

static void
make_job(struct job *job, size_t phases)
{
	field_struct_init(&job_desc, job);
	job->grid = ls_malloc(sizeof(*job->grid));
	field_struct_init(&job_grid_desc, job->grid);
	job->phases = ls_calloc(phases, sizeof(*job->phases));
	job->phases_count = phases;
	for (size_t i = 0; i < phases; i++) {
		field_struct_init(&phase_desc, &job->phases[i]);
		job->phases[i].kind = i % 2 == 0 ? PHASE_WRITE : PHASE_READ;
	}
}

static int64_t *
list(int64_t a, int64_t b)
{
	int64_t *l = ls_calloc(2, sizeof(*l));

	l[0] = a;
	l[1] = b;
	return l;
}

struct rows_case {
	const char *name;
	uint64_t file_min, file_max, record_min, record_max; /* 0: the default */
	int64_t record_sizes[2];
	enum grid_cut_over cut_over;
	size_t rows;
};

/* The numbers are those of iozone itself (workloads.md, 1.4). */
static const struct rows_case rows_cases[] = {
	{ "-a", 0, 0, 0, 0, { 0 }, CUT_OVER_AUTO, 126 },
	{ "-az", 0, 0, 0, 0, { 0 }, CUT_OVER_OFF, 146 },
	{ "-a -n1M -g1G -r4k -r512k", MIB, 1024 * MIB, 0, 0, { 4096, 512 * 1024 }, CUT_OVER_AUTO, 22 },
	{ "records named, but the rule forced", MIB, 1024 * MIB, 0, 0, { 4096, 512 * 1024 }, CUT_OVER_ON, 11 + 5 },
	{ "-y4k -q8k: no rule", 64 * MIB, 64 * MIB, 4 * KIB, 8 * KIB, { 0 }, CUT_OVER_AUTO, 2 },
	{ "one cell", 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, { 0 }, CUT_OVER_AUTO, 1 },
	{ "records larger than the files", 4 * KIB, 8 * KIB, 8 * KIB, MIB, { 0 }, CUT_OVER_AUTO, 1 },
};

static void
test_rows_are_those_of_iozone(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows_cases); i++) {
		const struct rows_case *c = &rows_cases[i];
		struct ls_err err;
		struct job job;
		make_job(&job, 2);
		if (c->file_min > 0) {
			job.grid->file_min = c->file_min;
			job.grid->file_max = c->file_max;
		}
		if (c->record_min > 0) {
			job.grid->record_min = c->record_min;
			job.grid->record_max = c->record_max;
		}
		if (c->record_sizes[0] > 0) {
			job.grid->record_sizes = list(c->record_sizes[0], c->record_sizes[1]);
			job.grid->record_sizes_count = 2;
		}
		job.grid->cut_over = (int)c->cut_over;
		if (job_expand_grid(&job, &err) != LS_OK)
			fail_msg("%s: %s", c->name, err.text);
		if (job.phases_count != 2 * c->rows)
			fail_msg("%s: %zu rows, wanted %zu", c->name, job.phases_count / 2, c->rows);
		assert_null(job.grid);
		for (size_t p = 0; p < job.phases_count; p++)
			assert_int_equal(phase_validate(&job.phases[p], &err), LS_OK);
		field_struct_fini(&job_desc, &job);
	}
}

static void
test_cells_follow_iozones_order(void **state)
{
	struct ls_err err;
	struct job job;

	(void)state;
	make_job(&job, 2);
	job.grid->file_max = 128 * KIB;
	job.grid->record_min = 64 * KIB;
	job.grid->workers = list(1, 4);
	job.grid->workers_count = 2;
	assert_int_equal(job_expand_grid(&job, &err), LS_OK);
	assert_int_equal(job.phases_count, 2 * 3 * 2);
	assert_string_equal(job.phases[0].name, "write 64 KiB/64 KiB 1 worker");
	assert_string_equal(job.phases[1].name, "read 64 KiB/64 KiB 1 worker");
	assert_string_equal(job.phases[2].name, "write 128 KiB/64 KiB 1 worker");
	assert_string_equal(job.phases[4].name, "write 128 KiB/128 KiB 1 worker");
	assert_string_equal(job.phases[6].name, "write 64 KiB/64 KiB 4 workers");
	assert_int_equal(job.phases[6].workers, 4);
	assert_int_equal(job.phases[4].record_size, 128 * KIB);
	field_struct_fini(&job_desc, &job);
}

static void
test_what_makes_no_sense_is_refused(void **state)
{
	struct ls_err err;
	struct job job;

	(void)state;
	make_job(&job, 1);
	job.phases[0].kind = PHASE_STAT;
	assert_int_equal(job_expand_grid(&job, &err), LS_E_INVALID);
	assert_string_equal(err.text, "grid: phases[0], stat, has no sizes to vary");
	job.phases[0].kind = PHASE_WRITE;
	job.grid->file_min = 2 * job.grid->file_max;
	assert_int_equal(job_expand_grid(&job, &err), LS_E_RANGE);
	assert_string_equal(err.text, "grid: it has 0 phases; 1 to 4096 are possible");
	job.grid->workers = list(0, 1);
	job.grid->workers_count = 2;
	assert_int_equal(job_expand_grid(&job, &err), LS_E_RANGE);
	assert_string_equal(err.text, "grid.workers[0]: must be 1 to 4096");
	job.path = ls_strdup("/x");
	assert_int_equal(job_validate(&job, &err), LS_E_INVALID);
	assert_int_equal(job.phases_count, 1);
	field_struct_fini(&job_desc, &job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_those_of_iozone),
		cmocka_unit_test(test_cells_follow_iozones_order),
		cmocka_unit_test(test_what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
