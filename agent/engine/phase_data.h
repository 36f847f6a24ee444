/*
 * What all phases over the contents of files share: they differ in direction, order and the state of the files. Functions as
 * in struct phase_ops, for use in its tables.
 */
#ifndef LS_AGENT_ENGINE_PHASE_DATA_H
#define LS_AGENT_ENGINE_PHASE_DATA_H

#include "agent/engine/io.h"
#include "agent/engine/phase_ops.h"

struct data_traits {
	bool write;
	bool fresh; /* makes its files itself */
	enum offsets_order order;
	unsigned read_percent;      /* of a writing phase: so many of its operations are reads */
	bool update;                /* its operations are updates, unless seeks */
	bool seeks;                 /* bonnie++'s: over the whole file, by the node's tickets, some of them updates */
	bool bonnie;                /* the flush (from 1.97 on) and the close count, whatever the job says */
	uint64_t bound;             /* bytes at the most where the job names no other bound; 0: none */
	const struct io_engine *io; /* NULL: the one that the job names */
};

/* The steps of struct phase_ops for a phase with these traits; false: failed, and the failure is noted. */
bool data_lay_out(struct worker *w);
bool data_arm(struct worker *w, const struct data_traits *traits);
void data_run(struct worker *w, const struct rusage *cpu);
/* A lock of the whole file, where the phase asks for one; false after worker_fail. */
bool data_lock_file(struct worker *w);
void data_unlock_file(struct worker *w);

/* The operation that ended the run is told as the worker's failure. */
void data_fail_io(struct worker *w);
/* Stamps name the worker's present file from here on. */
void data_name_file(struct worker *w);
void data_flush(struct worker *w);
void data_disarm(struct worker *w);

#endif
