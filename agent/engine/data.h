/*
 * What is written: pseudo-random bytes that neither compress nor deduplicate, and a stamp in each block that says where it
 * belongs, who wrote it and when, so that it can be verified from outside.
 *
 * A worker has a pool of slots, filled once from a random stream of its own. Records take the slots in turn and are
 * written straight out of them after their stamps were renewed in place, outside of the measured time: no copying.
 */
#ifndef LS_AGENT_ENGINE_DATA_H
#define LS_AGENT_ENGINE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define DATA_BLOCK        4096 /* a stamp at each multiple of this in the file, and at the start of each record */
#define DATA_WORKER_BYTES (128ULL << 10) /* and per worker at least */
#define DATA_NODE_BYTES   (16ULL << 20)  /* random bytes per node: more than a compressor's usual window */

/* At the start of a block, in the machine's byte order; cut where the record ends. */
struct data_stamp {
	uint64_t offset;     /* of the stamp in its file */
	uint64_t writer;     /* data_writer() */
	uint64_t generation; /* data_generation() */
	uint64_t check;      /* data_check() */
};

/* Who writes, and in which phase: constant while a worker is in it. */
struct data_source {
	uint64_t seed;   /* of the run */
	uint64_t writer; /* data_writer() */
	uint64_t epoch;  /* of the phase's attempt */
};

/* Node and worker in one number. */
uint64_t data_writer(uint64_t node_index, uint32_t worker);

/* Differs for each epoch and each round within it. */
uint64_t data_generation(uint64_t epoch, uint64_t round);

/* Hash over the three members and the run's seed. */
uint64_t data_check(uint64_t seed, const struct data_stamp *stamp);

/* Puts the stamps of a record that will go to file offset `offset` into its bytes. No system call. */
void data_stamp_record(const struct data_source *source, void *record, uint64_t offset, size_t length, uint64_t round);

/* Fills memory with pseudo-random bytes: byte i depends on the stream's number and i alone. */
void data_fill(void *memory, size_t length, uint64_t stream);

/* Memory that is kept from phase to phase and only grows. All zero is empty. */
struct data_pool {
	unsigned char *memory; /* owned; aligned as asked */
	size_t size;
};

/*
 * Makes the pool hold at least size bytes, all of them touched: random ones of that stream. alignment: a power of two, at
 * least the page's, the same at each call. Errors: LS_E_NOMEM, the pool is empty then.
 */
enum ls_rc data_pool_need(
    struct data_pool *pool, size_t size, size_t alignment, uint64_t stream, struct ls_err *err) LS_MUST_CHECK;

/* Frees what data_pool_need made; the pool is empty then and may be used again. */
void data_pool_free(struct data_pool *pool);

#endif
