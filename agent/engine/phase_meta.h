/*
 * What all phases over many objects share: the loop over them, what falls into the time, and the state before. A kind is a struct
 * meta_phase; which objects there are stands in meta_set.h.
 */
#ifndef LS_AGENT_ENGINE_PHASE_META_H
#define LS_AGENT_ENGINE_PHASE_META_H

#include "agent/engine/meta_set.h"
#include "agent/engine/phase_ops.h"

/* What `fsync` adds to the time. */
enum meta_flush {
	META_FLUSH_NONE = 0,    /* nothing is changed, or each operation flushes by itself */
	META_FLUSH_DIRECTORIES, /* an fsync of each directory with objects */
	META_FLUSH_VOLUME,      /* syncfs: the inodes were changed, and have no descriptors */
};

struct meta_phase {
	/* One operation on the object w->meta.name below w->meta.dir_fd. False after worker_fail. */
	bool (*op)(struct worker *w);
	/* In place of the loop over op: all operations. Returns how many objects were done. */
	uint64_t (*all)(struct worker *w);
	enum shm_call call;    /* that an operation begins with */
	enum meta_class class; /* of the objects */
	bool fresh;            /* none of them is there before, else all are */
	bool needs_files;      /* the files are there as well, w->meta.files_fd is their directory */
	bool settled;          /* no others are there, and all have names of one kind */
	bool writes_data;      /* an operation moves `size` bytes */
	bool goes_round;       /* with a time: again from the first one on */
	bool changes;          /* the objects, or how many there are */
	enum meta_flush flush;
	/* The objects are in place and the set is this node's: what else must be. NULL: nothing. False after worker_fail. */
	bool (*prepare)(struct worker *w);
	/* Before the start, whoever owns the objects: buffers and the like. NULL: nothing. False after worker_fail. */
	bool (*ready)(struct worker *w);
	/* Notes in w->meta.set what so many operations, and one that failed, have done. NULL: nothing. */
	void (*after)(struct worker *w, uint64_t done);
};

/* struct phase_ops of all kinds of metadata; they find theirs in struct phase_ops. */
bool meta_lay_out(struct worker *w);
bool meta_arm(struct worker *w);
void meta_run(struct worker *w, const struct rusage *cpu);
void meta_flush(struct worker *w); /* untimed: the whole file system, once per node */
void meta_disarm(struct worker *w);

/* For struct meta_phase.after: the operations made objects, or removed them. */
void meta_note_made(struct worker *w, uint64_t done);
void meta_note_removed(struct worker *w, uint64_t done);

/* For struct meta_phase.all: the entries of the directories, one pass or until the time is over; with stat, each is asked for. */
uint64_t meta_read_directories(struct worker *w, bool with_stat);

#define META_OPS(kind)                                                                                                 \
	{                                                                                                              \
		.meta = &(kind), .lay_out = meta_lay_out, .arm = meta_arm, .run = meta_run, .flush = meta_flush,       \
		.disarm = meta_disarm                                                                                  \
	}

#endif
