/* Each node alone against all together, against cases computed by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"

struct node_case {
	const char *name;
	double rate;
};

/* A phase whose rates are as told; last done is their sum unless said. */
static void
add_phase(struct results *r, enum phase_kind kind, uint64_t repetition, const struct node_case *nodes, size_t count)
{
	struct phase_result *p;
	double sum = 0;

	r->phases = ls_grow(r->phases, r->phases_count, sizeof(*r->phases));
	p = &r->phases[r->phases_count++];
	field_struct_init(&phase_result_desc, p);
	p->kind = p->spec.kind = (int)kind;
	p->repetition = repetition;
	p->nodes = ls_calloc(count, sizeof(*p->nodes));
	p->nodes_count = count;
	for (size_t i = 0; i < count; i++) {
		field_struct_init(&node_result_desc, &p->nodes[i]);
		free(p->nodes[i].node);
		p->nodes[i].node = ls_strdup(nodes[i].name);
		p->nodes[i].state = nodes[i].rate > 0 ? NODE_DONE : NODE_IDLE;
		p->nodes[i].bytes_per_s = kind == PHASE_STAT ? (double)NAN : nodes[i].rate;
		p->nodes[i].ops_per_s = kind == PHASE_STAT ? nodes[i].rate : 1;
		sum += nodes[i].rate;
	}
	p->aggregate.last_done.bytes_per_s = kind == PHASE_STAT ? (double)NAN : sum;
	p->aggregate.last_done.ops_per_s = kind == PHASE_STAT ? sum : 1;
	p->aggregate.all_active.bytes_per_s = kind == PHASE_STAT ? (double)NAN : sum;
}

static void
add_solo(struct results *r, enum phase_kind kind, uint64_t repetition, const char *name, double rate)
{
	add_phase(r, kind, repetition, &(struct node_case){ name, rate }, 1);
}

static const struct node_case together[] = { { "a", 300 }, { "b", 60 } };

static void
test_efficiency_and_loss(void **state)
{
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_solo(&r, PHASE_READ, 0, "a", 400);
	add_solo(&r, PHASE_READ, 0, "b", 50);
	add_phase(&r, PHASE_READ, 0, together, 2);
	for (int again = 0; again < 2; again++) {
		results_add_scaling(&r);
		assert_null(r.phases[0].aggregate.scaling);
		const struct scaling *s = r.phases[2].aggregate.scaling;
		assert_non_null(s);
		assert_float_equal(s->alone, 225, 1e-9);
		assert_float_equal(s->last_done, 360, 1e-9);
		assert_float_equal(s->efficiency, 360.0 / 450, 1e-9);
		assert_float_equal(s->efficiency_all_active, 360.0 / 450, 1e-9);
		assert_int_equal(s->nodes_count, 2);
		assert_string_equal(s->nodes[0].node, "a");
		assert_float_equal(s->nodes[0].loss, 0.25, 1e-9);
		assert_float_equal(s->nodes[1].loss, -0.2, 1e-9);
	}
	field_struct_fini(&results_desc, &r);
}

static void
test_operations_where_the_phase_counts_them(void **state)
{
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_solo(&r, PHASE_STAT, 0, "a", 400);
	add_solo(&r, PHASE_STAT, 0, "b", 50);
	add_phase(&r, PHASE_STAT, 0, together, 2);
	results_add_scaling(&r);
	assert_float_equal(r.phases[2].aggregate.scaling->efficiency, 0.8, 1e-9);
	assert_true(isnan(r.phases[2].aggregate.scaling->efficiency_all_active));
	field_struct_fini(&results_desc, &r);
}

static void
test_only_the_same_work_in_the_same_repetition_counts(void **state)
{
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_solo(&r, PHASE_READ, 0, "a", 400);
	add_solo(&r, PHASE_READ, 1, "b", 50);        /* another repetition */
	add_solo(&r, PHASE_RANDOM_READ, 0, "b", 50); /* another kind */
	add_solo(&r, PHASE_READ, 0, "b", 50);
	r.phases[3].spec.record_size = 4096; /* another size */
	add_solo(&r, PHASE_READ, 0, "b", 50);
	r.phases[4].state = PHASE_STATE_FAILED;
	add_solo(&r, PHASE_READ, 0, "c", 50); /* not one of them */
	add_phase(&r, PHASE_READ, 0, together, 2);
	results_add_scaling(&r);
	const struct scaling *s = r.phases[6].aggregate.scaling;
	assert_int_equal(s->nodes_count, 1);
	assert_string_equal(s->nodes[0].node, "a");
	assert_true(isnan(s->efficiency)); /* b was not measured alone */
	field_struct_fini(&results_desc, &r);
}

