#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/engine/offsets.h"
#include "common/base/defs.h"

static void
test_permutation_visits_each_once(void **state)
{
	(void)state;
	for (uint64_t count = 1; count <= 600; count++) {
		unsigned char seen[600] = { 0 };
		struct permutation p;
		permutation_init(&p, count, count * 7919);
		for (uint64_t i = 0; i < count; i++) {
			uint64_t at = permutation_at(&p, i);
			if (at >= count || seen[at]++ != 0)
				fail_msg("count %llu: element %llu gives %llu, outside or twice",
				    (unsigned long long)count, (unsigned long long)i, (unsigned long long)at);
		}
	}
}

static void
test_permutation_holds_for_large_counts(void **state)
{
	enum { COUNT = 1000003 };
	unsigned char *seen = calloc(COUNT, 1);
	struct permutation p;
	uint64_t in_place = 0, next_to = 0, before = 0;

	(void)state;
	assert_non_null(seen);
	permutation_init(&p, COUNT, 42);
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t at = permutation_at(&p, i);
		assert_true(at < COUNT);
		assert_int_equal(seen[at]++, 0);
		in_place += at == i;
		next_to += at == before + 1;
		before = at;
	}
	/* A random order has about one of each. */
	assert_true(in_place < 20);
	assert_true(next_to < 20);
	free(seen);

	permutation_init(&p, 1ULL << 52, 1);
	assert_true(permutation_at(&p, (1ULL << 52) - 1) < 1ULL << 52);
}

static void
test_permutation_depends_on_seed(void **state)
{
	struct permutation a, b, c;
	unsigned same = 0;

	(void)state;
	permutation_init(&a, 1000, 1);
	permutation_init(&b, 1000, 2);
	permutation_init(&c, 1000, 1);
	for (uint64_t i = 0; i < 1000; i++) {
		same += permutation_at(&a, i) == permutation_at(&b, i);
		assert_int_equal(permutation_at(&a, i), permutation_at(&c, i));
	}
	assert_true(same < 20);
}

struct expected {
	uint64_t offset;
	uint32_t length;
	uint64_t round;
};

struct order_case {
	const char *name;
	struct offsets_config config;
	size_t count;
	struct expected records[8];
};

static const struct order_case cases[] = {
	{ "whole records, once", { .base = 100, .length = 30, .record = 10, .bound = 30 }, 3,
	    { { 100, 10, 0 }, { 110, 10, 0 }, { 120, 10, 0 } } },
	{ "short last record", { .base = 0, .length = 25, .record = 10, .bound = 25 }, 3,
	    { { 0, 10, 0 }, { 10, 10, 0 }, { 20, 5, 0 } } },
	{ "record longer than the part", { .base = 7, .length = 3, .record = 10, .bound = 3 }, 1, { { 7, 3, 0 } } },
	{ "going round", { .base = 0, .length = 20, .record = 10, .bound = 50 }, 5,
	    { { 0, 10, 0 }, { 10, 10, 0 }, { 0, 10, 1 }, { 10, 10, 1 }, { 0, 10, 2 } } },
	{ "last one cut to the bound", { .base = 0, .length = 20, .record = 10, .bound = 13 }, 2,
	    { { 0, 10, 0 }, { 10, 3, 0 } } },
	{ "every third record of a file, the last one short",
	    { .base = 10, .length = 27, .record = 10, .step = 30, .bound = 27, .first_round = 5 }, 3,
	    { { 10, 10, 5 }, { 40, 10, 5 }, { 70, 7, 5 } } },
	{ "beyond 4 GiB", { .base = 5ULL << 40, .length = 2 << 20, .record = 1 << 20, .bound = 2 << 20 }, 2,
	    { { 5ULL << 40, 1 << 20, 0 }, { (5ULL << 40) + (1 << 20), 1 << 20, 0 } } },
};

static void
test_order_of_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct order_case *c = &cases[i];
		struct offsets o;
		struct record r;
		offsets_init(&o, &c->config);
		for (size_t k = 0; k < c->count; k++) {
			const struct expected *want = &c->records[k];
			if (!offsets_next(&o, &r) || r.offset != want->offset || r.length != want->length ||
			    r.round != want->round)
				fail_msg("%s: record %zu: got %llu+%u round %llu, wanted %llu+%u round %llu", c->name,
				    k, (unsigned long long)r.offset, r.length, (unsigned long long)r.round,
				    (unsigned long long)want->offset, want->length, (unsigned long long)want->round);
		}
		if (offsets_next(&o, &r))
			fail_msg("%s: goes on after its bound", c->name);
	}
}

