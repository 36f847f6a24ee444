/*
 * Configuration of lockstepd (config.def), from file and command line.
 */
#ifndef LS_COORDINATOR_DAEMON_CONFIG_H
#define LS_COORDINATOR_DAEMON_CONFIG_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/base/log.h"

#include "common/base/field_decl.h"
#include "coordinator/daemon/config.def"
#include "common/base/field_undef.h"

#define CONFIG_SECTION "lockstepd"

/* What the command line asks for. */
struct options {
	const char *config; /* file, or NULL: the usual one if it is there */
	const char **set;   /* KEY=VALUE texts, in order; heap */
	size_t set_count;
	bool check_config, print_config, version, help;
	int ready_fd; /* -1: none */
};

/* Parses argv. Errors: LS_E_INVALID. End it with options_fini. */
enum ls_rc options_parse(int argc, char **argv, struct options *out, struct ls_err *err) LS_MUST_CHECK;
void options_fini(struct options *o);

/* The text of --help, from the tables. */
void options_help(void);

/* File, then what --set says, then a check of the whole. out ends with field_struct_fini(&lockstepd_config_desc, out). */
enum ls_rc config_load(const struct options *o, struct lockstepd_config *out, struct ls_err *err) LS_MUST_CHECK;

#endif
