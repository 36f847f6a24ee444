/*
 * What all phases over files share. Each worker has files 0..n-1 of its own, in a directory of its own or in one that all
 * workers of all nodes use:
 *
 *	private: n<node>/d.<worker>/<number>	shared: shared/d/<number>.<node>.<worker>
 *
 * <number> has 8 hexadecimal digits. Which of them exist is kept from phase to phase (struct meta_range).
 */
#ifndef LS_AGENT_ENGINE_PHASE_META_H
#define LS_AGENT_ENGINE_PHASE_META_H

#include "agent/engine/phase_ops.h"
#include "agent/shm/counters.h"

/*
 * Directory and counters; then all files of the worker are gone (present false) or exactly the phase's ones exist at least
 * (present true). False after worker_fail.
 */
bool meta_arm(struct worker *w, bool present);

/* One operation, on the file w->meta.name in the directory w->meta.dir_fd. False after worker_fail. */
typedef bool (*meta_op)(struct worker *w);

struct meta_loop {
	meta_op op;
	enum shm_call call;  /* that op begins with */
	uint64_t op_bytes;   /* that one operation moves */
	bool goes_round;     /* begins again at the first file until the time is over */
	bool sync_directory; /* a flush that counts: fsync of the directory at the end */
};

/* Runs op over the files in order. Returns how many operations were done. */
uint64_t meta_run(struct worker *w, const struct rusage *cpu, const struct meta_loop *loop);

/* Creates the present file with its data; step as in struct failure. */
bool meta_create_file(struct worker *w, const char *step, bool sync);

/* Fails the worker for the present file. */
bool meta_fail(struct worker *w, const char *step, enum shm_call call, uint64_t offset, int errnum);

/* Untimed: the whole file system, once per node. */
void meta_flush(struct worker *w);
void meta_disarm(struct worker *w);

#endif
