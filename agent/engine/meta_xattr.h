/*
 * Extended attributes of files, user.lockstep. Their calls know no directory descriptor, so that a worker of such a phase makes
 * its files' directory the working directory of its thread.
 */
#ifndef LS_AGENT_ENGINE_META_XATTR_H
#define LS_AGENT_ENGINE_META_XATTR_H

#include <stdbool.h>

struct worker;

/* Value and working directory; meta_disarm takes both back. May be called again. False after worker_fail. */
bool meta_xattr_ready(struct worker *w);

/* Is there such a thing on this volume? And no file has the attribute. False after worker_fail. */
bool meta_xattr_absent(struct worker *w);

/* The same, and all files have it, of the phase's size. False after worker_fail. */
bool meta_xattr_present(struct worker *w);

/* One operation on the present file. False after worker_fail. */
bool meta_xattr_set(struct worker *w);
bool meta_xattr_get(struct worker *w);

#endif
