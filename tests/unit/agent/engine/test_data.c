#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/engine/data.h"

struct stamp_case {
	const char *name;
	uint64_t offset;
	size_t length;
	size_t at[4]; /* where stamps stand in the record; the first is always 0 */
	size_t count;
};

static const struct stamp_case cases[] = {
	{ "one block", 8192, 4096, { 0 }, 1 },
	{ "three blocks", 4096, 3 * 4096, { 0, 4096, 8192 }, 3 },
	{ "less than a block", 4096, 512, { 0 }, 1 },
	{ "begins within a block", 5000, 8192, { 0, 3192, 7288 }, 3 },
	{ "beyond 4 GiB", 1ULL << 40, 8192, { 0, 4096 }, 2 },
};

static void
check_stamp(const char *name, const struct data_source *source, const unsigned char *at, uint64_t offset)
{
	struct data_stamp s;

	memcpy(&s, at, sizeof(s));
	if (s.offset != offset || s.writer != source->writer || s.generation != data_generation(source->epoch, 2) ||
	    s.check != data_check(source->seed, &s))
		fail_msg("%s: no stamp for offset %llu", name, (unsigned long long)offset);
}

static void
test_stamps_stand_at_each_block(void **state)
{
	const struct data_source source = { .seed = 9, .writer = data_writer(3, 1), .epoch = 5 };
	unsigned char *record = malloc(4 * 4096);

	(void)state;
	assert_non_null(record);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct stamp_case *c = &cases[i];
		size_t changed = 0;
		memset(record, 0xee, 4 * 4096);
		data_stamp_record(&source, record, c->offset, c->length, 2);
		for (size_t k = 0; k < c->count; k++)
			check_stamp(c->name, &source, record + c->at[k], c->offset + c->at[k]);
		for (size_t k = 0; k < (size_t)4 * 4096; k++)
			changed += record[k] != 0xee;
		assert_true(changed <= c->count * sizeof(struct data_stamp));
	}
	free(record);
}

static void
test_stamp_is_cut_at_the_records_end(void **state)
{
	const struct data_source source = { .seed = 9, .writer = 1, .epoch = 1 };

	(void)state;
	for (size_t length = 1; length <= 40; length++) {
		unsigned char *record = malloc(length); /* exactly, so that a sanitizer sees what lies behind */
		assert_non_null(record);
		data_stamp_record(&source, record, 4096 - 8, length, 0);
		free(record);
	}
}

static void
test_fill_depends_on_stream_and_place(void **state)
{
	uint64_t a[512], b[512], c[512];
	unsigned ones = 0;

	(void)state;
	data_fill(a, sizeof(a), 1);
	data_fill(b, sizeof(b) - 3, 1);
	data_fill(c, sizeof(c), 2);
	assert_memory_equal(a, b, sizeof(a) - 3);
	for (size_t i = 0; i < 512; i++) {
		assert_int_not_equal(a[i], c[i]);
		ones += (unsigned)__builtin_popcountll(a[i]);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(a[i], a[k]);
	}
	assert_in_range(ones, 512 * 32 - 512, 512 * 32 + 512);
}

static void
test_pool_grows_and_stays(void **state)
{
	struct data_pool pool = { 0 };

	(void)state;
	assert_int_equal(data_pool_need(&pool, 10000, 4096, 1, NULL), LS_OK);
	assert_int_equal(pool.size, 12288);
	assert_int_equal((uintptr_t)pool.memory % 4096, 0);
	unsigned char *before = pool.memory;
	assert_int_equal(data_pool_need(&pool, 4096, 4096, 1, NULL), LS_OK);
	assert_ptr_equal(pool.memory, before);
	assert_int_equal(data_pool_need(&pool, 1 << 20, 4096, 1, NULL), LS_OK);
	assert_int_equal(pool.size, 1 << 20);
	data_pool_free(&pool);
	assert_null(pool.memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamps_stand_at_each_block),
		cmocka_unit_test(test_stamp_is_cut_at_the_records_end),
		cmocka_unit_test(test_fill_depends_on_stream_and_place),
		cmocka_unit_test(test_pool_grows_and_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
