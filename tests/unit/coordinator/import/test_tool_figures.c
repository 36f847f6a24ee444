/* What external programs printed at our barriers: as figures of their phases, and cut short. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/import/tool_figures.h"
#include "coordinator/import/tool_output.h"
#include "proto/model/tool.h"

#define CSV_103 "n,8M,10001,11,30001,31,20001,21,40001,41,50001,51,601.5,6,,,,,,,,,,,,,\n"
#define CSV_200                                                                                                        \
	"1.98,2.00a,n,1,1,8M,,8192,5,101,1,1000,10,2000,20,301,3,3000,30,4000.5,40,,,,,,,,,,,,,,,,,,5us,1us,2us,6us,"  \
	"3us,"                                                                                                         \
	"4us,,,,,,\n"

static void
set(char **slot, const char *text)
{
	free(*slot);
	*slot = text != NULL ? ls_strdup(text) : NULL;
}

/* The phases of one bonnie++ on nodes that ran them, the last with what each printed. */
struct run {
	struct job job;
	struct results doc;
};

static void
add_node(struct phase_result *phase, size_t n, const char *name, const char *version)
{
	struct node_result *node = &phase->nodes[n];

	field_struct_init(&node_result_desc, node);
	set(&node->node, name);
	node->state = NODE_DONE;
	node->tool = ls_calloc(1, sizeof(*node->tool));
	field_struct_init(&tool_result_desc, node->tool);
	set(&node->tool->name, "bonnie++");
	set(&node->tool->version, version);
}

static void
make_run(struct run *r, const char *const *versions, const char *const *printed, size_t nodes)
{
	static const char *const names[] = { "a", "b" };
	struct ls_err err;

	field_struct_init(&job_desc, &r->job);
	r->job.phases = ls_calloc(1, sizeof(*r->job.phases));
	r->job.phases_count = 1;
	field_struct_init(&phase_desc, &r->job.phases[0]);
	r->job.phases[0].kind = PHASE_RUN_BONNIE;
	r->job.phases[0].file_size = 8 << 20;
	r->job.phases[0].chunk_size = 8192;
	r->job.phases[0].file_count = 0;
	r->job.phases[0].characters = true;
	assert_int_equal(job_expand_tools(&r->job, &err), LS_OK);
	assert_int_equal(r->job.phases_count, 6);

	field_struct_init(&results_desc, &r->doc);
	r->doc.phases = ls_calloc(6, sizeof(*r->doc.phases));
	r->doc.phases_count = 6;
	for (size_t p = 0; p < 6; p++) {
		struct phase_result *phase = &r->doc.phases[p];

		field_struct_init(&phase_result_desc, phase);
		phase_copy(&r->job.phases[p], &phase->spec);
		phase->nodes = ls_calloc(nodes, sizeof(*phase->nodes));
		phase->nodes_count = nodes;
		for (size_t n = 0; n < nodes; n++)
			add_node(phase, n, names[n], versions[n]);
		phase->aggregate.last_done = (struct rate){ 1 << 20, 128 };
		phase->duration_ns = 1000000000;
	}
	for (size_t n = 0; n < nodes; n++) {
		r->doc.phases[5].nodes[n].tool->ended = true;
		set(&r->doc.phases[5].nodes[n].tool->out, printed[n]);
	}
}

static void
run_fini(struct run *r)
{
	field_struct_fini(&results_desc, &r->doc);
	field_struct_fini(&job_desc, &r->job);
}

static void
figures(struct run *r)
{
	for (size_t p = 0; p < r->doc.phases_count; p++)
		tool_figures_before(&r->doc.phases[p]);
	tool_figures_after(r->doc.phases, r->doc.phases_count);
}

static double
metric(const struct node_result *node, const char *name)
{
	for (size_t i = 0; i < node->metrics_count; i++)
		if (strcmp(node->metrics[i].name, name) == 0)
			return node->metrics[i].value;
	return (double)NAN;
}

static size_t
warned(const struct phase_result *phase, const char *words)
{
	size_t n = 0;

	for (size_t i = 0; i < phase->warnings_count; i++)
		n += strstr(phase->warnings[i], words) != NULL;
	return n;
}

static void
test_the_last_output_gives_the_figures_of_all_phases(void **state)
{
	static const char *const versions[] = { "2.00a", "2.00a" }, *const printed[] = { CSV_200, CSV_200 };
	static const double rates[] = { (double)NAN, 1000 * 1024, 2000 * 1024, 301 * 1024, 3000 * 1024 };
	struct run r = { 0 };

	(void)state;
	make_run(&r, versions, printed, 2);
	figures(&r);
	for (size_t p = 1; p < 5; p++) {
		assert_true(r.doc.phases[p].nodes[0].bytes_per_s == rates[p]);
		assert_true(r.doc.phases[p].aggregate.sum_of_rates.bytes_per_s == 2 * rates[p]);
		assert_true(r.doc.phases[p].aggregate.last_done.bytes_per_s == 1 << 20);
		assert_int_equal(warned(&r.doc.phases[p], "version"), 0);
	}
	assert_true(r.doc.phases[5].nodes[1].ops_per_s == 4000.5);
	assert_true(metric(&r.doc.phases[1].nodes[0], "cpu") == 10);
	assert_int_equal(r.doc.phases[1].nodes[0].latency_ns->max, 1000);
	/* its clock runs while it waits */
	assert_true(isnan(r.doc.phases[0].nodes[0].bytes_per_s));
	assert_true(metric(&r.doc.phases[0].nodes[0], "putc as told") == 101 * 1024);
	run_fini(&r);
}

