/*
 * Configuration of the root helper. It decides what an agent can have done as root, so it counts only where no one but root can change it.
 */
#ifndef LS_AGENT_HELPER_CONFIG_H
#define LS_AGENT_HELPER_CONFIG_H

#include <stdio.h>

#include "agent/helper/wire.h"
#include "common/base/err.h"
#include "common/base/field.h"
#include "common/conf/conf_args.h"

#define HELPER_CONFIG_SECTION "helper"
#define HELPER_REMOUNTS_MAX   4 /* with their paths they fit into a packet */

#include "common/base/field_decl.h"
#include "agent/helper/config.def"
#include "common/base/field_undef.h"

/*
 * What the command line asks for (conf_args_load, with the installed helper.conf as the usual file), checked. The file, its folder of
 * drop-ins and what is in that must be root's (or whose the process is) and writable by nobody else. out is uninitialised; on success
 * the caller ends it with field_struct_fini. Errors: LS_E_INVALID, LS_E_RANGE, LS_E_SYS, LS_E_REFUSED.
 */
enum ls_rc helper_config_load(
    const struct conf_args *args, struct helper_config *out, struct ls_err *err) LS_MUST_CHECK;

/* May only root (or who runs this) change that file or directory? No link is followed. Errors: LS_E_SYS, LS_E_REFUSED. */
enum ls_rc helper_config_trusted(const char *path, struct ls_err *err) LS_MUST_CHECK;

/* The text of --help. */
void helper_config_print_help(FILE *out);

#endif
