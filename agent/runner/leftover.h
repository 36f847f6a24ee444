/*
 * What runs left behind below a path, for "lockstep clean": found by their markers, shown, and removed on demand with the same code that
 * ends a run. Runs by hand in a process of its own, on one machine.
 */
#ifndef LS_AGENT_RUNNER_LEFTOVER_H
#define LS_AGENT_RUNNER_LEFTOVER_H

/*
 * Prints a line for each directory .lockstep-<run> in path, with tabs between:
 *
 *	run, creation of the oldest marker, bytes, files, nodes with a marker (commas between), what is wrong or "-"
 *
 * Only directories with at least one marker that names the directory's run and a node as its file name does, are printed without a
 * problem. Changes nothing. Returns an exit status.
 */
int leftover_list_main(const char *path);

/* Removes the parts of that run for which there is a marker, and the directory when it is empty then. Prints what stayed, a line each. */
int leftover_remove_main(const char *path, const char *run);

#endif
