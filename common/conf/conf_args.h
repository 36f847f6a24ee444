/*
 * The command line that all our daemons share: --config, --set, --check-config, --print-config, --version, --help. A daemon
 * may have one option with a value and one word of its own.
 */
#ifndef LS_COMMON_CONF_CONF_ARGS_H
#define LS_COMMON_CONF_CONF_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/field.h"

/* All texts are argv's. */
struct conf_args {
	const char *file; /* of --config, or NULL */
	const char **set; /* KEY=VALUE of each --set, in order; the list is heap */
	size_t set_count;
	bool check, print, version, help;
	const char *own;  /* value of the daemon's own option, or NULL */
	const char *word; /* the word that is no option, or NULL */
};

/*
 * Parses argv. own_option: the daemon's own, with its dashes, or NULL; own_word: the word that it takes, or NULL. Values stand in
 * the next argument or behind "=". Errors: LS_E_INVALID, the sentence names the argument. End it with conf_args_fini.
 */
enum ls_rc conf_args_parse(int argc, char **argv, const char *own_option, const char *own_word, struct conf_args *out,
    struct ls_err *err) LS_MUST_CHECK;

/* Frees the list, not the texts. */
void conf_args_fini(struct conf_args *args);

/*
 * What the command line asks for: the file (without one usual_file, if that is there, else the defaults) and then each --set.
 * obj is uninitialised; on success the caller ends it with field_struct_fini. Errors: as conf_load, and LS_E_INVALID for a --set
 * without "=".
 */
enum ls_rc conf_args_load(const struct conf_args *args, const char *usual_file, const char *section,
    const struct struct_desc *desc, void *obj, struct ls_err *err) LS_MUST_CHECK;

#endif
