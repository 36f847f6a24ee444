/*
 * Daemon configuration: an INI file with one section, read with inih into a struct with a field table. Unknown sections and
 * keys are errors that name file, line and the nearest known key.
 *
 * Lists are given by repeating the key; an empty value empties the list, so that a later file can replace it. Any other key
 * may stand once in a file; the last file wins. An empty value of a key that may be unknown makes it unknown. Text after a
 * blank and a semicolon is a comment, and so are lines that begin with # or ;. A line has at most 198 bytes
 * (inih's own limit); an indented line is a line like any other. Keys that hold structs have no text form.
 */
#ifndef LS_COMMON_CONF_CONF_H
#define LS_COMMON_CONF_CONF_H

#include <stdbool.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/base/field.h"

/*
 * Defaults first, then the file, then the *.conf files of "<path>.d" by name. path NULL: defaults only. obj is
 * uninitialised; on success the caller ends it with field_struct_fini, on error it owns nothing. Keys with FIELD_REQUIRED
 * must be in one of the files. Errors: LS_E_INVALID, LS_E_RANGE, LS_E_SYS.
 */
enum ls_rc conf_load(
    const char *path, const char *section, const struct struct_desc *desc, void *obj, struct ls_err *err) LS_MUST_CHECK;

/*
 * Reads one file's text over what obj holds. where: its name, for errors. given: field_count elements, set to true for each
 * key that is there; or NULL. Errors: as conf_load; obj then holds the lines before the wrong one.
 */
enum ls_rc conf_read(FILE *in, const char *where, const char *section, const struct struct_desc *desc, void *obj,
    bool *given, struct ls_err *err) LS_MUST_CHECK;

/*
 * Sets one key from text, as a line of the file would. where: for errors, such as "file:line". obj is untouched on error.
 * Errors: LS_E_INVALID, LS_E_RANGE, LS_E_LIMIT (too many in a list).
 */
enum ls_rc conf_set(const struct struct_desc *desc, void *obj, const char *key, const char *value, const char *where,
    struct ls_err *err) LS_MUST_CHECK;

/*
 * The configuration as a file that conf_load reads back: with_help puts each key's help, kind and default above it as a
 * comment. Keys that are unknown or empty by default are written as comments.
 */
void conf_print(const char *section, const struct struct_desc *desc, const void *obj, bool with_help, FILE *out);

#endif
