#include "common/stat/hist.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP (1ULL << HIST_TOP_BIT)

/* xorshift64*: the same values on every machine. */
static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * 2685821657736338717ULL;
}

/* Any magnitude with the same likelihood. */
static uint64_t
random_value(uint64_t *seed)
{
	uint64_t r = next_random(seed);

	return r >> (22 + (next_random(seed) % 42));
}

static struct hist *
new_hist(void)
{
	struct hist *h = malloc(sizeof(*h));

	assert_non_null(h);
	hist_reset(h);
	return h;
}

static void
assert_same(const struct hist *a, const struct hist *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->sum, b->sum);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		assert_int_equal(a->buckets[i], b->buckets[i]);
}

static void
test_buckets_cover_all_values_once_and_in_order(void **state)
{
	(void)state;
	assert_int_equal(hist_bucket_start(0), 0);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t start = hist_bucket_start(i);
		uint64_t end = start + hist_bucket_width(i);

		assert_int_equal(hist_index(start), i);
		assert_int_equal(hist_index(end - 1), i);
		if (i + 1 < HIST_BUCKETS)
			assert_int_equal(hist_bucket_start(i + 1), end);
		else
			assert_true(end == TOP);
	}
	assert_int_equal(hist_index(TOP), HIST_BUCKETS - 1);
	assert_int_equal(hist_index(UINT64_MAX), HIST_BUCKETS - 1);
}

static void
test_a_buckets_middle_is_within_a_128th(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t v = random_value(&seed);
		uint32_t b = hist_index(v);
		uint64_t middle = hist_bucket_start(b) + hist_bucket_width(b) / 2;
		uint64_t off = middle > v ? middle - v : v - middle;

		if (v < TOP && off * 128 > v)
			fail_msg("value %llu: middle %llu", (unsigned long long)v, (unsigned long long)middle);
	}
}

static void
test_the_index_never_falls(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint64_t a = random_value(&seed);
		uint64_t b = random_value(&seed);

		assert_true(a <= b ? hist_index(a) <= hist_index(b) : hist_index(a) >= hist_index(b));
		assert_true(hist_index(a) <= hist_index(a + 1));
	}
}

/* fio's plat_val_to_idx with FIO_IO_U_PLAT_BITS 6, from its documented formula: offset and base of the octave. */
static void
test_the_scheme_is_fios(void **state)
{
	static const struct {
		uint64_t value;
		uint32_t index;
	} cases[] = { { 0, 0 }, { 63, 63 }, { 64, 64 }, { 127, 127 }, { 128, 128 }, { 129, 128 }, { 130, 129 },
		{ 255, 191 }, { 256, 192 }, { 1000, 317 }, { 1000000, 954 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(hist_index(cases[i].value), cases[i].index);
}

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
check_percentiles(const uint64_t *sorted, size_t n, const struct hist *h)
{
	static const struct {
		uint64_t per_100000; /* p in integers, so that the expected rank is exact */
	} ps[] = { { 1 }, { 1000 }, { 7000 }, { 25000 }, { 50000 }, { 90000 }, { 99000 }, { 99900 }, { 99990 },
		{ 100000 } };

	for (size_t i = 0; i < ARRAY_LEN(ps); i++) {
		uint64_t rank = (ps[i].per_100000 * n + 99999) / 100000;
		uint64_t want = sorted[rank - 1];
		uint64_t got = hist_percentile(h, (double)ps[i].per_100000 / 100000);
		uint64_t off = got > want ? got - want : want - got;

		if (off * 128 > want)
			fail_msg("n %zu, p %llu/100000: got %llu, wanted about %llu", n,
			    (unsigned long long)ps[i].per_100000, (unsigned long long)got, (unsigned long long)want);
	}
}

static void
test_percentiles_agree_with_a_sorted_list(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 10, 99, 100, 101, 1000, 5000 };
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint64_t *values = calloc(sizes[i], sizeof(*values));
		struct hist *h = new_hist();

		assert_non_null(values);
		for (size_t j = 0; j < sizes[i]; j++) {
			values[j] = random_value(&seed) % TOP;
			hist_record(h, values[j]);
		}
		qsort(values, sizes[i], sizeof(*values), compare_u64);
		check_percentiles(values, sizes[i], h);
		assert_int_equal(hist_percentile(h, 1), LS_MIN(h->max, hist_percentile(h, 1)));
		free(values);
		free(h);
	}
}

