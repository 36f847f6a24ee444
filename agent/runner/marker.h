/*
 * The text of a run's marker file (marker.def): making and recognising it. Pure but for the wall clock.
 */
#ifndef LS_AGENT_RUNNER_MARKER_H
#define LS_AGENT_RUNNER_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* JSON text of a marker made now. Owned by the caller. */
char *marker_text(const char *run, const char *node, uint64_t node_index);

/* Is that a marker of this run by this node? Anything malformed is not. */
bool marker_names(const char *text, size_t len, const char *run, const char *node);

/*
 * The rest of a marker of this run by this node: its number in the run, and when it was made (heap, the caller's). false, and nothing
 * set, when it is another's or malformed.
 */
bool marker_read(const char *text, size_t len, const char *run, const char *node, uint64_t *node_index, char **created);

#endif
