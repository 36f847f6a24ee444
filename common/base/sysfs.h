/*
 * Short texts and names out of /sys and /proc. Paths are relative to a root, "" on a node and a directory of files in a test, and begin
 * with a slash. What cannot be read is left out: kernels differ, and so do rights.
 */
#ifndef LS_COMMON_BASE_SYSFS_H
#define LS_COMMON_BASE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/defs.h"

/* First line of a file, trimmed, what is no printable ASCII as question marks. Heap (caller frees), or NULL. At most 512 bytes. */
char *sysfs_line(const char *root, const char *fmt, ...) LS_PRINTF(2, 3);

/* The number that a file begins with; false when there is none. */
bool sysfs_number(uint64_t *out, const char *root, const char *fmt, ...) LS_PRINTF(3, 4);

/* Target of a symbolic link. Heap (caller frees), or NULL. */
char *sysfs_link(const char *root, const char *path);

/* Names in a directory but those with a leading dot, sorted, at most 4096 of them. List and names are the caller's. */
char **sysfs_names(size_t *count, const char *root, const char *fmt, ...) LS_PRINTF(3, 4);
void sysfs_names_free(char **names, size_t count);

#endif
