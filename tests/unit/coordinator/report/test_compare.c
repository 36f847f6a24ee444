/* Runs made here, with rates that can be checked by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/defs.h"
#include "common/base/mem.h"
#include "coordinator/report/compare.h"

#define MAX_PHASES 8
#define MAX_SIDES  3

struct phase_case {
	enum phase_kind kind;
	uint64_t file_size;
	double bytes_per_s;
	enum phase_state state;
};

static void
near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("got %.10g, wanted %.10g", got, want);
}

static void
set_text(char **text, const char *value)
{
	free(*text);
	*text = ls_strdup(value);
}

static struct results *
make_run(const char *id, size_t nodes, const struct phase_case *phases, size_t count)
{
	struct results *run = ls_calloc(1, sizeof(*run));

	field_struct_init(&results_desc, run);
	set_text(&run->run.id, id);
	set_text(&run->run.name, "made");
	run->run.state = RUN_FINISHED;
	run->phases = ls_calloc(count, sizeof(*run->phases));
	run->phases_count = count;
	run->nodes = ls_calloc(nodes, sizeof(*run->nodes));
	run->nodes_count = nodes;
	for (size_t n = 0; n < nodes; n++)
		field_struct_init(&run_node_desc, &run->nodes[n]);
	for (size_t p = 0; p < count; p++) {
		struct phase_result *phase = &run->phases[p];

		field_struct_init(&phase_result_desc, phase);
		set_text(&phase->name, phase_kind_names[phases[p].kind]);
		phase->kind = (int)phases[p].kind;
		phase->spec.kind = (int)phases[p].kind;
		phase->index = p;
		phase->state = (int)phases[p].state;
		phase->spec.file_size = phases[p].file_size;
		phase->aggregate.last_done.bytes_per_s = phases[p].bytes_per_s;
		phase->nodes = ls_calloc(nodes, sizeof(*phase->nodes));
		phase->nodes_count = nodes;
		for (size_t n = 0; n < nodes; n++)
			field_struct_init(&node_result_desc, &phase->nodes[n]);
	}
	return run;
}

static struct results *
one_phase(const char *id, double bytes_per_s)
{
	const struct phase_case phase = { PHASE_WRITE, 1 << 20, bytes_per_s, PHASE_STATE_DONE };

	return make_run(id, 1, &phase, 1);
}

static void
free_run(struct results *run)
{
	field_struct_fini(&results_desc, run);
	free(run);
}

static void
compare_two(const struct results *a, const struct results *b, struct comparison *out)
{
	const struct compare_side sides[] = { { "A", &a, 1 }, { "B", &b, 1 } };

	compare_runs(sides, 2, &compare_metrics[0], SIZE_MAX, out);
}

static bool
says(char *const *list, size_t count, const char *what)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(list[i], what) != NULL)
			return true;
	return false;
}

/* Repeats as runs of one phase each. */
static void
compare_repeats(const double *a, size_t na, const double *b, size_t nb, struct comparison *out)
{
	const struct results *runs[2][MAX_PHASES];
	const struct compare_side sides[] = { { "A", runs[0], na }, { "B", runs[1], nb } };

	for (size_t i = 0; i < na; i++)
		runs[0][i] = one_phase((const char[]){ 'a', (char)('0' + (int)i), '\0' }, a[i]);
	for (size_t i = 0; i < nb; i++)
		runs[1][i] = one_phase((const char[]){ 'b', (char)('0' + (int)i), '\0' }, b[i]);
	compare_runs(sides, 2, &compare_metrics[0], SIZE_MAX, out);
	for (size_t i = 0; i < na; i++)
		free_run((struct results *)(uintptr_t)runs[0][i]);
	for (size_t i = 0; i < nb; i++)
		free_run((struct results *)(uintptr_t)runs[1][i]);
}

