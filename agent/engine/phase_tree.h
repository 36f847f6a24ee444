/*
 * bonnie++'s phases over small files. Each worker has a tree of its own, n<node>/b.<worker>/, in it the files or, with more than
 * one directory, 00000/, 00001/ ... with the files. Names, sizes and orders follow from the run's seed, so that a later phase
 * knows them without a list.
 */
#ifndef LS_AGENT_ENGINE_PHASE_TREE_H
#define LS_AGENT_ENGINE_PHASE_TREE_H

#include "agent/engine/phase_ops.h"
#include "agent/engine/tally.h"

/* Longest name of a file with its directory: 5 digits, '/', 10 digits, 12 characters. */
#define TREE_PATH 32

/* What decides how a tree looks. */
struct tree_shape {
	uint64_t files, size, min_size, directories, order, links, semantics;
};

/* One worker's. */
struct tree_state {
	struct tally tally;
	int top_fd;  /* n<node>/ */
	int base_fd; /* b.<worker>/, -1: not there */
	int dir_fd;  /* the directory of the file made last, for its fsync; -1: none */
	uint64_t dir_number;
	bool whole; /* the tree is there as made says */
	struct tree_shape made;
};

/* present: all the files are there; else only the directories, empty. False after worker_fail. */
bool tree_arm(struct worker *w, bool present);

/* One file: name relative to dir_fd. Returns bytes moved, or -1 after worker_fail. */
typedef int64_t (*tree_op)(struct worker *w, int dir_fd, const char *name);

/* The call that an operation begins with, and whether directories go when their files are gone. */
struct tree_loop {
	tree_op op;
	enum shm_call call;
	bool removes;
	bool syncs; /* a sync of the whole volume counts into the time, as in bonnie++ since 1.97 */
};

/* Makes the files in their order: sequential or random phases alike. */
void tree_create(struct worker *w, const struct rusage *cpu);

/* Runs op over all files: in the order of the directories, or of a shuffled list. */
void tree_visit(struct worker *w, const struct rusage *cpu, const struct tree_loop *loop);

/* The file was not treated as wanted: fails the worker and returns -1. */
int64_t tree_fail(struct worker *w, enum shm_call call, const char *name);

/* The same steps of struct phase_ops for all phases on trees. */
void tree_flush(struct worker *w);
void tree_disarm(struct worker *w);

#endif
