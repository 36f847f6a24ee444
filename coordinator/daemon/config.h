/*
 * Configuration of lockstepd (config.def), from file and command line.
 */
#ifndef LS_COORDINATOR_DAEMON_CONFIG_H
#define LS_COORDINATOR_DAEMON_CONFIG_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/base/log.h"
#include "common/conf/conf_args.h"

#include "common/base/field_decl.h"
#include "coordinator/daemon/config.def"
#include "common/base/field_undef.h"

#define CONFIG_SECTION "lockstepd"

extern const struct option_row config_own_options[]; /* the daemon's own option, for conf_args_parse */

/* The descriptor that --ready-fd names, -1 without it. Errors: LS_E_INVALID. */
enum ls_rc config_ready_fd(const struct conf_args *args, int *out, struct ls_err *err) LS_MUST_CHECK;

/* Does a key have a text? NULL and "" both say that it has none. Pure. */
bool config_is_set(const char *text);

/* Prints the text of --help, from the tables. */
void config_help(void);

/* What the command line asks for, then a check of the whole. out ends with field_struct_fini(&lockstepd_config_desc, out). */
enum ls_rc config_load(const struct conf_args *args, struct lockstepd_config *out, struct ls_err *err) LS_MUST_CHECK;

#endif