static void
test_names_and_idle_nodes_make_no_difference(void **state)
{
	static const struct node_case first[] = { { "a", 400 }, { "b", 0 } };
	static const struct node_case second[] = { { "a", 0 }, { "b", 50 } };
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_phase(&r, PHASE_READ, 0, first, 2);
	add_phase(&r, PHASE_READ, 0, second, 2);
	r.phases[1].spec.name = ls_strdup("b alone");
	r.phases[1].spec.pause = NS_PER_S;
	add_phase(&r, PHASE_READ, 0, together, 2);
	results_add_scaling(&r);
	assert_float_equal(r.phases[2].aggregate.scaling->efficiency, 0.8, 1e-9);
	field_struct_fini(&results_desc, &r);
}

/* --- what sharing costs ------------------------------------------------------------------------------------------ */

static const struct node_case own_rates[] = { { "a", 400 }, { "b", 200 } };

static void
test_a_shared_file_against_own_files(void **state)
{
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_phase(&r, PHASE_WRITE, 0, own_rates, 2);
	add_phase(&r, PHASE_WRITE, 0, together, 2);
	add_phase(&r, PHASE_WRITE, 0, together, 2);
	r.phases[1].spec.layout = LAYOUT_SAME;
	r.phases[1].spec.file_size = 4096; /* the whole, not a worker's */
	r.phases[2].spec.layout = LAYOUT_SHARED;
	r.phases[2].spec.record_size = 4096; /* other work */
	results_add_contention(&r);
	results_add_contention(&r);
	const struct contention *c = r.phases[1].aggregate.contention;
	assert_non_null(c);
	assert_null(r.phases[0].aggregate.contention);
	assert_null(r.phases[2].aggregate.contention);
	assert_true(fabs(c->factor - 600.0 / 360) < 1e-9);
	assert_true(fabs(c->factor_all_active - 600.0 / 360) < 1e-9);
	assert_int_equal(c->nodes_count, 2);
	assert_true(fabs(c->nodes[0].factor - 400.0 / 300) < 1e-9);
	assert_true(fabs(c->nodes[1].factor - 200.0 / 60) < 1e-9);
	field_struct_fini(&results_desc, &r);
}

static void
test_a_shared_directory_counts_operations(void **state)
{
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_phase(&r, PHASE_STAT, 0, together, 2);
	add_phase(&r, PHASE_STAT, 0, own_rates, 2);
	r.phases[0].spec.dirs = DIRS_SHARED;
	results_add_contention(&r);
	assert_true(fabs(r.phases[0].aggregate.contention->factor - 600.0 / 360) < 1e-9);
	field_struct_fini(&results_desc, &r);
}

static void
test_other_nodes_repetitions_and_ends_say_nothing(void **state)
{
	struct results r;

	(void)state;
	field_struct_init(&results_desc, &r);
	add_phase(&r, PHASE_WRITE, 0, own_rates, 1); /* of one node only */
	add_phase(&r, PHASE_WRITE, 1, own_rates, 2); /* another repetition */
	add_phase(&r, PHASE_WRITE, 0, own_rates, 2); /* did not end well */
	add_phase(&r, PHASE_WRITE, 0, together, 2);
	r.phases[2].state = PHASE_STATE_FAILED;
	r.phases[3].spec.layout = LAYOUT_INTERLEAVED;
	results_add_contention(&r);
	assert_null(r.phases[3].aggregate.contention);
	field_struct_fini(&results_desc, &r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_efficiency_and_loss),
		cmocka_unit_test(test_operations_where_the_phase_counts_them),
		cmocka_unit_test(test_only_the_same_work_in_the_same_repetition_counts),
		cmocka_unit_test(test_names_and_idle_nodes_make_no_difference),
		cmocka_unit_test(test_a_shared_file_against_own_files),
		cmocka_unit_test(test_a_shared_directory_counts_operations),
		cmocka_unit_test(test_other_nodes_repetitions_and_ends_say_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
