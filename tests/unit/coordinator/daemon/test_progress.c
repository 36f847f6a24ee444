#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "coordinator/daemon/progress.h"

#define MIB (1ULL << 20)

static struct phase
data_phase(enum phase_kind kind, enum phase_layout layout, uint64_t file_size)
{
	struct phase p;

	field_struct_init(&phase_desc, &p);
	p.kind = (int)kind;
	p.layout = (int)layout;
	p.file_size = file_size;
	return p;
}

static void
test_share_and_time_left(void **state)
{
	struct phase p = data_phase(PHASE_WRITE, LAYOUT_WORKER, MIB);

	(void)state;
	assert_true(isnan(progress_share(&p, 0, 5, 5)));
	assert_float_equal(progress_share(&p, 100, 25, NS_PER_S), 0.25, 1e-9);
	assert_float_equal(progress_share(&p, 100, 400, NS_PER_S), 1.0, 1e-9);
	assert_int_equal(progress_left_ns(&p, 0.25, NS_PER_S), 3 * NS_PER_S);
	assert_true(progress_left_ns(&p, 0.0, NS_PER_S) == LS_UNKNOWN_I64);
	assert_true(progress_left_ns(&p, (double)NAN, NS_PER_S) == LS_UNKNOWN_I64);
	assert_true(progress_left_ns(&p, 0.5, LS_UNKNOWN_I64) == LS_UNKNOWN_I64);
	p.time = 4 * NS_PER_S;
	assert_float_equal(progress_share(&p, 0, 0, NS_PER_S), 0.25, 1e-9);
	assert_int_equal(progress_left_ns(&p, 0.25, NS_PER_S), 3 * NS_PER_S);
	assert_int_equal(progress_left_ns(&p, 1.0, 5 * NS_PER_S), 0);
}

static void
test_alignment_of_direct_phases(void **state)
{
	struct phase phases[2] = { data_phase(PHASE_WRITE, LAYOUT_WORKER, MIB),
		data_phase(PHASE_READ, LAYOUT_WORKER, MIB) };
	struct job job = { .phases = phases, .phases_count = 2 };

	(void)state;
	assert_int_equal(progress_direct_align(&job), 0);
	phases[0].direct = true;
	phases[0].record_size = 64 << 10;
	assert_int_equal(progress_direct_align(&job), 64 << 10);
	phases[1].direct = true;
	phases[1].record_size = 4608;
	assert_int_equal(progress_direct_align(&job), 512);
}

static void
test_footprint_counts_each_set_of_files_once(void **state)
{
	struct phase phases[3] = { data_phase(PHASE_WRITE, LAYOUT_WORKER, MIB),
		data_phase(PHASE_WRITE, LAYOUT_WORKER, 4 * MIB), data_phase(PHASE_WRITE, LAYOUT_SHARED, 2 * MIB) };
	struct job job = { .workers = 2, .phases = phases, .phases_count = 3 };
	uint64_t bytes = 0, files = 0;

	(void)state;
	progress_footprint(&job, 3, &bytes, &files);
	assert_int_equal(bytes, 6 * 4 * MIB + 2 * MIB);
	assert_true(files >= 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_and_time_left),
		cmocka_unit_test(test_alignment_of_direct_phases),
		cmocka_unit_test(test_footprint_counts_each_set_of_files_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
