/*
 * The directory of a run on the volume, <path>/.lockstep-<run>/, and this node's part of it:
 *
 *	marker.<node>	says which run and node (JSON, marker.def)
 *	token.<node>	proves to the other nodes that they see the same volume
 *	probe.<node>	for a moment: to try direct I/O
 *	fcntl.<node>	in a check, by the first node: to try locks; flock.<node> likewise
 *	n<node_index>/	what this node alone makes
 *	shared/		what all make together
 *
 * The first node makes the directory, the others find it; the last one out removes it. Only what the run made is ever
 * removed. Everything is relative to open directories and follows no link.
 */
#ifndef LS_AGENT_RUNNER_RUNDIR_H
#define LS_AGENT_RUNNER_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/runner/locktest.h"
#include "common/base/err.h"

struct rundir;

struct rundir_id {
	const char *path; /* of the directory that the job names; for messages */
	const char *run;
	const char *node;
	uint64_t node_index;
};

/* May this stand in a file name: 1 to 64 bytes, no slash, no control character, not "." or ".."? Pure. */
bool rundir_name_ok(const char *name);

/*
 * Makes the directory or joins it, and makes this node's part: marker and token durably, its own directory and the shared one.
 * Takes parent_fd (an open directory, O_PATH is enough) over, also on error; the strings of id are copied.
 * A marker that an earlier runner of the same run and node left is taken over, what it had made is removed.
 * Errors: LS_E_INVALID (name), LS_E_SYS, LS_E_REFUSED (the directory is there, but not this run's). Nothing stays
 * behind on error.
 */
enum ls_rc rundir_make(int parent_fd, const struct rundir_id *id, const char *token, struct rundir **out,
    struct ls_err *err) LS_MUST_CHECK;

/*
 * Opens what an earlier runner of this run and node left, in order to remove it. Takes parent_fd over, also on error.
 * Errors: LS_E_NOTFOUND (nothing of this node is there), LS_E_INVALID, LS_E_SYS, LS_E_REFUSED (a foreign marker has our name).
 */
enum ls_rc rundir_find(
    int parent_fd, const struct rundir_id *id, struct rundir **out, struct ls_err *err) LS_MUST_CHECK;

/* The open directory and its whole path; borrowed. */
int rundir_fd(const struct rundir *rd);
const char *rundir_path(const struct rundir *rd);

/*
 * Lets go of the volume, so that it can be unmounted: the descriptors keep their numbers and lead nowhere until rundir_reopen has found the
 * directory again, which must be the same, with our marker. Errors: LS_E_SYS, LS_E_REFUSED.
 */
enum ls_rc rundir_release(struct rundir *rd, struct ls_err *err) LS_MUST_CHECK;
enum ls_rc rundir_reopen(struct rundir *rd, struct ls_err *err) LS_MUST_CHECK;

/* Name in the directory for a file to try things with; cleaning up removes it as well. Borrowed. */
const char *rundir_probe_name(const struct rundir *rd);

/* Name of the file in the directory on which locks of node are tried. Heap, the caller's; NULL when the name cannot be one. */
char *rundir_lock_name(const char *node, enum locktest_kind kind);

/* Has node's token come, with this content? Looks afresh each time: directory and file are opened anew. */
bool rundir_token_seen(const struct rundir *rd, const char *node, const char *token);

/*
 * Removes this node's directory, token and marker; when no marker is left, the shared directory and the whole.
 * keep_files: only the token goes. left: what could not be removed and why, appended to a list that the caller owns; the
 * marker then stays as well, for a later try. No engine may have files open there.
 */
void rundir_clean(struct rundir *rd, bool keep_files, char ***left, size_t *left_count);

/* Frees such a list and empties it. */
void rundir_left_free(char ***left, size_t *left_count);

/* Closes; removes nothing. NULL-safe. */
void rundir_free(struct rundir *rd);

#endif
