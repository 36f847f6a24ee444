/*
 * Whole files of the command line: read, and written whole or not at all.
 */
#ifndef LS_COORDINATOR_CLI_FILES_H
#define LS_COORDINATOR_CLI_FILES_H

#include <stddef.h>

#include "common/base/err.h"

/* Reads a regular file or a pipe ("-": standard input), at most 1 GiB. *out is heap, NUL-terminated. Errors: LS_E_SYS, LS_E_LIMIT. */
enum ls_rc file_read(const char *path, char **out, size_t *out_len, struct ls_err *err) LS_MUST_CHECK;

/* Writes a file by way of a temporary one beside it; "-": standard output. Errors: LS_E_SYS. */
enum ls_rc file_write(const char *path, const char *text, size_t len, struct ls_err *err) LS_MUST_CHECK;

/* Could file_write write it, as far as can be told now? Errors: LS_E_SYS. */
enum ls_rc file_check_writable(const char *path, struct ls_err *err) LS_MUST_CHECK;

/* Removes a directory with all that is in it. Does not follow symbolic links. */
void file_remove_tree(const char *path);

#endif
