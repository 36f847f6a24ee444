/*
 * A worker's many files (files_per_worker): n<node>/f.<worker>/<number>, or with several directories
 * n<node>/f.<worker>/<directory>/<number>, evenly spread in the order of numbers. They are worked through one after the other, each
 * from its beginning as the phase's order says; opening (and creating, where the phase makes them) and closing lie within the
 * measured time, between operations, but for the first file, which is open before the instant like a single one.
 *
 * Fresh: no file of such a name is there. Filled: files that this worker has not written are written and synced.
 * Functions for phase_data.c; false after worker_fail.
 */
#ifndef LS_AGENT_ENGINE_FILE_SET_H
#define LS_AGENT_ENGINE_FILE_SET_H

#include <stdbool.h>
#include <stdint.h>

struct worker;

/* Sets w->data.path to the file of that number. */
void file_set_name(struct worker *w, uint64_t number);

/* Directories and files in the state, the first one open for the phase. */
bool file_set_open_fresh(struct worker *w);
bool file_set_open_filled(struct worker *w);

/* Those that are not there are laid out, all closed; with a shift it is only looked whether they are there. */
bool file_set_make_filled(struct worker *w);

/* w->data.job.offsets have been set up for a single file: now they are the first file's. */
void file_set_begin(struct worker *w);

/* All operations. Returns the end of what was timed last, or 0 for that of the last operation. */
int64_t file_set_run(struct worker *w);

/* The untimed flush of what the run wrote. */
void file_set_flush(struct worker *w);

#endif
