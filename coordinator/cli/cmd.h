/*
 * What a command of lockstep is. One file cmd_<name>.c exports one const struct cmd; cmds.c lists them.
 */
#ifndef LS_COORDINATOR_CLI_CMD_H
#define LS_COORDINATOR_CLI_CMD_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/conf/options.h"

/* Exit statuses; documented in every --help. */
enum cli_exit {
	CLI_OK = 0,      /* finished */
	CLI_FAILED = 1,  /* failed or aborted */
	CLI_USAGE = 2,   /* bad command line or job file: nothing was started */
	CLI_REFUSED = 3, /* refused before the start */
	CLI_SLOWER = 4,  /* compare --fail-if-slower: slower than that */
	CLI_MISMATCH =
	    5, /* run: finished, but verification found blocks that are not what was written, or a promise was violated */
};

/* Options that every command takes. Texts are borrowed. */
struct cli {
	const char *server;
	const char *ca, *cert, *key;
	const char *units; /* a name of units_style_names, or NULL */
	bool quiet, verbose, help, version;
};

extern const struct option_row cli_options[];

struct cmd {
	const char *name;
	const char *summary;                 /* one line for the list of commands */
	const char *synopsis;                /* what follows the name in the usage line */
	const char *help;                    /* paragraphs and examples for --help */
	void (*more_help)(struct sink *out); /* what follows from tables, after help; may be NULL */
	const struct option_row *options;
	size_t options_size; /* bytes of the struct that they fill, zeroed before */
	size_t min_words, max_words;
	enum cli_exit (*run)(const struct cli *cli, const void *options, const struct option_texts *words);
};

/* All commands, NULL-terminated. */
extern const struct cmd *const cmds[];

/* The whole program: parses, finds the command, runs it. Returns the exit status. */
enum cli_exit cli_main(int argc, char *const *argv);

/* A remark on standard output, such as that something was done; nothing with --quiet. */
void cli_say(const struct cli *cli, const char *fmt, ...) LS_PRINTF(2, 3);

/* A line on standard error about what goes on; only with --verbose. Keeps control characters from the terminal. */
void cli_trace(const struct cli *cli, const char *fmt, ...) LS_PRINTF(2, 3);

/* One line "lockstep: ..." on standard error; returns status. */
enum cli_exit cli_fail(enum cli_exit status, const char *fmt, ...) LS_PRINTF(2, 3);

/* The same with the sentence of err; status is CLI_USAGE for invalid input, CLI_REFUSED for a refusal, else CLI_FAILED. */
enum cli_exit cli_fail_err(const struct ls_err *err);

#endif
