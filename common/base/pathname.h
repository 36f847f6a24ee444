/*
 * Names of files as texts: nothing is looked up on any disk.
 */
#ifndef LS_COMMON_BASE_PATHNAME_H
#define LS_COMMON_BASE_PATHNAME_H

#include <stdbool.h>

/* What is wrong with the form of a path (absolute, no ".", ".." or empty component), or NULL. Static text. Pure. */
const char *pathname_fault(const char *path);

/* Is path the directory itself or something below it, at a component's boundary? Both are well-formed. Pure. */
bool pathname_lies_below(const char *dir, const char *path);

#endif