static void
test_ratios_and_geometric_means(void **state)
{
	static const struct phase_case a[] = { { PHASE_WRITE, 1 << 20, 100, 0 }, { PHASE_WRITE, 2 << 20, 100, 0 },
		{ PHASE_READ, 1 << 20, 300, 0 } };
	static const struct phase_case b[] = { { PHASE_WRITE, 1 << 20, 50, 0 }, { PHASE_WRITE, 2 << 20, 200, 0 },
		{ PHASE_READ, 1 << 20, 2400, 0 } };
	struct results *x = make_run("x", 2, a, 3);
	struct results *y = make_run("y", 2, b, 3);
	struct comparison c;

	(void)state;
	compare_two(x, y, &c);
	assert_int_equal(c.rows_count, 3);
	near(c.rows[0].ratios[0].ratio, 0.5, 1e-12);
	near(c.rows[1].ratios[0].ratio, 2, 1e-12);
	near(c.rows[2].ratios[0].ratio, 8, 1e-12);
	assert_int_equal(c.rows[0].ratios[0].verdict, COMPARE_NOT_REPEATED);
	assert_int_equal(c.means_count, 3); /* write, read, all */
	assert_string_equal(c.means[0].test, "write");
	near(c.means[0].ratio, 1, 1e-12);
	near(c.means[1].ratio, 8, 1e-12);
	assert_null(c.means[2].test);
	near(c.means[2].ratio, 2, 1e-12);
	assert_int_equal(c.differences_count, 0);
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

static void
test_subject_stands_above_the_line(void **state)
{
	const struct results *runs[MAX_SIDES] = { one_phase("a", 10), one_phase("b", 20), one_phase("c", 40) };
	const struct compare_side sides[] = { { "a", &runs[0], 1 }, { "b", &runs[1], 1 }, { "c", &runs[2], 1 } };
	struct comparison c;

	(void)state;
	compare_runs(sides, 3, &compare_metrics[0], 1, &c);
	assert_int_equal(c.rows[0].ratios_count, 2);
	assert_int_equal(c.rows[0].ratios[0].to, 0);
	near(c.rows[0].ratios[0].ratio, 2, 1e-12);
	assert_int_equal(c.rows[0].ratios[1].to, 2);
	near(c.rows[0].ratios[1].ratio, 0.5, 1e-12);
	field_struct_fini(&comparison_desc, &c);
	for (size_t i = 0; i < MAX_SIDES; i++)
		free_run((struct results *)(uintptr_t)runs[i]);
}

static void
test_what_is_not_the_same_is_named(void **state)
{
	static const struct phase_case a[] = { { PHASE_WRITE, 1 << 20, 100, 0 }, { PHASE_READ, 1 << 20, 100, 0 } };
	static const struct phase_case b[] = { { PHASE_WRITE, 4 << 20, 100, 0 }, { PHASE_REREAD, 1 << 20, 100, 0 } };
	struct results *x = make_run("x", 2, a, 2);
	struct results *y = make_run("y", 3, b, 2);
	struct comparison c;

	(void)state;
	set_text(&x->run.lockstep.version, "1.0");
	set_text(&y->run.lockstep.version, "2.0");
	y->phases[0].spec.direct = true;
	y->run.state = RUN_ABORTED;
	compare_two(x, y, &c);
	assert_int_equal(c.rows_count, 3);
	assert_true(says(c.differences, c.differences_count, "file_size differs: A has 1 MiB, B has 4 MiB (write)"));
	assert_true(says(c.differences, c.differences_count, "direct differs: A has no, B has yes (write)"));
	assert_true(says(c.differences, c.differences_count, "number of nodes differs: A has 2, B has 3 (write)"));
	assert_true(says(c.differences, c.differences_count, "B has no such phase (read)"));
	assert_true(says(c.differences, c.differences_count, "A has no such phase (reread)"));
	assert_true(says(c.differences, c.differences_count, "version of lockstep: A has 1.0, B has 2.0"));
	assert_true(says(c.differences, c.differences_count, "B: run y is aborted"));
	near(c.rows[0].ratios[0].ratio, 1, 1e-12);
	assert_int_equal(c.rows[1].ratios[0].verdict, COMPARE_UNKNOWN);
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

static void
test_verdicts(void **state)
{
	static const struct {
		const char *name;
		double a[5], b[5];
		size_t na, nb;
		enum compare_verdict verdict;
		bool slower; /* than 5 % */
	} cases[] = {
		{ "clearly slower", { 100, 101, 99 }, { 80, 81, 79 }, 3, 3, COMPARE_SLOWER, true },
		{ "clearly slower, but little", { 1000, 1001, 999 }, { 980, 981, 979 }, 3, 3, COMPARE_SLOWER, false },
		{ "faster", { 100, 101, 99 }, { 120, 121, 119 }, 3, 3, COMPARE_FASTER, false },
		{ "too much noise", { 100, 150, 60 }, { 80, 120, 70 }, 3, 3, COMPARE_NO_DIFFERENCE, false },
		{ "one of each, slower", { 100 }, { 90 }, 1, 1, COMPARE_NOT_REPEATED, true },
		{ "one of each, alike", { 100 }, { 96 }, 1, 1, COMPARE_NOT_REPEATED, false },
		{ "no figure", { 100 }, { (double)NAN }, 1, 1, COMPARE_UNKNOWN, true },
		{ "repeats against one", { 100, 101 }, { 100 }, 2, 1, COMPARE_NOT_REPEATED, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct comparison c;

		compare_repeats(cases[i].a, cases[i].na, cases[i].b, cases[i].nb, &c);
		if (c.rows[0].ratios[0].verdict != (int)cases[i].verdict)
			fail_msg("%s: %s", cases[i].name, compare_verdict_names[c.rows[0].ratios[0].verdict]);
		if (compare_is_slower(&c, 0.05, NULL) != cases[i].slower)
			fail_msg("%s: slower or not", cases[i].name);
		field_struct_fini(&comparison_desc, &c);
	}
}

static void
test_odd_repeats_are_pointed_out(void **state)
{
	static const double cold[] = { 50, 100, 101, 99, 100 };
	static const double burst[] = { 100, 101, 99, 300, 100 };
	struct comparison c;

	(void)state;
	compare_repeats(cold, 5, burst, 5, &c);
	assert_true(says(c.notes, c.notes_count, "A: repeat 1 "));
	assert_true(says(c.notes, c.notes_count, "the first one is often slower"));
	assert_true(says(c.notes, c.notes_count, "B: repeat 4 "));
	assert_true(says(c.notes, c.notes_count, "see whether a cache answered"));
	assert_true(says(c.notes, c.notes_count, "in 1 of 1 phases the repeats vary"));
	field_struct_fini(&comparison_desc, &c);
}

/* One node that did bytes[i] in each of 60 steps. */
static struct results *
with_series(const char *id, int64_t first, int64_t last)
{
	struct results *run = one_phase(id, 100);
	struct node_result *node = &run->phases[0].nodes[0];

	node->start_ns = 0;
	node->end_ns = 60 * NS_PER_S;
	node->series.interval_ns = NS_PER_S;
	node->series.bytes_count = 60;
	node->series.ops_count = 60;
	node->series.bytes = ls_calloc(60, sizeof(*node->series.bytes));
	node->series.ops = ls_calloc(60, sizeof(*node->series.ops));
	node->bytes = 0;
	for (int i = 0; i < 60; i++) {
		node->series.bytes[i] = i < 20 ? first : last;
		node->bytes += (uint64_t)node->series.bytes[i];
	}
	return run;
}

static void
test_drift_within_a_phase_is_pointed_out(void **state)
{
	static const struct {
		int64_t first, last;
		const char *says; /* NULL: nothing */
	} cases[] = {
		{ 1000, 1000, NULL },
		{ 1000, 900, NULL },
		{ 1000, 500, "the last third of the phase has 50 % of the first; buffers fill" },
		{ 1000, 2000,
		    "the last third of the phase has 200 % of the first; caches fill at the start: set warmup" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct results *x = with_series("x", cases[i].first, cases[i].last);
		struct results *y = one_phase("y", 100);
		struct comparison c;

		compare_two(x, y, &c);
		if (cases[i].says == NULL)
			assert_int_equal(c.notes_count, 0);
		else if (!says(c.notes, c.notes_count, cases[i].says))
			fail_msg("case %zu says: %s", i, c.notes_count > 0 ? c.notes[0] : "nothing");
		field_struct_fini(&comparison_desc, &c);
		free_run(x);
		free_run(y);
	}
}

static void
test_failed_phases_do_not_count(void **state)
{
	static const struct phase_case failed[] = { { PHASE_WRITE, 1 << 20, 100, PHASE_STATE_FAILED } };
	struct results *x = one_phase("x", 100);
	struct results *y = make_run("y", 1, failed, 1);
	struct comparison c;
	struct sink why = { 0 };

	(void)state;
	compare_two(x, y, &c);
	assert_int_equal(c.rows[0].values[1].samples, 0);
	assert_true(isnan(c.rows[0].values[1].value));
	assert_true(says(c.notes, c.notes_count, "repeat 1 failed and does not count"));
	assert_true(compare_is_slower(&c, 0.05, &why));
	assert_string_equal(why.text, "write: no figure to compare for B against A\n");
	sink_free(&why);
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

static void
test_same_phase_twice_in_a_job(void **state)
{
	static const struct phase_case twice[] = { { PHASE_READ, 1 << 20, 10, 0 }, { PHASE_READ, 1 << 20, 20, 0 } };
	struct results *x = make_run("x", 1, twice, 2);
	struct results *y = make_run("y", 1, twice, 2);
	struct comparison c;

	(void)state;
	compare_two(x, y, &c);
	assert_int_equal(c.rows_count, 2);
	near(c.rows[1].values[0].value, 20, 1e-9);
	near(c.rows[1].ratios[0].ratio, 1, 1e-12);
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

static void
test_text_of_nothing(void **state)
{
	struct results *x = make_run("x", 1, NULL, 0);
	struct results *y = make_run("y", 1, NULL, 0);
	struct comparison c;
	struct sink out = { 0 };

	(void)state;
	compare_two(x, y, &c);
	for (size_t i = 0; compare_formats[i].name != NULL; i++) {
		compare_formats[i].render(&c, &out);
		if (i < 3) /* those for people */
			assert_non_null(strstr(out.text, "No phase has a result."));
		assert_null(strstr(out.text, "nan"));
		sink_free(&out);
	}
	assert_false(compare_is_slower(&c, 0, NULL));
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

/* Names come from anywhere: in a page they must not become markup, in a table of Markdown no cells. */
static void
test_texts_in_a_page_are_only_texts(void **state)
{
	static const char evil[] = "</title><script>alert(1)</script>|x";
	struct results *x = one_phase(evil, 1000);
	struct results *y = one_phase("y", 2000);
	struct comparison c;
	struct sink out = { 0 };

	(void)state;
	free(x->phases[0].name);
	x->phases[0].name = ls_strdup(evil);
	compare_two(x, y, &c);
	free(c.groups[0].label);
	c.groups[0].label = ls_strdup(evil);
	compare_format_find("html")->render(&c, &out);
	assert_null(strstr(out.text, "<script"));
	assert_non_null(strstr(out.text, ">200%<"));
	sink_free(&out);
	compare_format_find("markdown")->render(&c, &out);
	assert_null(strstr(out.text, ">|x"));
	sink_free(&out);
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

/* Two sizes of files and of records: each side's surface and the ratios stand as tables coloured by value. */
static void
test_surfaces_stand_side_by_side(void **state)
{
	struct results *runs[2];
	struct comparison c;
	struct sink out = { 0 };
	size_t maps = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct phase_case phases[] = {
			{ PHASE_WRITE, 65536, 1048576.0, PHASE_STATE_DONE },
			{ PHASE_WRITE, 65536, 2 * 1048576.0, PHASE_STATE_DONE },
			{ PHASE_WRITE, 131072, 3 * 1048576.0, PHASE_STATE_DONE },
			{ PHASE_WRITE, 131072, (i == 0 ? 4 : 8) * 1048576.0, PHASE_STATE_DONE },
		};

		runs[i] = make_run(i == 0 ? "x" : "y", 1, phases, ARRAY_LEN(phases));
		for (size_t p = 0; p < ARRAY_LEN(phases); p++)
			runs[i]->phases[p].spec.record_size = p % 2 == 0 ? 4096 : 8192;
	}
	compare_two(runs[0], runs[1], &c);
	compare_format_find("html")->render(&c, &out);
	for (const char *at = out.text; (at = strstr(at, "<table class=heat>")) != NULL; at++)
		maps++;
	assert_int_equal(maps, 3);
	assert_non_null(strstr(out.text, "rgba(58,125,226,0.60)'>8.00</td>"));
	assert_non_null(strstr(out.text, "rgba(58,125,226,0.30)'>4.00</td>"));
	assert_non_null(strstr(out.text, "rgba(27,127,59,0.60)'>200%</td>"));
	assert_non_null(strstr(out.text, "rgba(27,127,59,0.00)'>100%</td>"));
	sink_free(&out);
	field_struct_fini(&comparison_desc, &c);
	free_run(runs[0]);
	free_run(runs[1]);
}

static void
test_text_rounds_percent_half_up(void **state)
{
	struct results *x = one_phase("x", 1000 * 1048576.0);
	struct results *y = one_phase("y", 1645 * 1048576.0);
	struct comparison c;
	struct sink out = { 0 };

	(void)state;
	compare_two(x, y, &c);
	compare_formats[0].render(&c, &out);
	assert_non_null(strstr(out.text, "1000       1645     165%\n")); /* 164.5 */
	assert_null(strstr(out.text, "nan"));
	sink_free(&out);
	field_struct_fini(&comparison_desc, &c);
	free_run(x);
	free_run(y);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratios_and_geometric_means),
		cmocka_unit_test(test_subject_stands_above_the_line),
		cmocka_unit_test(test_what_is_not_the_same_is_named),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_odd_repeats_are_pointed_out),
		cmocka_unit_test(test_drift_within_a_phase_is_pointed_out),
		cmocka_unit_test(test_failed_phases_do_not_count),
		cmocka_unit_test(test_same_phase_twice_in_a_job),
		cmocka_unit_test(test_text_of_nothing),
		cmocka_unit_test(test_texts_in_a_page_are_only_texts),
		cmocka_unit_test(test_surfaces_stand_side_by_side),
		cmocka_unit_test(test_text_rounds_percent_half_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
