/*
 * Which bytes of which files this node has written in this run, so that a phase knows what it must lay out. Ranges that touch
 * are one. Guarded by its own lock: any thread.
 */
#ifndef LS_AGENT_ENGINE_FILLED_H
#define LS_AGENT_ENGINE_FILLED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filled_range {
	uint64_t file; /* the owner's number for it */
	uint64_t begin, end;
};

struct filled {
	pthread_mutex_t lock;
	struct filled_range *ranges; /* no two of a file overlap or touch */
	size_t count, size;
};

/* Nothing filled; filled_fini frees the ranges. */
void filled_init(struct filled *f);
void filled_fini(struct filled *f);

/* [begin, end) of the file has been written; nothing if it is empty. */
void filled_add(struct filled *f, uint64_t file, uint64_t begin, uint64_t end);

/* [begin, end) is no longer known to be written. */
void filled_drop(struct filled *f, uint64_t file, uint64_t begin, uint64_t end);

/* Was all of [begin, end) written? */
bool filled_covers(struct filled *f, uint64_t file, uint64_t begin, uint64_t end);

#endif