static void
test_versions_that_measure_other_things_are_marked_phase_by_phase(void **state)
{
	static const char *const versions[] = { "1.03e", "2.00a" }, *const printed[] = { CSV_103, CSV_200 };
	struct run r = { 0 };

	(void)state;
	make_run(&r, versions, printed, 2);
	figures(&r);
	for (size_t p = 0; p < 6; p++) {
		assert_int_equal(warned(&r.doc.phases[p], "a has version 1.03e, b has 2.00a"), 1);
		assert_int_equal(warned(&r.doc.phases[p], "not comparable"), p == 4 ? 0 : 1);
	}
	assert_true(r.doc.phases[2].nodes[0].bytes_per_s == 20001 * 1024);
	assert_true(r.doc.phases[2].nodes[1].bytes_per_s == 2000 * 1024);
	run_fini(&r);
}

static void
test_output_that_cannot_be_read_fails_its_node_only(void **state)
{
	static const char *const versions[] = { "2.00a", "2.00a" },
				 *const printed[] = { CSV_200, "what a nice day\n\n" };
	struct run r = { 0 };
	struct ls_err err;

	(void)state;
	make_run(&r, versions, printed, 2);
	assert_int_equal(tool_output_check(&r.doc.phases[5].nodes[0], &err), LS_OK);
	assert_int_equal(tool_output_check(&r.doc.phases[0].nodes[1], &err), LS_OK); /* not its last phase */
	assert_int_equal(tool_output_check(&r.doc.phases[5].nodes[1], &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "its last line: what a nice day"));
	figures(&r);
	assert_int_equal(r.doc.phases[5].nodes[0].state, NODE_DONE);
	assert_int_equal(r.doc.phases[5].nodes[1].state, NODE_FAILED);
	assert_non_null(strstr(r.doc.phases[5].nodes[1].error_list[0].text, "cannot be read"));
	assert_true(isnan(r.doc.phases[1].nodes[1].bytes_per_s));
	assert_true(r.doc.phases[1].nodes[0].bytes_per_s == 1000 * 1024);
	run_fini(&r);
}

static void
test_a_program_that_did_not_get_so_far_has_no_figures(void **state)
{
	static const char *const versions[] = { "2.00a" }, *const printed[] = { CSV_200 };
	struct run r = { 0 };

	(void)state;
	make_run(&r, versions, printed, 1);
	field_struct_fini(&phase_result_desc, &r.doc.phases[5]);
	r.doc.phases_count = 5;
	figures(&r);
	assert_true(isnan(r.doc.phases[1].nodes[0].bytes_per_s));
	assert_int_equal(warned(&r.doc.phases[1], "no figure"), 1);
	run_fini(&r);
}

static void
test_another_tools_output_is_none(void **state)
{
	static const char *const versions[] = { "2.00a" },
				 *const printed[] = { "kB reclen write rewrite\n64 4 100 200\n" };
	struct run r = { 0 };
	struct ls_err err;

	(void)state;
	make_run(&r, versions, printed, 1);
	assert_int_equal(tool_output_check(&r.doc.phases[5].nodes[0], &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "looks like that of iozone"));
	set(&r.doc.phases[5].nodes[0].tool->out, NULL);
	assert_int_equal(tool_output_check(&r.doc.phases[5].nodes[0], &err), LS_E_INVALID);
	assert_non_null(strstr(err.text, "its last line: none"));
	run_fini(&r);
}

static void
test_only_the_end_of_an_output_stays(void **state)
{
	static const char *const versions[] = { "2.00a" }, *const printed[] = { CSV_200 };
	struct run r = { 0 };
	struct sink s = { 0 };

	(void)state;
	make_run(&r, versions, printed, 1);
	struct tool_result *tool = r.doc.phases[5].nodes[0].tool;
	while (s.len <= TOOL_OUTPUT_KEPT)
		sink_printf(&s, "a line of 24 characters\n");
	size_t whole = s.len + 5;
	sink_printf(&s, "%s", "last\n");
	set(&tool->out, s.text);
	tool->cut_bytes = 7;
	tool_output_cut(&r.doc);
	assert_true(strlen(tool->out) <= TOOL_OUTPUT_KEPT && strlen(tool->out) > TOOL_OUTPUT_KEPT - 24);
	assert_memory_equal(tool->out, "a line", 6);
	assert_string_equal(tool->out + strlen(tool->out) - 5, "last\n");
	assert_int_equal(tool->cut_bytes, 7 + whole - strlen(tool->out));

	/* what was cut stays so, and what is short is not touched */
	char *before = ls_strdup(tool->out);
	uint64_t bytes = tool->cut_bytes;
	tool_output_cut(&r.doc);
	assert_string_equal(tool->out, before);
	assert_int_equal(tool->cut_bytes, bytes);
	free(before);

	/* without lines: anywhere */
	for (size_t i = 0; i < s.len; i++)
		s.text[i] = 'x';
	set(&tool->err, s.text);
	tool_output_cut(&r.doc);
	assert_int_equal(strlen(tool->err), TOOL_ERRORS_KEPT);
	sink_free(&s);
	run_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_output_gives_the_figures_of_all_phases),
		cmocka_unit_test(test_versions_that_measure_other_things_are_marked_phase_by_phase),
		cmocka_unit_test(test_output_that_cannot_be_read_fails_its_node_only),
		cmocka_unit_test(test_a_program_that_did_not_get_so_far_has_no_figures),
		cmocka_unit_test(test_another_tools_output_is_none),
		cmocka_unit_test(test_only_the_end_of_an_output_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
