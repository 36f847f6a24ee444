/*
 * The command line that all our daemons share, in a table: --config, --set, --check-config, --print-config, --quiet, --verbose, --version,
 * --help. A daemon may have options in a table of its own, and one word.
 */
#ifndef LS_COMMON_CONF_CONF_ARGS_H
#define LS_COMMON_CONF_CONF_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/conf/options.h"

/* All texts are argv's. */
struct conf_args {
	const char *file;        /* of --config, or NULL */
	struct option_texts set; /* KEY=VALUE of each --set, in order */
	bool check, print, quiet, verbose, version, help;
	const char *own;  /* value of the daemon's own option, where that fills it; or NULL */
	const char *word; /* the word that is no option, or NULL */
};

/*
 * Parses argv. own: rows that fill members of struct conf_args (CONF_OWN_OPTION), or NULL; own_word: the word that it takes, or NULL. Values
 * stand in the next argument or behind "=". Errors: LS_E_INVALID, the sentence names the argument. End it with conf_args_fini.
 */
enum ls_rc conf_args_parse(int argc, char **argv, const struct option_row *own, const char *own_word,
    struct conf_args *out, struct ls_err *err) LS_MUST_CHECK;

/* A table of one option with a value, into conf_args.own. */
#define CONF_OWN_OPTION(name, value, help)                                                                             \
	{                                                                                                              \
		{ name, 0, OPTION_TEXT, offsetof(struct conf_args, own), value, help, 0, 0 },                          \
		{                                                                                                      \
			0                                                                                              \
		}                                                                                                      \
	}

/* Frees the list, not the texts. */
void conf_args_fini(struct conf_args *args);

/* The lines of --help about the options, own ones (or NULL) last. */
void conf_args_help(const struct option_row *own, FILE *out);

/*
 * What the command line asks for: the file (without one usual_file, if that is there, else the defaults) and then each --set; a key
 * log_level becomes error with --quiet and debug with --verbose.
 * obj is uninitialised; on success the caller ends it with field_struct_fini. Errors: as conf_load, and LS_E_INVALID for a --set
 * without "=".
 */
enum ls_rc conf_args_load(const struct conf_args *args, const char *usual_file, const char *section,
    const struct struct_desc *desc, void *obj, struct ls_err *err) LS_MUST_CHECK;

#endif
