/*
 * What is written: pseudo-random bytes that neither compress nor deduplicate unless the job asks for it, and a stamp in each
 * block that says where it belongs, who wrote it and when, with a sum over the block, so that it can be verified.
 *
 * A worker has a pool of slots, filled once from a random stream of its own. Records take the slots in turn and are
 * written straight out of them after their stamps were renewed in place, outside of the measured time: no copying. What of a
 * block is not stamp stays as it is, so its sum is known from the filling; a stamp's own 60 bytes are added to it.
 */
#ifndef LS_AGENT_ENGINE_DATA_H
#define LS_AGENT_ENGINE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define DATA_BLOCK        4096 /* a stamp at each multiple of this in the file, and at the start of each record */
#define DATA_WORKER_BYTES (128ULL << 10) /* and per worker at least */
#define DATA_NODE_BYTES   (16ULL << 20)  /* random bytes per node at least, where its workers are many */
/*
 * Random bytes per worker: more than zstd -3 (2 MiB) and lz4 (64 KiB) look back, so that no copy is found; not more than that, as
 * what does not stay in the processor's cache makes each write to tmpfs a fifth slower (16 MiB, measured).
 */
#define DATA_WINDOW_BYTES (3ULL << 20)
#define DATA_MAGIC        0x74732d6b636f6c62ULL /* "block-st" in a little-endian file */

/* At the start of a block, in the machine's byte order; cut where the record ends. */
struct data_stamp {
	uint64_t magic;
	uint64_t run;        /* the run's seed: data of another run is known as such */
	uint64_t file;       /* data_file() */
	uint64_t offset;     /* of the stamp in its file */
	uint64_t writer;     /* data_writer() */
	uint64_t generation; /* data_generation() */
	int64_t time_ns;     /* the writer's CLOCK_REALTIME, ns, when it was stamped */
	uint32_t
	    length; /* bytes that the sum covers, this stamp first; only the stamp itself where records are no whole blocks */
	uint32_t crc; /* CRC32C of what of these follows the stamp, then of the stamp up to here */
};

struct data_pool;

/* Who writes, and in which phase: constant while a worker is in it, but for the clock. */
struct data_source {
	uint64_t seed;                /* of the run */
	uint64_t file;                /* data_file() */
	uint64_t writer;              /* data_writer() */
	uint64_t epoch;               /* of the phase's attempt */
	bool sums;                    /* records begin at multiples of DATA_BLOCK: each block is summed up */
	int64_t wall_ns;              /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	int64_t now_ns;               /* CLOCK_MONOTONIC, as last read */
	const struct data_pool *pool; /* what records are written from; NULL: other memory */
};

/* Node and worker in one number, and back. */
uint64_t data_writer(uint64_t node_index, uint32_t worker);

/* Differs for each epoch and each round within it; later ones are greater. */
uint64_t data_generation(uint64_t epoch, uint64_t round);

/* A file of the run: which layout, its number there (struct phase_place), and where workers have many, 1 + its number of those. */
uint64_t data_file(unsigned layout, uint64_t number, uint64_t of_many);

#define DATA_FILE_LAYOUT(file) ((unsigned)((file) >> 56))
#define DATA_FILE_MANY(file)   ((file) >> 24 & UINT32_MAX)
#define DATA_FILE_NUMBER(file) ((file)&0xffffff)

/* CLOCK_REALTIME less CLOCK_MONOTONIC, now. */
int64_t data_wall_offset_ns(void);

/* Puts the stamps of a record that will go to file offset `offset` into its bytes. No system call. */
void data_stamp_record(const struct data_source *source, void *record, uint64_t offset, size_t length, uint64_t round);

/* The sum that a stamp should have, for a block (stamp first) whose sum after the stamp is `rest`. */
uint32_t data_stamp_crc(const struct data_stamp *stamp, uint32_t rest);

/* Fills memory with pseudo-random bytes: byte i depends on the stream's number and i alone. */
void data_fill(void *memory, size_t length, uint64_t stream);

/* What a pool is filled with. */
struct data_pattern {
	uint64_t stream;   /* number of the random stream */
	uint64_t common;   /* that of the blocks which are the same everywhere */
	unsigned compress; /* so many of a hundred bytes of each block are zeros, at its end */
	unsigned
	    duplicate; /* so many of a hundred blocks are copies of one of DATA_COPIES, without a stamp of their own */
};

#define DATA_COPIES 16

/* Memory that is kept from phase to phase and only grows. All zero is empty. */
struct data_pool {
	unsigned char *memory; /* owned; aligned as asked */
	size_t size;
	size_t good;    /* so much from its start is still as filled, stamps excepted */
	uint32_t *rest; /* owned: per block, the sum of what follows the stamp */
	struct data_pattern pattern;
};

/*
 * Makes the pool hold at least size bytes, all of them touched and filled by the pattern. alignment: a power of two, at
 * least DATA_BLOCK, the same at each call. Errors: LS_E_NOMEM, the pool is empty then.
 */
enum ls_rc data_pool_need(struct data_pool *pool, size_t size, size_t alignment, const struct data_pattern *pattern,
    struct ls_err *err) LS_MUST_CHECK;

/* What follows the first good bytes was or will be overwritten with something else. */
void data_pool_spoil(struct data_pool *pool, size_t good);

/* Is the pool's block (number from its start) one of the copies? Spread evenly. */
static inline bool
data_is_copy(const struct data_pattern *pattern, size_t block)
{
	return pattern->duplicate > 0 && (block + 1) * pattern->duplicate / 100 > block * pattern->duplicate / 100;
}

/* Frees what data_pool_need made; the pool is empty then and may be used again. */
void data_pool_free(struct data_pool *pool);

#endif
