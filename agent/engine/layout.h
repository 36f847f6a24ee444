/*
 * The files of phases with data: names, opening, the state that a phase needs before it is timed.
 *
 *	worker: n<node>/data.<worker>	node: n<node>/data	shared: shared/data
 *
 * Fresh ones (write): a file of this node is emptied and synced. In a shared file each worker gives back the blocks of its own
 * segment (hole punching) and a longer file is cut; where the file system cannot punch, the old blocks stay.
 *
 * Filled ones: what this node has not written in this run (or what is no longer there) is written and synced. Without direct
 * I/O it stays in the page cache, as if written by a phase before; with direct I/O it is dropped from it.
 */
#ifndef LS_AGENT_ENGINE_LAYOUT_H
#define LS_AGENT_ENGINE_LAYOUT_H

#include <stdbool.h>

struct worker;

/* Name and number of the worker's file, and its part (phase_place). False after worker_fail. */
bool layout_place(struct worker *w);

/* Brings the part into the state and opens it for the phase: w->data.job.fd. The write pool has been filled. False after worker_fail. */
bool layout_open_fresh(struct worker *w);
bool layout_open_filled(struct worker *w);

#endif
