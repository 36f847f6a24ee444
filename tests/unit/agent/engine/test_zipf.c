/* The distribution that is promised, against its formula. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "agent/engine/offsets.h"
#include "common/base/defs.h"

#define DRAWS 400000

struct zipf_case {
	uint64_t count;
	double theta;
};

static const struct zipf_case cases[] = { { 1, 1.2 }, { 2, 0.5 }, { 10, 0.99 }, { 100, 1 }, { 1000, 1.2 },
	{ 1000, 0.2 }, { 50, 3 }, { 1000000, 0.8 } };

/*
 * Pearson's test over the first numbers and the rest together. With c cells and so many draws the statistic is near c - 1, its
 * standard deviation the root of 2 (c - 1): 6 of these away happens by chance once in 10^6, and the draws are always the same.
 */
static void
check_case(const struct zipf_case *c)
{
	enum { CELLS = 40 };
	uint64_t seen[CELLS + 1] = { 0 };
	uint64_t random = 12345;
	size_t cells = (size_t)LS_MIN(c->count, (uint64_t)CELLS);
	double all = 0, rest, square = 0;
	struct zipf z;

	zipf_init(&z, c->count, c->theta);
	for (uint64_t k = 1; k <= c->count; k++)
		all += pow((double)k, -c->theta);
	rest = all;
	for (size_t i = 0; i < DRAWS; i++) {
		uint64_t k = zipf_draw(&z, &random);
		assert_in_range(k, 1, c->count);
		seen[k <= cells ? k - 1 : cells]++;
	}
	for (size_t i = 0; i <= cells; i++) {
		double share = i < cells ? pow((double)(i + 1), -c->theta) : rest;
		double want = DRAWS * share / all;
		rest -= i < cells ? share : 0;
		if (want < 1) {
			assert_true(seen[i] < 10);
			continue;
		}
		square += ((double)seen[i] - want) * ((double)seen[i] - want) / want;
	}
	if (square > (double)cells + 6 * sqrt(2 * (double)cells))
		fail_msg("count %llu, theta %g: chi square %g over %zu cells", (unsigned long long)c->count, c->theta,
		    square, cells);
}

static void
test_distribution_is_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_case(&cases[i]);
}

/* The test would see a theta that is off by a hundredth. */
static void
test_the_test_can_fail(void **state)
{
	uint64_t random = 12345, first = 0;
	double all = 0;
	struct zipf z;

	(void)state;
	zipf_init(&z, 1000, 1.01);
	for (size_t i = 0; i < DRAWS; i++)
		first += zipf_draw(&z, &random) == 1;
	for (int k = 1; k <= 1000; k++)
		all += 1. / k;
	double want = DRAWS / all;
	assert_true(((double)first - want) * ((double)first - want) / want > 40);
}

/* Through the order of records: the most wanted ones are drawn as often as they should, and are not neighbours. */
static void
test_records_are_drawn_so(void **state)
{
	struct offsets_config config = { .length = 1000 * 4096,
		.record = 4096,
		.bound = OFFSETS_NO_BOUND,
		.order = OFFSETS_ZIPF,
		.seed = 7,
		.theta = 1 };
	uint64_t seen[1000] = { 0 }, most = 0, second = 0;
	struct offsets o;
	struct record r;
	double all = 0;

	(void)state;
	offsets_init(&o, &config);
	for (size_t i = 0; i < DRAWS; i++) {
		assert_true(offsets_next(&o, &r));
		assert_int_equal(r.length, 4096);
		assert_int_equal(r.offset % 4096, 0);
		seen[r.offset / 4096]++;
	}
	for (uint64_t i = 0; i < 1000; i++) {
		all += 1. / (double)(i + 1);
		if (seen[i] > seen[most]) {
			second = most;
			most = i;
		} else if (i != most && seen[i] > seen[second]) {
			second = i;
		}
	}
	double want = DRAWS / all;
	assert_true(fabs((double)seen[most] - want) < 6 * sqrt(want));
	assert_true(most > second ? most - second > 1 : second - most > 1);
}

/* Shares of sizes, each at a multiple of itself within the record. */
static void
test_sizes_have_their_shares(void **state)
{
	static const struct phase_size sizes[] = { { 4096, 60 }, { 65536, 30 }, { 512, 10 } };
	struct offsets_config config = { .base = 1 << 20,
		.length = 64 * 65536,
		.record = 65536,
		.bound = OFFSETS_NO_BOUND,
		.order = OFFSETS_RANDOM,
		.seed = 7,
		.sizes = sizes,
		.size_count = ARRAY_LEN(sizes) };
	uint64_t seen[ARRAY_LEN(sizes)] = { 0 }, records[64] = { 0 }, places = 0;
	struct offsets o;
	struct record r;

	(void)state;
	offsets_init(&o, &config);
	for (size_t i = 0; i < 64000; i++) {
		size_t k = 0;
		assert_true(offsets_next(&o, &r));
		while (k < ARRAY_LEN(sizes) && sizes[k].bytes != r.length)
			k++;
		assert_true(k < ARRAY_LEN(sizes));
		seen[k]++;
		uint64_t at = r.offset - config.base;
		assert_int_equal(at % r.length, 0);
		records[at / 65536]++;
		assert_true(at % 65536 + r.length <= 65536);
		if (r.length == 4096)
			places |= 1ULL << at % 65536 / 4096;
	}
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		double want = 64000. * (double)sizes[k].weight / 100;
		if (fabs((double)seen[k] - want) >= 6 * sqrt(want))
			fail_msg("size %llu came %llu times, not about %g", (unsigned long long)sizes[k].bytes,
			    (unsigned long long)seen[k], want);
	}
	for (size_t i = 0; i < 64; i++) /* each record once in each round, as without sizes */
		assert_int_equal(records[i], 1000);
	assert_int_equal(places, 0xffff);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distribution_is_exact),
		cmocka_unit_test(test_the_test_can_fail),
		cmocka_unit_test(test_records_are_drawn_so),
		cmocka_unit_test(test_sizes_have_their_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
