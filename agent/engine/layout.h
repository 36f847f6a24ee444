/*
 * The files of phases with data: names, opening, the state that a phase needs before it is timed.
 *
 *	worker: n<node>/data.<worker>	node: n<node>/data	shared: shared/data	interleaved: shared/data.i
 *	many per worker: file_set.h
 *
 * Fresh ones (write): a file of this node is emptied and synced. In a shared file each worker gives back the blocks of its own
 * segment (hole punching) and a longer file is cut; where the file system cannot punch, the old blocks stay. An interleaved
 * one is emptied by the first of all workers: nobody writes before all are armed.
 *
 * Filled ones: what this node has not written in this run (or what is no longer there) is written and synced. Without direct
 * I/O it stays in the page cache, as if written by a phase before; with direct I/O it is dropped from it. With a shift the
 * files are another node's, which has laid them out before.
 */
#ifndef LS_AGENT_ENGINE_LAYOUT_H
#define LS_AGENT_ENGINE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct worker;

/*
 * A new phase, before its workers arm. What is known to be filled of an interleaved file is told in records of one size that
 * go to so many workers; with other ones it is forgotten, and laid out again.
 */
void layout_begin(struct engine *e);

/* Name and number of the worker's file, and its part (phase_place). False after worker_fail. */
bool layout_place(struct worker *w);

/* Brings the part into the state and opens it for the phase: w->data.job.fd. The write pool has been filled. False after worker_fail. */
bool layout_open_fresh(struct worker *w);
bool layout_open_filled(struct worker *w);

/* The part is laid out if it is not there, and the file closed. */
bool layout_make_filled(struct worker *w);

/* The first length bytes of the part have been written. */
void layout_note_filled(struct worker *w, uint64_t length);

/* All of the part has been written by that generation; layout_begin_check: what is read is checked against all that is known. */
void layout_note_pass(struct worker *w, uint64_t generation);
void layout_begin_check(struct worker *w);

/* --- for files that come many to a worker; all tell a failure at the step w->data.step --- */

/* The node's directory, or the one that all share. */
bool layout_make_directory(struct worker *w);

/* Opens w->data.path below the run's directory: a descriptor or -1 with errno. */
int layout_open(struct worker *w, int flags);

/* The same with the flags that the phase asks for on top, into w->data.job.fd. */
bool layout_open_for_phase(struct worker *w, int flags);

/* Writes all of the part to fd, and syncs it. */
bool layout_write_part(struct worker *w, int fd);

#endif
