/*
 * Do the nodes of a run have the external programs that its job wants, and the same ones? Pure.
 */
#ifndef LS_COORDINATOR_DAEMON_RUN_TOOLS_H
#define LS_COORDINATOR_DAEMON_RUN_TOOLS_H

#include "common/base/err.h"
#include "proto/model/results.h"
#include "proto/model/tool.h"

/* Does any phase of the job want that program? */
bool run_wants_tool(const struct job *job, enum tool_kind tool);

/* Can the node run it? Errors: LS_E_REFUSED, why not. out: what the node says of it, borrowed; only with LS_OK. */
enum ls_rc run_tool_of(const char *node, const struct node_facts *facts, enum tool_kind tool,
    const struct tool_facts **out, struct ls_err *err) LS_MUST_CHECK;

/*
 * The version of a node against that of the first. LS_OK where they are equal, else LS_E_REFUSED with a sentence that says for which of
 * the job's phases they measure the same.
 */
enum ls_rc run_tool_versions(const struct job *job, enum tool_kind tool, const char *first_node, const char *first,
    const char *node, const char *version, struct ls_err *err) LS_MUST_CHECK;

#endif
