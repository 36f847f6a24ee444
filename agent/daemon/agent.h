/*
 * The agent as a whole: makes its parts, runs the loop, takes them down in reverse.
 */
#ifndef LS_AGENT_DAEMON_AGENT_H
#define LS_AGENT_DAEMON_AGENT_H

#include "agent/daemon/config.h"
#include "common/base/err.h"

struct agent;

/*
 * Everything up to the loop: identity, spool, what an earlier agent left, TLS, signals. config is borrowed. Errors: the
 * sentence names the file or key.
 */
enum ls_rc agent_new(const struct agent_config *config, struct agent **out, struct ls_err *err) LS_MUST_CHECK;

/* Runs until SIGTERM or SIGINT has been seen to. */
enum ls_rc agent_run(struct agent *agent, struct ls_err *err) LS_MUST_CHECK;
void agent_free(struct agent *agent); /* NULL-safe */

/* Reads the certificates as agent_new would: for --check-config. name: at least IDENTITY_NAME_MAX + 1 bytes. */
enum ls_rc agent_check_identity(
    const struct agent_config *config, char *name, size_t len, struct ls_err *err) LS_MUST_CHECK;

#endif
