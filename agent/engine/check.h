/*
 * Are the blocks that were read those that were written? Judged by the stamps in them (data.h): right place, right sum, of this
 * run, and not older than the last pass that is known to have written all of them. Outside of the measured time.
 */
#ifndef LS_AGENT_ENGINE_CHECK_H
#define LS_AGENT_ENGINE_CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/engine/data.h"
#include "agent/engine/offsets.h"
#include "agent/shm/counters.h"
#include "proto/model/results.h"

#define CHECK_LAYOUTS  8  /* more than enum phase_layout has */
#define CHECK_KEPT_MAX 16 /* mismatches per node and phase that are kept with all that is known of them */

/* [begin, end) of a file has been written whole by a generation; nothing older may be there any more. */
struct pass {
	uint64_t file; /* as engine.filled numbers it, and its ranges with it */
	uint64_t begin, end;
	uint64_t generation;
};

/* Of one engine: what it knows of all files, and what was found in the present phase. Any thread. */
struct checks {
	pthread_mutex_t lock;
	const char *run_dir; /* borrowed */
	uint64_t seed;
	struct pass *passes; /* no two of a file overlap */
	size_t pass_count;
	int *kinds; /* by epoch from 1: enum phase_kind that it armed */
	size_t kind_count;
	/* By layout: the kind of the phase that left blocks there which cannot be checked, or -1. */
	int unchecked[CHECK_LAYOUTS];
	struct mismatch kept[CHECK_KEPT_MAX];
	size_t kept_count;
};

/* One worker's in one phase. */
struct check {
	struct checks *all;
	struct shm_worker *shm;
	uint32_t worker;
	const struct data_source *source; /* says which file it reads; borrowed */
	const char *path;                 /* relative to the run's directory; borrowed */
	uint64_t base, step, record,
	    part_begin;     /* where its records are in the file, and where its part begins for passes */
	struct pass *least; /* owned: those that meet its part */
	size_t least_count;
};

/* Empty; run_dir is borrowed for its life. checks_fini ends it. */
void checks_init(struct checks *all, const char *run_dir, uint64_t seed);
void checks_fini(struct checks *all);

/* A phase is armed: the findings of the one before are forgotten, its kind is noted for the epoch. */
void checks_begin(struct checks *all, uint64_t epoch, int kind);

/*
 * The phase of that kind writes into files of the layout: fresh ones, or over what is there; into blocks that can be checked, or
 * not. checks_unchecked: the kind that left blocks there which cannot be checked, or -1.
 */
void checks_note_writer(struct checks *all, unsigned layout, int kind, bool fresh, bool checkable);
int checks_unchecked(struct checks *all, unsigned layout);

/* A pass over [begin, end) of the file is complete. */
void checks_note_pass(struct checks *all, uint64_t file, uint64_t begin, uint64_t end, uint64_t generation);

/* Nothing is known of that file any more. */
void checks_forget_passes(struct checks *all, uint64_t file);

/* What is known of [begin, end) of a file; the caller sets the other members. check_fini ends it. */
void check_init(struct check *c, struct checks *all, uint64_t file, uint64_t begin, uint64_t end);
void check_fini(struct check *c);

/* Judges a record that begins and, but for the file's end, ends at multiples of DATA_BLOCK. Counts in the mapping. */
void check_record(const struct check *c, const unsigned char *data, const struct record *record);

#endif
