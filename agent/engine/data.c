#include "agent/engine/data.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/offsets.h"
#include "common/base/clock.h"
#include "common/base/crc32c.h"
#include "common/base/mem.h"

_Static_assert(sizeof(struct data_stamp) == 64, "the stamp's layout is read by verifiers");
_Static_assert(offsetof(struct data_stamp, crc) == 60, "the sum is the stamp's last member");

uint64_t
data_writer(uint64_t node_index, uint32_t worker)
{
	return node_index << 32 | worker;
}

uint64_t
data_generation(uint64_t epoch, uint64_t round)
{
	return epoch << 32 | (round & UINT32_MAX);
}

uint64_t
data_file(unsigned layout, uint64_t number, uint64_t of_many)
{
	/* 4,096 nodes with 4,096 workers each. */
	return (uint64_t)layout << 56 | (of_many & UINT32_MAX) << 24 | (number & 0xffffff);
}

int64_t
data_wall_offset_ns(void)
{
	int64_t before = ls_mono_now().ns;
	int64_t wall = ls_wall_now().ns;

	return wall - (before + ls_mono_now().ns) / 2;
}

uint32_t
data_stamp_crc(const struct data_stamp *stamp, uint32_t rest)
{
	return crc32c(rest, stamp, offsetof(struct data_stamp, crc));
}

/* The sum of what follows the stamp of a block with so much room: known where the block is one of the pool's own. */
static uint32_t
rest_of(const struct data_pool *pool, const unsigned char *at, size_t room)
{
	if (pool != NULL && room == DATA_BLOCK) {
		size_t place = (size_t)(at - pool->memory);
		if (place % DATA_BLOCK == 0)
			return pool->rest[place / DATA_BLOCK];
	}
	return crc32c(0, at + sizeof(struct data_stamp), room - sizeof(struct data_stamp));
}

static void
put_stamp(const struct data_source *source, unsigned char *at, size_t room, uint64_t offset, uint64_t generation)
{
	struct data_stamp stamp = {
		.magic = DATA_MAGIC,
		.run = source->seed,
		.file = source->file,
		.offset = offset,
		.writer = source->writer,
		.generation = generation,
		.time_ns = source->now_ns + source->wall_ns,
		.length = (uint32_t)(source->sums ? room : sizeof(stamp)),
	};

	if (room < sizeof(stamp)) {
		memcpy(at, &stamp, room);
		return;
	}
	stamp.crc = data_stamp_crc(&stamp, source->sums ? rest_of(source->pool, at, room) : 0);
	memcpy(at, &stamp, sizeof(stamp));
}

/* Copies have no stamp: they would not be copies then. Only whole blocks of the pool are any. */
static bool
is_copy(const struct data_pool *pool, const unsigned char *at)
{
	return pool != NULL && data_is_copy(&pool->pattern, (size_t)(at - pool->memory) / DATA_BLOCK);
}

void
data_stamp_record(const struct data_source *source, void *record, uint64_t offset, size_t length, uint64_t round)
{
	uint64_t generation = data_generation(source->epoch, round);
	unsigned char *bytes = record;
	size_t at = 0;

	while (at < length) {
		size_t room = LS_MIN(DATA_BLOCK - (size_t)((offset + at) % DATA_BLOCK), length - at);
		if (!is_copy(source->pool, bytes + at))
			put_stamp(source, bytes + at, room, offset + at, generation);
		at += room;
	}
}

void
data_fill(void *memory, size_t length, uint64_t stream)
{
	uint64_t *words = memory;
	uint64_t base = offsets_mix(stream);
	size_t n = length / sizeof(uint64_t);

	/* Each word is a function of its place alone: no chain that would hold the processor up. */
	for (size_t i = 0; i < n; i++)
		words[i] = offsets_mix(base + i * 0x9e3779b97f4a7c15ULL);

	uint64_t last = offsets_mix(base + n * 0x9e3779b97f4a7c15ULL);
	memcpy((unsigned char *)memory + n * sizeof(uint64_t), &last, length % sizeof(uint64_t));
}

/* Block i of the pool, from its pattern alone. */
static void
fill_block(struct data_pool *pool, size_t i)
{
	const struct data_pattern *p = &pool->pattern;
	unsigned char *block = pool->memory + i * DATA_BLOCK;
	/* Which copy: one after the other, by how many there were before. */
	bool copy = data_is_copy(p, i);
	uint64_t number = copy ? i * p->duplicate / 100 % DATA_COPIES : i;
	size_t zeros = (size_t)DATA_BLOCK * p->compress / 100;

	data_fill(block, DATA_BLOCK, offsets_mix(copy ? p->common : p->stream) + number);
	zeros = LS_MIN(zeros, DATA_BLOCK - sizeof(struct data_stamp));
	memset(block + DATA_BLOCK - zeros, 0, zeros);
	pool->rest[i] = crc32c(0, block + sizeof(struct data_stamp), DATA_BLOCK - sizeof(struct data_stamp));
}

static bool
same_pattern(const struct data_pattern *a, const struct data_pattern *b)
{
	return a->stream == b->stream && a->common == b->common && a->compress == b->compress &&
	    a->duplicate == b->duplicate;
}

static enum ls_rc
grow(struct data_pool *pool, size_t size, size_t alignment, struct ls_err *err)
{
	void *memory = NULL;

	data_pool_free(pool);
	size = (size + alignment - 1) / alignment * alignment;
	pool->rest = ls_try_calloc(size / DATA_BLOCK, sizeof(*pool->rest));
	if (pool->rest == NULL || posix_memalign(&memory, alignment, size) != 0) {
		data_pool_free(pool);
		return ls_err_set(err, LS_E_NOMEM, "no memory for %zu bytes of buffers", size);
	}
	pool->memory = memory;
	pool->size = size;
	return LS_OK;
}

enum ls_rc
data_pool_need(
    struct data_pool *pool, size_t size, size_t alignment, const struct data_pattern *pattern, struct ls_err *err)
{
	if (size > pool->size) {
		enum ls_rc rc = grow(pool, size, alignment, err);
		if (rc != LS_OK)
			return rc;
	}
	if (!same_pattern(&pool->pattern, pattern))
		pool->good = 0;
	pool->pattern = *pattern;
	if (size <= pool->good)
		return LS_OK;
	for (size_t i = pool->good / DATA_BLOCK; i < pool->size / DATA_BLOCK; i++)
		fill_block(pool, i);
	pool->good = pool->size;
	return LS_OK;
}

void
data_pool_spoil(struct data_pool *pool, size_t good)
{
	pool->good = LS_MIN(pool->good, good);
}

void
data_pool_free(struct data_pool *pool)
{
	free(pool->memory);
	free(pool->rest);
	pool->memory = NULL;
	pool->rest = NULL;
	pool->size = pool->good = 0;
}
