/*
 * Daemon configuration: an INI file with one section, read with inih into a struct with a field table. Lists are given by
 * repeating the key. Unknown sections and keys are errors that name file, line and the nearest known key.
 */
#ifndef LS_COMMON_CONF_CONF_H
#define LS_COMMON_CONF_CONF_H

#include <stdio.h>

#include "common/base/err.h"
#include "common/base/field.h"

/*
 * Defaults first, then the file, then the *.conf files of "<path>.d" by name. path NULL: defaults only. obj is
 * uninitialised; on success the caller ends it with field_struct_fini. Errors: LS_E_INVALID, LS_E_RANGE, LS_E_SYS.
 */
enum ls_rc conf_load(const char *path, const char *section, const struct struct_desc *desc, void *obj, struct ls_err *err)
    LS_MUST_CHECK;

/* Sets one key from text, as a line of the file would. where: for errors. */
enum ls_rc conf_set(const struct struct_desc *desc, void *obj, const char *key, const char *value, const char *where,
    struct ls_err *err) LS_MUST_CHECK;

/* The configuration as a file: with_help puts each key's help, kind and default above it as a comment. */
void conf_print(const char *section, const struct struct_desc *desc, const void *obj, bool with_help, FILE *out);

#endif
