#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/engine/data.h"
#include "common/base/crc32c.h"
#include "common/base/defs.h"

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
check_stamp(const char *name, const struct data_source *source, const unsigned char *at, uint64_t offset, size_t room)
{
	struct data_stamp s;
	uint32_t length = (uint32_t)(source->sums ? room : sizeof(s));

	memcpy(&s, at, sizeof(s));
	if (s.magic != DATA_MAGIC || s.run != source->seed || s.file != source->file || s.offset != offset ||
	    s.writer != source->writer || s.generation != data_generation(source->epoch, 2) || s.time_ns != 1007 ||
	    s.length != length)
		fail_msg("%s: no stamp for offset %llu", name, (unsigned long long)offset);
	if (s.crc != data_stamp_crc(&s, crc32c(0, at + sizeof(s), length - sizeof(s))))
		fail_msg("%s: wrong sum at offset %llu", name, (unsigned long long)offset);
}

static void
test_stamps_stand_at_each_block(void **state)
{
	struct data_source source = {
		.seed = 9, .file = 4, .writer = data_writer(3, 1), .epoch = 5, .wall_ns = 1000, .now_ns = 7
	};
	unsigned char *record = malloc(4 * 4096);

	(void)state;
	assert_non_null(record);
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		const struct stamp_case *c = &cases[i / 2];
		size_t changed = 0;
		source.sums = i % 2;
		memset(record, 0xee, 4 * 4096);
		data_stamp_record(&source, record, c->offset, c->length, 2);
		for (size_t k = 0; k < c->count; k++)
			check_stamp(c->name, &source, record + c->at[k], c->offset + c->at[k],
			    (k + 1 < c->count ? c->at[k + 1] : c->length) - c->at[k]);
		for (size_t k = 0; k < (size_t)4 * 4096; k++)
			changed += record[k] != 0xee;
		assert_true(changed <= c->count * sizeof(struct data_stamp));
	}
	free(record);
}

static void
test_stamp_is_cut_at_the_records_end(void **state)
{
	struct data_source source = { .seed = 9, .writer = 1, .epoch = 1 };

	(void)state;
	for (size_t length = 1; length <= 80; length++) {
		unsigned char *record = malloc(length); /* exactly, so that a sanitizer sees what lies behind */
		assert_non_null(record);
		memset(record, 0, length);
		source.sums = length % 2;
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

static const struct data_pattern plain = { .stream = 1, .common = 2 };

static void
test_pool_grows_and_stays(void **state)
{
	struct data_pool pool = { 0 };

	(void)state;
	assert_int_equal(data_pool_need(&pool, 10000, 4096, &plain, NULL), LS_OK);
	assert_int_equal(pool.size, 12288);
	assert_int_equal((uintptr_t)pool.memory % 4096, 0);
	unsigned char *before = pool.memory;
	assert_int_equal(data_pool_need(&pool, 4096, 4096, &plain, NULL), LS_OK);
	assert_ptr_equal(pool.memory, before);
	assert_int_equal(data_pool_need(&pool, 1 << 20, 4096, &plain, NULL), LS_OK);
	assert_int_equal(pool.size, 1 << 20);
	data_pool_free(&pool);
	assert_null(pool.memory);
}

/* Sums of whole blocks come from the filling: they must be those of what is there, after phases that wrote elsewhere, too. */
static void
test_pool_knows_the_sums_of_its_blocks(void **state)
{
	struct data_pool pool = { 0 };
	struct data_source source = {
		.seed = 1, .file = 2, .writer = 3, .epoch = 5, .wall_ns = 1000, .now_ns = 7, .sums = true
	};

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		const struct data_pattern pattern = { .stream = 1, .common = 2, .compress = turn == 2 ? 40 : 0 };
		assert_int_equal(data_pool_need(&pool, 16 * 4096, 4096, &pattern, NULL), LS_OK);
		source.pool = &pool;
		data_stamp_record(&source, pool.memory, 1 << 20, 16 * 4096, 2);
		for (size_t i = 0; i < 16; i++)
			check_stamp("pool", &source, pool.memory + i * 4096, (1 << 20) + i * 4096, 4096);
		/* What reading does behind the slots. */
		memset(pool.memory + 4 * 4096, turn, 12 * 4096);
		data_pool_spoil(&pool, 4 * 4096);
	}
	data_pool_free(&pool);
}

static void
test_copies_and_zeros_have_their_share(void **state)
{
	static const unsigned shares[] = { 0, 1, 25, 50, 99, 100 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		const struct data_pattern pattern = {
			.stream = 1, .common = 2, .compress = shares[i], .duplicate = shares[i]
		};
		struct data_pool pool = { 0 };
		const struct data_source source = { .seed = 1, .sums = true, .pool = &pool };
		size_t copies = 0, zeros = 0;
		assert_int_equal(data_pool_need(&pool, 1000 * 4096, 4096, &pattern, NULL), LS_OK);
		data_stamp_record(&source, pool.memory, 0, 1000 * 4096, 0);
		for (size_t b = 0; b < 1000; b++) {
			uint64_t magic;
			memcpy(&magic, pool.memory + b * 4096, sizeof(magic));
			copies += magic != DATA_MAGIC;
			for (size_t k = 64; k < 4096; k++)
				zeros += pool.memory[b * 4096 + k] == 0;
		}
		assert_int_equal(copies, shares[i] * 10);
		/* One of 256 random bytes is zero, too. */
		double want = 4096 * 1000 * (shares[i] / 100. + (1 - shares[i] / 100.) / 256);
		assert_in_range(zeros, want * 0.97 - 64000. * shares[i] / 100, want * 1.03 + 4000);
		data_pool_free(&pool);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stamps_stand_at_each_block),
		cmocka_unit_test(test_stamp_is_cut_at_the_records_end),
		cmocka_unit_test(test_fill_depends_on_stream_and_place),
		cmocka_unit_test(test_pool_grows_and_stays),
		cmocka_unit_test(test_pool_knows_the_sums_of_its_blocks),
		cmocka_unit_test(test_copies_and_zeros_have_their_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
