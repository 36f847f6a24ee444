/*
 * The agent's configuration: from agent.conf and the command line, checked as far as it can be without touching a volume.
 */
#ifndef LS_AGENT_DAEMON_CONFIG_H
#define LS_AGENT_DAEMON_CONFIG_H

#include <stdio.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/base/log.h"
#include "common/conf/conf_args.h"

#define AGENT_CONFIG_SECTION "agent"
#define AGENT_SPOOL_DEFAULT  "/var/lib/lockstep-agent"

#include "common/base/field_decl.h"
#include "agent/daemon/config.def"
#include "common/base/field_undef.h"

/*
 * What the command line asks for (conf_args_load, with the installed agent.conf as the usual file). Relative paths of files become
 * absolute by the present directory, an empty runner becomes the one found. out is uninitialised; on success the caller ends it
 * with agent_config_fini. Errors: LS_E_INVALID, LS_E_RANGE, LS_E_SYS.
 */
enum ls_rc agent_config_load(const struct conf_args *args, struct agent_config *out, struct ls_err *err) LS_MUST_CHECK;
void agent_config_fini(struct agent_config *config);

/*
 * Checks what a running agent needs: a coordinator's address, allow entries in the right form. Opens nothing on a volume.
 * Errors: LS_E_INVALID, the sentence names the key.
 */
enum ls_rc agent_config_check(const struct agent_config *config, struct ls_err *err) LS_MUST_CHECK;

/* The text of --help, with the keys from their table. */
void agent_config_print_help(FILE *out);

#endif
