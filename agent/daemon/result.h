/*
 * A node's result of a phase, made from the mapping and what the agent knows: also after the runner was killed. Reads the
 * mapping only.
 */
#ifndef LS_AGENT_DAEMON_RESULT_H
#define LS_AGENT_DAEMON_RESULT_H

#include "agent/daemon/sampler.h"
#include "agent/shm/counters.h"
#include "common/base/clock.h"
#include "proto/codec/msg.h"

struct result_input {
	const char *node;
	struct ls_mono start; /* the planned one */
	struct ls_mono now;
	struct shm_map *map;
	struct sampler *sampler; /* begun at start; ended here */
	uint32_t workers;        /* of this node in the phase; 0: idle */
	uint64_t first_rank;     /* of its first worker in the run */
	bool started;            /* the workers began; otherwise what the mapping holds is not this phase's */

	const struct msg_phase_done *done; /* NULL: the runner did not get so far */
	const char *tool_out, *tool_err;   /* what an external program said, or NULL */
	const char *failure;               /* why the phase failed on this node, or NULL */

	const struct device_io *device; /* NULL: not known */
	int64_t agent_cpu_ns;           /* used in the phase */
	uint64_t agent_net_bytes;
};

/* Into an uninitialised node_result, which the caller ends. Ends the sampler's phase. */
void result_build(const struct result_input *in, struct node_result *out);

#endif
