/*
 * External programs that this agent's configuration names: which they are and in which version. The agent itself never looks at their files:
 * a process of its own asks each, with a deadline.
 */
#ifndef LS_AGENT_DAEMON_TOOLS_H
#define LS_AGENT_DAEMON_TOOLS_H

#include "agent/daemon/config.h"
#include "proto/model/results.h"

/*
 * Asks all that are named, at the same time; blocks until they have answered, 3 s at most. Replaces facts->tools: one for each that is
 * named, with its version, or with the problem that keeps it from being used.
 */
void tools_probe(const struct agent_config *config, struct node_facts *facts);

/* The version in what a program printed ("fio-3.33", "Version: 2.00a"), or NULL; heap. For tests. */
char *tools_version_of(const char *name, const char *text);

#endif
