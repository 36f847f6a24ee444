/*
 * External programs of a run: fio, bonnie++ and iozone, unmodified, held at the barrier before each of their own phases by hooks that they
 * have. Only programs that the agent's configuration names are started, with arguments built here, without a shell, in an environment of
 * a few fixed words, inside the node's own directory of the run.
 *
 * The engine drives it (struct engine_tools); what the program said is for the runner to send on.
 */
#ifndef LS_AGENT_RUNNER_EXT_H
#define LS_AGENT_RUNNER_EXT_H

#include "agent/engine/engine.h"
#include "common/base/err.h"
#include "proto/codec/msg.h"

struct ext;

struct ext_config {
	int run_dir_fd; /* borrowed */
	uint64_t node_index;
	const char *node;
	const struct tool_facts *tools; /* borrowed, as is all it refers to */
	size_t tools_count;
};

/* Of one run, with nothing started yet. config is copied, not what it refers to. */
struct ext *ext_new(const struct ext_config *config);

/* Ends what still runs. No engine may use it any more. NULL-safe. */
void ext_free(struct ext *ext);

/* For struct engine_config: arg is the struct ext. */
extern const struct engine_tools ext_engine_tools;

/*
 * What is to be told of the phase that has just ended, or NULL when no external program did it. Borrowed until the next phase is armed;
 * out and err of it are set, unterminated texts do not occur, and they may hold any byte.
 */
const struct tool_result *ext_result(const struct ext *ext);

#endif
