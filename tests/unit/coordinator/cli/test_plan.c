#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/cli/plan.h"

#define MIB (1ULL << 20)

static char a[] = "a", b[] = "b", c[] = "c";
static char *names[] = { a, b, c };

/* Two workers on each node, each with a file of 1 MiB: written for as long as it takes. */
static struct job
make_job(void)
{
	struct job job;

	field_struct_init(&job_desc, &job);
	job.path = ls_strdup("/mnt/vol/bench");
	job.workers = 2;
	job.phases = ls_calloc(1, sizeof(*job.phases));
	job.phases_count = 1;
	field_struct_init(&phase_desc, &job.phases[0]);
	job.phases[0].kind = PHASE_WRITE;
	job.phases[0].file_size = MIB;
	return job;
}

static const struct plan_nodes three = { .names = names, .count = 3 };

static void
test_solo_is_written_out_for_each_node(void **state)
{
	struct job job = make_job();
	struct plan plan;

	(void)state;
	job.phases[0].solo = true;
	job.max_bandwidth = 6 * MIB;
	plan_make(&job, &three, &plan);
	plan_finish(&plan, &three);
	assert_int_equal(plan.phases_count, 4);
	assert_string_equal(plan.phases[1].name, "write, b alone");
	assert_int_equal(plan.phases[1].nodes[0].workers, 0);
	assert_int_equal(plan.phases[1].nodes[0].bytes, 0);
	assert_int_equal(plan.phases[1].nodes[1].workers, 2);
	assert_int_equal(plan.phases[1].nodes[1].bytes, 2 * MIB);
	assert_int_equal(plan.phases[3].bytes, 6 * MIB);
	assert_int_equal(plan.phases[3].files, 6);
	assert_int_equal(plan.bytes, 12 * MIB);
	assert_int_equal(plan.time_unknown, 4);
	assert_int_equal(plan.limits_count, 0);
	/* alone each worker has the share that it has with all others */
	for (size_t p = 0; p < 4; p++)
		assert_int_equal(job.phases[p].rate_bytes, MIB);
	field_struct_fini(&plan_desc, &plan);
	field_struct_fini(&job_desc, &job);
}

static void
test_time_comes_from_the_job_first(void **state)
{
	struct job job = make_job();
	struct plan plan;

	(void)state;
	job.repeat = 3;
	job.phases[0].time = 5 * NS_PER_S;
	job.phases[0].warmup = NS_PER_S;
	job.phases[0].pause = 2 * NS_PER_S;
	plan_make(&job, &three, &plan);
	plan_finish(&plan, &three);
	assert_int_equal(plan.phases[0].time_ns, 8 * NS_PER_S);
	assert_string_equal(plan.phases[0].from, "job");
	assert_true(plan.phases[0].bytes == LS_UNKNOWN_U64);
	assert_int_equal(plan.time_ns, 24 * NS_PER_S);
	assert_int_equal(plan.bytes_unknown, 3);
	field_struct_fini(&plan_desc, &plan);
	field_struct_fini(&job_desc, &job);
}

/* A run of that job with two repetitions, 2 s and 4 s. */
static struct results
make_earlier(uint64_t workers, size_t nodes)
{
	struct results r;

	field_struct_init(&results_desc, &r);
	free(r.run.id);
	r.run.id = ls_strdup("earlier");
	r.run.job.workers = workers;
	r.phases = ls_calloc(2, sizeof(*r.phases));
	r.phases_count = 2;
	for (size_t i = 0; i < 2; i++) {
		struct phase_result *p = &r.phases[i];

		field_struct_init(&phase_result_desc, p);
		p->kind = p->spec.kind = PHASE_WRITE;
		p->spec.file_size = MIB;
		p->duration_ns = (int64_t)(2 * i + 2) * NS_PER_S;
		p->aggregate.bytes = 6 * MIB;
		p->nodes = ls_calloc(nodes, sizeof(*p->nodes));
		p->nodes_count = nodes;
		for (size_t n = 0; n < nodes; n++)
			field_struct_init(&node_result_desc, &p->nodes[n]);
	}
	return r;
}

static void
test_an_earlier_run_tells_only_of_the_same_work(void **state)
{
	static const struct {
		const char *name;
		uint64_t workers;
		size_t nodes;
		uint64_t file_size;
		enum phase_state state;
		int64_t time_ns;
	} cases[] = {
		{ "the same", 2, 3, MIB, PHASE_STATE_DONE, 3 * NS_PER_S },
		{ "other workers", 4, 3, MIB, PHASE_STATE_DONE, LS_UNKNOWN_I64 },
		{ "other nodes", 2, 2, MIB, PHASE_STATE_DONE, LS_UNKNOWN_I64 },
		{ "other files", 2, 3, 2 * MIB, PHASE_STATE_DONE, LS_UNKNOWN_I64 },
		{ "one of them aborted", 2, 3, MIB, PHASE_STATE_ABORTED, 2 * NS_PER_S },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct results earlier = make_earlier(cases[i].workers, cases[i].nodes);
		struct job job = make_job();
		struct plan plan;

		job.phases[0].file_size = cases[i].file_size;
		earlier.phases[1].state = (int)cases[i].state;
		plan_make(&job, &three, &plan);
		plan_learn(&plan, &job, &earlier);
		if (plan.phases[0].time_ns != cases[i].time_ns)
			fail_msg("%s: %lld ns", cases[i].name, (long long)plan.phases[0].time_ns);
		if (cases[i].time_ns != LS_UNKNOWN_I64)
			assert_string_equal(plan.phases[0].from, "run earlier");
		field_struct_fini(&plan_desc, &plan);
		field_struct_fini(&job_desc, &job);
		field_struct_fini(&results_desc, &earlier);
	}
}

