#include "agent/engine/data.h"

#include <stdlib.h>
#include <string.h>

#include "agent/engine/offsets.h"

_Static_assert(sizeof(struct data_stamp) == 32, "the stamp's layout is read by verifiers");

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
data_check(uint64_t seed, const struct data_stamp *stamp)
{
	return offsets_mix(offsets_mix(offsets_mix(seed ^ stamp->offset) ^ stamp->writer) ^ stamp->generation);
}

static void
put_stamp(const struct data_source *source, unsigned char *at, size_t room, uint64_t offset, uint64_t generation)
{
	struct data_stamp stamp = { .offset = offset, .writer = source->writer, .generation = generation };

	stamp.check = data_check(source->seed, &stamp);
	memcpy(at, &stamp, LS_MIN(room, sizeof(stamp)));
}

void
data_stamp_record(const struct data_source *source, void *record, uint64_t offset, size_t length, uint64_t round)
{
	uint64_t generation = data_generation(source->epoch, round);
	unsigned char *bytes = record;
	size_t at = 0;

	while (at < length) {
		put_stamp(source, bytes + at, length - at, offset + at, generation);
		at += DATA_BLOCK - (size_t)((offset + at) % DATA_BLOCK);
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

enum ls_rc
data_pool_need(struct data_pool *pool, size_t size, size_t alignment, uint64_t stream, struct ls_err *err)
{
	void *memory = NULL;

	if (size <= pool->size)
		return LS_OK;
	data_pool_free(pool);
	size = (size + alignment - 1) / alignment * alignment;
	if (posix_memalign(&memory, alignment, size) != 0)
		return ls_err_set(err, LS_E_NOMEM, "no memory for %zu bytes of buffers", size);
	data_fill(memory, size, stream);
	pool->memory = memory;
	pool->size = size;
	return LS_OK;
}

void
data_pool_free(struct data_pool *pool)
{
	free(pool->memory);
	pool->memory = NULL;
	pool->size = 0;
}
