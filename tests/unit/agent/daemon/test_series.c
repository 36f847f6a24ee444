#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "agent/daemon/series.h"

struct add {
	int64_t from_ns, to_ns;
	uint64_t bytes, ops;
};

struct series_case {
	const char *name;
	size_t capacity;
	struct add adds[4];
	size_t add_count;
	int64_t interval_ns; /* afterwards */
	uint64_t bytes[8];   /* wanted cells */
	size_t used;
};

/* The interval is 10 ns throughout. */
static const struct series_case cases[] = {
	{ "nothing", 8, { { 0, 10, 0, 0 } }, 1, 10, { 0 }, 0 },
	{ "one cell", 8, { { 2, 9, 7, 1 } }, 1, 10, { 7 }, 1 },
	{ "an end on the border belongs to the cell before", 8, { { 0, 10, 5, 1 } }, 1, 10, { 5 }, 1 },
	{ "a line over two cells", 8, { { 5, 15, 10, 2 } }, 1, 10, { 5, 5 }, 2 },
	{ "rounding goes to the later cells, nothing is lost", 8, { { 0, 30, 10, 1 } }, 1, 10, { 3, 3, 4 }, 3 },
	{ "a gap becomes a line", 8, { { 0, 10, 10, 1 }, { 10, 50, 40, 4 } }, 2, 10, { 10, 10, 10, 10, 10 }, 5 },
	{ "no length: into the cell of the end", 8, { { 25, 25, 9, 1 } }, 1, 10, { 0, 0, 9 }, 3 },
	{ "before the start: into the first cell", 8, { { -30, 10, 8, 1 } }, 1, 10, { 8 }, 1 },
	{ "wholly before the start", 8, { { -30, -10, 8, 1 } }, 1, 10, { 8 }, 1 },
	{ "backwards: as if without length", 8, { { 20, 10, 8, 1 } }, 1, 10, { 0, 8 }, 2 },
	{ "a start on the border", 8, { { 10, 20, 8, 1 } }, 1, 10, { 0, 8 }, 2 },
	{ "full: doubles", 4, { { 0, 40, 40, 4 }, { 40, 60, 20, 2 } }, 2, 20, { 20, 20, 20 }, 3 },
	{ "far away: doubles as often as needed", 4, { { 0, 10, 1, 1 }, { 150, 160, 7, 1 } }, 2, 40, { 1, 0, 0, 7 },
	    4 },
};

static uint64_t
sum(const uint64_t *cells, size_t n)
{
	uint64_t total = 0;
	for (size_t i = 0; i < n; i++)
		total += cells[i];
	return total;
}

static void
check_case(const struct series_case *c)
{
	struct series_grid grid;

	series_init(&grid, 10, c->capacity);
	for (size_t i = 0; i < c->add_count; i++)
		series_add(&grid, c->adds[i].from_ns, c->adds[i].to_ns, c->adds[i].bytes, c->adds[i].ops);
	if (grid.interval_ns != c->interval_ns || grid.used != c->used)
		fail_msg("%s: got interval %lld used %zu, wanted %lld %zu", c->name, (long long)grid.interval_ns,
		    grid.used, (long long)c->interval_ns, c->used);
	for (size_t i = 0; i < c->used; i++)
		if (grid.bytes[i] != c->bytes[i])
			fail_msg("%s: cell %zu: got %llu, wanted %llu", c->name, i, (unsigned long long)grid.bytes[i],
			    (unsigned long long)c->bytes[i]);
	series_fini(&grid);
}

static void
test_work_goes_into_the_cells_of_its_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_case(&cases[i]);
}

static uint64_t
next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void
test_sums_are_exact_whatever_is_added(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct series_grid grid;
		uint64_t x = seed * 0x9e3779b97f4a7c15ULL, bytes = 0, ops = 0;
		int64_t at = 0;

		series_init(&grid, 12500000, 64);
		for (int i = 0; i < 100; i++) {
			int64_t to = at + (int64_t)(next_random(&x) % 300000000);
			uint64_t b = next_random(&x) % (1ULL << 40), o = next_random(&x) % 1000;
			series_add(&grid, at, to, b, o);
			bytes += b;
			ops += o;
			at = to;
		}
		series_coarsen(&grid, 100000000);
		if (sum(grid.bytes, grid.used) != bytes || sum(grid.ops, grid.used) != ops)
			fail_msg("seed %llu: sums differ", (unsigned long long)seed);
		if (grid.used > grid.capacity || grid.interval_ns < 100000000)
			fail_msg("seed %llu: grid out of bounds", (unsigned long long)seed);
		series_fini(&grid);
	}
}

static void
test_huge_numbers_do_not_overflow(void **state)
{
	struct series_grid grid;

	(void)state;
	series_init(&grid, 12500000, 8192);
	series_add(&grid, 0, INT64_C(86400000000000) * 30, UINT64_C(1) << 62, UINT64_C(1) << 61);
	assert_true(sum(grid.bytes, grid.used) == UINT64_C(1) << 62);
	assert_true(sum(grid.ops, grid.used) == UINT64_C(1) << 61);
	assert_true(grid.used <= 8192);
	series_fini(&grid);
}

static void
test_reset_and_export(void **state)
{
	struct series_grid grid;
	struct series out;

	(void)state;
	series_init(&grid, 10, 8);
	series_add(&grid, 0, 30, 30, 3);
	series_reset(&grid, 10);
	assert_int_equal(grid.used, 0);
	series_add(&grid, 10, 20, 4, 2);
	field_struct_init(&series_desc, &out);
	series_export(&grid, &out);
	assert_int_equal(out.bytes_count, 2);
	assert_int_equal(out.ops_count, 2);
	assert_int_equal(out.bytes[0], 0);
	assert_int_equal(out.bytes[1], 4);
	assert_int_equal(out.ops[1], 2);
	assert_int_equal(out.interval_ns, 10);
	field_struct_fini(&series_desc, &out);
	series_fini(&grid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_goes_into_the_cells_of_its_time),
		cmocka_unit_test(test_sums_are_exact_whatever_is_added),
		cmocka_unit_test(test_huge_numbers_do_not_overflow),
		cmocka_unit_test(test_reset_and_export),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