static void
test_percentiles_stay_within_min_and_max(void **state)
{
	struct hist *h = new_hist();

	(void)state;
	hist_record(h, 1000001);
	assert_int_equal(hist_percentile(h, 0.5), 1000001);
	assert_int_equal(hist_percentile(h, 1), 1000001);
	hist_record(h, 1000002);
	assert_in_range(hist_percentile(h, 0.001), 1000001, 1000002);
	assert_in_range(hist_percentile(h, 0), 1000001, 1000002);
	free(h);
}

static void
test_an_empty_histogram_tells_nothing(void **state)
{
	struct hist *h = new_hist();

	(void)state;
	assert_int_equal(hist_percentile(h, 0.5), 0);
	assert_true(isnan(hist_mean(h)));
	assert_true(h->min == UINT64_MAX);
	assert_int_equal(h->max, 0);
	free(h);
}

static void
test_count_sum_min_max_are_exact_beyond_the_top(void **state)
{
	struct hist *h = new_hist();

	(void)state;
	hist_record(h, TOP * 4 + 1);
	hist_record(h, 3);
	assert_int_equal(h->count, 2);
	assert_true(h->sum == TOP * 4 + 4);
	assert_int_equal(h->min, 3);
	assert_true(h->max == TOP * 4 + 1);
	assert_true(fabs(hist_mean(h) - (double)(TOP * 2 + 2)) < 1);
	free(h);
}

static void
test_merging_is_recording_both(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct hist *a = new_hist(), *b = new_hist(), *both = new_hist();

		for (int i = 0; i < 500; i++) {
			uint64_t v = random_value(&seed);

			hist_record(next_random(&seed) % 3 == 0 ? a : b, v);
			hist_record(both, v);
		}
		hist_merge(a, b);
		assert_same(a, both);
		hist_reset(b); /* an empty one adds nothing, not even its min and max */
		hist_merge(a, b);
		assert_same(a, both);
		hist_merge(b, a);
		assert_same(b, both);
		free(a);
		free(b);
		free(both);
	}
}

static void
test_buckets_from_a_document_give_the_same_percentiles(void **state)
{
	struct hist *h = new_hist(), *copy = new_hist();
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 1000; i++)
		hist_record(h, random_value(&seed) % TOP);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		if (h->buckets[i] > 0)
			hist_add_bucket(copy, i, h->buckets[i]);
	assert_int_equal(copy->count, h->count);
	assert_int_equal(copy->sum, 0);
	assert_true(copy->min == UINT64_MAX);
	assert_int_equal(hist_percentile(copy, 0.9), hist_percentile(h, 0.9));
	hist_add_bucket(copy, UINT32_MAX, 2);
	assert_int_equal(copy->buckets[HIST_BUCKETS - 1], h->buckets[HIST_BUCKETS - 1] + 2);
	free(h);
	free(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets_cover_all_values_once_and_in_order),
		cmocka_unit_test(test_a_buckets_middle_is_within_a_128th),
		cmocka_unit_test(test_the_index_never_falls),
		cmocka_unit_test(test_the_scheme_is_fios),
		cmocka_unit_test(test_percentiles_agree_with_a_sorted_list),
		cmocka_unit_test(test_percentiles_stay_within_min_and_max),
		cmocka_unit_test(test_an_empty_histogram_tells_nothing),
		cmocka_unit_test(test_count_sum_min_max_are_exact_beyond_the_top),
		cmocka_unit_test(test_merging_is_recording_both),
		cmocka_unit_test(test_buckets_from_a_document_give_the_same_percentiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
