/*
 * The command line of lockstep-agent.
 */
#ifndef LS_AGENT_DAEMON_OPTIONS_H
#define LS_AGENT_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/err.h"

enum options_command {
	OPTIONS_RUN = 0,
	OPTIONS_STOP, /* end the load of a running agent */
	OPTIONS_CHECK_CONFIG,
	OPTIONS_PRINT_CONFIG,
	OPTIONS_VERSION,
	OPTIONS_HELP,
};

struct options {
	enum options_command command;
	const char *config; /* NULL: the installed one */
	const char **set;   /* "key=value"; owned, its strings are argv's */
	size_t set_count;
};

/* Errors: LS_E_INVALID, the sentence names the argument. */
enum ls_rc options_parse(int argc, char **argv, struct options *out, struct ls_err *err) LS_MUST_CHECK;
void options_fini(struct options *o);

/* The text of --help, with the configuration's keys from their table. */
void options_help(FILE *out);

#endif
