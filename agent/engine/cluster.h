/*
 * What the phases share in which nodes look at what others did (proto/model/cluster.h says which steps they have). A node has one worker
 * in them. What a step leaves for the next ones of its row is kept here: the number by which files are named, descriptors, counts.
 * Used by the worker's thread alone, but for init and fini.
 *
 * Files lie in shared/c/: <letter><number of the row's first step, hexadecimal>.<what>, so that a void attempt's are never met again.
 */
#ifndef LS_AGENT_ENGINE_CLUSTER_H
#define LS_AGENT_ENGINE_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/tally.h"
#include "agent/engine/path.h"
#include "common/base/defs.h"
#include "proto/model/results.h"

struct worker;

struct cluster {
	/* Of the present step. */
	uint64_t rank, ranks; /* its place among the nodes of the phase, and how many there are */
	struct tally tally;
	struct cluster_node told; /* for the result */
	int dir_fd;               /* shared/c, -1: not open */
	int fd;                   /* the step's file, -1: none */
	char name[PATH_MAX_REL];  /* the present file, below dir_fd */

	/* From step to step. */
	bool kept;
	uint64_t row;        /* struct engine_arm.tag of the step that began it */
	int kept_fd;         /* open or locked for a later step, -1: none */
	uint64_t counted;    /* what this node has counted under locks in the present file */
	unsigned char *room; /* owned, aligned: what is read and what should be there */
	size_t room_size;
};

/* Nothing is open, nothing told. cluster_fini closes and frees all; the next use begins with cluster_init again. */
void cluster_init(struct cluster *c);
/* Ends what cluster_init began. */
void cluster_fini(struct cluster *c);

/* The step begins: nothing told yet, the directory open. first: a new row, what was kept is given up. False after worker_fail. */
bool cluster_begin(struct worker *w, bool first);

/* It ends: descriptors of the step are closed. */
void cluster_end(struct worker *w);

/* After the instant, before the first operation; and after the last one. */
void cluster_go(struct worker *w, const struct rusage *cpu);
void cluster_stop(struct worker *w);

/* An operation begins (its instant), ends. */
int64_t cluster_op(struct worker *w, enum shm_call call);
void cluster_done(struct worker *w, int64_t begin_ns, uint64_t bytes);

/* Has somebody asked the workers to leave? */
bool cluster_stopped(const struct worker *w);

/* Waits until an instant; false when it was stopped. */
bool cluster_wait(struct worker *w, int64_t until_ns);

/* Names the present file: <letter><row>.<number>. */
void cluster_name(struct worker *w, char letter, uint64_t number);

/* The present file, opened below the directory; -1 with errno. */
int cluster_open(struct worker *w, int flags);

/* The present file could not be made, written, locked ...: the worker fails. Returns false. */
bool cluster_fail(struct worker *w, const char *step, enum shm_call call, int errnum);

/* Something was looked at; not as it must be: a sentence says how, with {2} for the run's second node. Returns ok. */
bool cluster_look(struct worker *w, bool ok, const char *fmt, ...) LS_PRINTF(3, 4);

/* It cannot be tried on this volume: the sentence says why. */
void cluster_untested(struct worker *w, const char *fmt, ...) LS_PRINTF(2, 3);

/* Adds to the numbers of the result. */
void cluster_number(struct worker *w, int64_t number);

/* At least so much aligned memory in room. False after worker_fail. */
bool cluster_need_room(struct worker *w, size_t size);

/* Number of the node with that rank in the run's list, from 1, for sentences. */
unsigned cluster_node_number(const struct worker *w, uint64_t rank);

/* Reads up to size bytes from offset; returns bytes (short at the file's end) or -1 with errno. */
ssize_t cluster_read(int fd, void *buf, size_t size, uint64_t offset);

/* Writes all of it, at offset. 0 or an errno. */
int cluster_write(int fd, const void *buf, size_t size, uint64_t offset);

/* Bytes (at least 24) that tell which node made them as its how-manieth thing; the same on all nodes. */
void cluster_make_record(const struct worker *w, uint64_t rank, uint64_t number, void *buf, size_t size);

/* Are they such, whole? Then whose. scratch: as many bytes. */
bool cluster_is_record(
    const struct worker *w, const void *buf, void *scratch, size_t size, uint64_t *out_rank, uint64_t *out_number);

/* Blocks that a node wrote: whose, in which round, where in its file. */
struct cluster_piece {
	uint64_t rank; /* its writer's, or in recovery its index in the run */
	unsigned node; /* its writer's number in the run's list, from 1 */
	uint64_t round, offset;
	size_t size;
};

/* What stands there, stamps with sums included: the same on all nodes. out: size bytes. */
void cluster_make_piece(const struct worker *w, const struct cluster_piece *p, unsigned char *out);

/* Is it a block that belongs there, of whatever round? Then of which, as its stamp says. */
bool cluster_block_round(
    const struct worker *w, const struct cluster_piece *p, const unsigned char *found, uint64_t *out_round);

/* A block (p is it alone) that is not what it should be: looked at and not as it must be, with what it is instead. */
void cluster_tell_block(
    struct worker *w, const struct cluster_piece *p, const unsigned char *found, const unsigned char *wanted);

/* One check of coherence: what is done before and after the instant of each of its steps. arm: false after worker_fail. */
struct cluster_check {
	bool (*arm)(struct worker *w, uint64_t step);
	void (*run)(struct worker *w, uint64_t step);
};

extern const struct cluster_check cluster_check_data, cluster_check_append, cluster_check_excl, cluster_check_rename,
    cluster_check_unlink, cluster_check_truncate, cluster_check_attributes;

#endif