/* The places that an order goes to, as record numbers. */
static void
check_order(const char *name, const struct offsets_config *config, const uint64_t *want, size_t count)
{
	struct offsets o;
	struct record r;

	offsets_init(&o, config);
	for (size_t i = 0; i < count; i++)
		if (!offsets_next(&o, &r) || r.offset != want[i] * config->record)
			fail_msg("%s: number %zu is record %llu, wanted %llu", name, i,
			    (unsigned long long)(r.offset / config->record), (unsigned long long)want[i]);
}

static void
test_stride_goes_as_iozone_does(void **state)
{
	static const uint64_t of_40[] = { 0, 17, 34, 1, 18, 35, 2, 19, 36, 3 };
	static const uint64_t of_17[] = { 0, 0, 0, 0, 0 };
	struct offsets_config c = {
		.record = 512, .length = 40 * 512, .bound = OFFSETS_NO_BOUND, .order = OFFSETS_STRIDE, .stride = 17
	};

	(void)state;
	check_order("40 records, stride 17", &c, of_40, ARRAY_LEN(of_40));
	c.length = 17 * 512;
	check_order("as many records as the stride", &c, of_17, ARRAY_LEN(of_17));
	c.length = 512;
	check_order("one record", &c, of_17, ARRAY_LEN(of_17));
}

static void
test_backward_and_fixed(void **state)
{
	static const uint64_t backward[] = { 3, 2, 1, 0, 3, 2 }, fixed[] = { 0, 0, 0, 0, 0 };
	struct offsets_config c = {
		.record = 100, .length = 350, .bound = OFFSETS_NO_BOUND, .order = OFFSETS_BACKWARD
	};
	struct offsets o;
	struct record r;

	(void)state;
	check_order("backward", &c, backward, ARRAY_LEN(backward));
	offsets_init(&o, &c);
	assert_true(offsets_next(&o, &r));
	assert_int_equal(r.length, 50); /* the short last record comes first */
	c.order = OFFSETS_FIXED;
	check_order("fixed", &c, fixed, ARRAY_LEN(fixed));
}

/* Drawn with repeats, about a third (1/e) of the records is missed in a round, and nothing lies outside. */
static void
test_repeats_miss_some(void **state)
{
	struct offsets_config c = {
		.record = 10, .length = 10000, .bound = OFFSETS_NO_BOUND, .order = OFFSETS_REPEATS, .seed = 5
	};
	bool seen[1000] = { false };
	size_t missed = 0;
	struct offsets o;
	struct record r;

	(void)state;
	offsets_init(&o, &c);
	for (size_t i = 0; i < 1000; i++) {
		assert_true(offsets_next(&o, &r));
		assert_true(r.offset < 10000);
		seen[r.offset / 10] = true;
	}
	for (size_t i = 0; i < 1000; i++)
		missed += !seen[i];
	assert_in_range(missed, 300, 440);
}

static void
test_random_rounds_differ_and_are_whole(void **state)
{
	struct offsets_config config = { .base = 4096,
		.length = 100 * 512 + 7,
		.record = 512,
		.bound = OFFSETS_NO_BOUND,
		.order = OFFSETS_RANDOM,
		.seed = 3 };
	uint64_t rounds[3][101];
	struct offsets o;
	struct record r;

	(void)state;
	offsets_init(&o, &config);
	for (size_t round = 0; round < 3; round++) {
		bool seen[101] = { false };
		for (size_t i = 0; i < 101; i++) {
			assert_true(offsets_next(&o, &r));
			assert_int_equal(r.round, round);
			uint64_t index = (r.offset - 4096) / 512;
			assert_false(seen[index]);
			seen[index] = true;
			assert_int_equal(r.length, index == 100 ? 7 : 512);
			rounds[round][i] = index;
		}
	}
	assert_memory_not_equal(rounds[0], rounds[1], sizeof(rounds[0]));
	assert_memory_not_equal(rounds[1], rounds[2], sizeof(rounds[0]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permutation_visits_each_once),
		cmocka_unit_test(test_permutation_holds_for_large_counts),
		cmocka_unit_test(test_permutation_depends_on_seed),
		cmocka_unit_test(test_order_of_records),
		cmocka_unit_test(test_stride_goes_as_iozone_does),
		cmocka_unit_test(test_backward_and_fixed),
		cmocka_unit_test(test_repeats_miss_some),
		cmocka_unit_test(test_random_rounds_differ_and_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