static void
test_limits_are_told(void **state)
{
	static char vol[] = "/mnt/vol/", vo[] = "/mnt/vo", day[] = "08:00-18:00";
	static char *good[] = { vol }, *bad[] = { vo }, *quiet[] = { day };
	static const struct {
		const char *check;
		struct node_limits limits;
		enum check_level level;
	} cases[] = {
		{ "allow", { .allow = bad, .allow_count = 1 }, CHECK_FAILED },
		{ "max_bytes", { .allow = good, .allow_count = 1, .max_bytes = MIB }, CHECK_FAILED },
		{ "max_files", { .allow = good, .allow_count = 1, .max_files = 5 }, CHECK_FAILED },
		{ "max_workers", { .allow = good, .allow_count = 1, .max_workers = 1 }, CHECK_FAILED },
		{ "max_bandwidth", { .allow = good, .allow_count = 1, .max_bandwidth = MIB }, CHECK_WARNING },
		{ "max_bandwidth", { .allow = good, .allow_count = 1, .max_bandwidth = 1 }, CHECK_FAILED },
		{ "max_run_time", { .allow = good, .allow_count = 1, .max_run_time = NS_PER_S }, CHECK_WARNING },
		{ "quiet_hours", { .allow = good, .allow_count = 1, .quiet_hours = quiet, .quiet_hours_count = 1 },
		    CHECK_WARNING },
		{ NULL, { .allow = good, .allow_count = 1, .max_bytes = 64 * MIB, .max_files = 6, .max_workers = 2 },
		    CHECK_OK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct node_limits limits = cases[i].limits;
		struct node_row rows[3] = { { .name = names[1], .connected = true },
			{ .name = names[0], .connected = true }, { .name = names[2], .connected = true } };
		const struct plan_nodes nodes = { names, 3, rows, 3 };
		struct job job = make_job();
		struct plan plan;

		rows[0].facts.limits = &limits;
		job.phases[0].time = 2 * NS_PER_S;
		plan_make(&job, &nodes, &plan);
		plan_finish(&plan, &nodes);
		if (cases[i].check == NULL) {
			assert_int_equal(plan.limits_count, 0);
		} else {
			if (plan.limits_count != 1 || strcmp(plan.limits[0].check, cases[i].check) != 0)
				fail_msg("%s: %zu limits, the first %s", cases[i].check, plan.limits_count,
				    plan.limits_count > 0 ? plan.limits[0].check : "-");
			assert_string_equal(plan.limits[0].node, "b");
			assert_int_equal(plan.limits[0].level, cases[i].level);
		}
		field_struct_fini(&plan_desc, &plan);
		field_struct_fini(&job_desc, &job);
	}
}

static void
test_absent_nodes_are_told(void **state)
{
	struct node_row rows[2] = { { .name = names[0], .connected = true }, { .name = names[1], .connected = false } };
	const struct plan_nodes nodes = { names, 3, rows, 2 };
	struct job job = make_job();
	struct plan plan;

	(void)state;
	job.min_nodes = 4;
	plan_make(&job, &nodes, &plan);
	assert_int_equal(plan.limits_count, 3);
	assert_string_equal(plan.limits[0].check, "min_nodes");
	assert_string_equal(plan.limits[1].node, "b");
	assert_string_equal(plan.limits[2].node, "c");
	field_struct_fini(&plan_desc, &plan);
	field_struct_fini(&job_desc, &job);
}

static void
test_builds_and_programs_are_told(void **state)
{
	static char one[] = "1", two[] = "2", iozone[] = "iozone", old[] = "3.1 is too old";
	struct tool_facts good = { .name = iozone }, bad = { .name = iozone, .problem = old };
	struct node_row rows[3] = { { .name = names[0], .connected = true }, { .name = names[1], .connected = true },
		{ .name = names[2], .connected = true } };
	const struct plan_nodes nodes = { names, 3, rows, 3 };
	struct job job = make_job();
	struct plan plan;

	(void)state;
	job.phases[0].kind = PHASE_RUN_IOZONE;
	rows[0].facts.build = rows[2].facts.build = one;
	rows[1].facts.build = two;
	rows[0].facts.tools = &good;
	rows[1].facts.tools = &bad;
	rows[0].facts.tools_count = rows[1].facts.tools_count = 1;
	plan_make(&job, &nodes, &plan);
	assert_int_equal(plan.limits_count, 3);
	assert_string_equal(plan.limits[0].check, "build");
	assert_string_equal(plan.limits[0].node, "b");
	assert_string_equal(plan.limits[1].text, "iozone: 3.1 is too old");
	assert_string_equal(plan.limits[2].node, "c");
	assert_string_equal(plan.limits[2].check, "tools");
	field_struct_fini(&plan_desc, &plan);

	job.allow_mixed_builds = true;
	job.phases[0].kind = PHASE_WRITE;
	plan_make(&job, &nodes, &plan);
	assert_int_equal(plan.limits_count, 0);
	field_struct_fini(&plan_desc, &plan);
	field_struct_fini(&job_desc, &job);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_solo_is_written_out_for_each_node),
		cmocka_unit_test(test_time_comes_from_the_job_first),
		cmocka_unit_test(test_an_earlier_run_tells_only_of_the_same_work),
		cmocka_unit_test(test_limits_are_told),
		cmocka_unit_test(test_absent_nodes_are_told),
		cmocka_unit_test(test_builds_and_programs_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
