/*
 * Which record of its part a worker goes to next: one of several orders, each with O(1) memory for any number of records. The
 * random order in which each record comes once before any comes again is a permutation computed record by record (a Feistel
 * network over the next power of two; what falls outside is sent through once more). No I/O, no clock.
 */
#ifndef LS_AGENT_ENGINE_OFFSETS_H
#define LS_AGENT_ENGINE_OFFSETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/engine/zipf.h"
#include "proto/model/phase_work.h"

/* A random order of 0..count-1. */
struct permutation {
	uint64_t count;
	unsigned low_bits, high_bits;
	uint64_t keys[4];
};

/* count >= 1; the same seed gives the same order. */
void permutation_init(struct permutation *p, uint64_t count, uint64_t seed);

/* The i-th of the order, i < count. Bijective. */
uint64_t permutation_at(const struct permutation *p, uint64_t i);

/* One splitmix64 step of x: a cheap hash whose bits all depend on all of x. */
uint64_t offsets_mix(uint64_t x);

#define OFFSETS_NO_BOUND UINT64_MAX

/* A round is as many records as the part has, whatever the order. */
enum offsets_order {
	OFFSETS_FORWARD = 0,
	OFFSETS_RANDOM,  /* each once before any comes again */
	OFFSETS_REPEATS, /* each drawn anew, so that some come twice and others not at all */
	OFFSETS_ZIPF,    /* the same, some far more often than others */
	OFFSETS_BACKWARD,
	OFFSETS_STRIDE,  /* stride records on, at the end back to the start and one further: iozone's stride read */
	OFFSETS_FIXED,   /* the first one, again and again */
	OFFSETS_TICKETS, /* drawn anew, by tickets that several workers take from one pile until it is empty */
};

struct offsets_config {
	uint64_t base, length; /* the part, bytes; length >= 1 */
	uint64_t record;       /* bytes, >= 1; the last record of the part is what remains */
	uint64_t step;         /* bytes from one record to the next in the file; 0: record, they lie side by side */
	uint64_t first_round;  /* the number of the first round */
	uint64_t bound;        /* bytes handed out at the most, going round the part; the last record is cut to fit */
	enum offsets_order order;
	uint64_t stride;           /* records, for OFFSETS_STRIDE; >= 1 */
	uint64_t seed;             /* of random orders; each round has its own */
	_Atomic uint64_t *tickets; /* OFFSETS_TICKETS: how many have been taken; borrowed, shared */
	uint64_t ticket_count;
	double theta; /* OFFSETS_ZIPF */
	/* Where count is not 0: a record is worked on in part, at a multiple of a size that is drawn by weight. Borrowed. */
	const struct phase_size *sizes;
	size_t size_count;
};

struct offsets {
	struct offsets_config config;
	uint64_t records;
	uint64_t round, index;
	uint64_t left;            /* of the bound */
	uint64_t at, restarts;    /* OFFSETS_STRIDE: the next record, how often it went back to the start */
	struct permutation order; /* of a random order; OFFSETS_ZIPF: which records are wanted most */
	struct zipf zipf;
	uint64_t random, size_random; /* states of draws */
	uint64_t weights;             /* of all sizes */
};

struct record {
	uint64_t offset;
	uint32_t length; /* >= 1 */
	uint64_t round;
	uint64_t ticket; /* OFFSETS_TICKETS: a random number, which chose the record */
};

/* At the first record of what config (copied) describes. */
void offsets_init(struct offsets *o, const struct offsets_config *config);

/* How many records offsets_next has given so far. */
static inline uint64_t
offsets_handed_out(const struct offsets *o)
{
	return (o->round - o->config.first_round) * o->records + o->index;
}

/* The next record, or false when the bound is reached. */
bool offsets_next(struct offsets *o, struct record *out);

#endif
