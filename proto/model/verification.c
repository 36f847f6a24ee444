/* What checking the data says about a phase. */
#include <inttypes.h>

#include "proto/model/aggregate_int.h"

#define NAMED_MAX 8 /* mismatches of a node that become sentences; the document has more */

static void
tell_node(struct phase_result *phase, const struct node_result *node)
{
	const struct verification *v = node->verify;

	warnings_add(&phase->warnings, &phase->warnings_count,
	    "verification: %" PRIu64 " of %" PRIu64 " blocks that node %s read are not what was written", v->mismatches,
	    v->blocks, node->node);
	for (size_t i = 0; i < v->list_count && i < NAMED_MAX; i++)
		warnings_add(&phase->warnings, &phase->warnings_count, "node %s: %s", node->node, v->list[i].text);
}

void
phase_judge_verification(struct phase_result *phase)
{
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->verify == NULL || node->verify->mismatches == 0)
			continue;
		if (phase->state == PHASE_STATE_DONE)
			phase->state = PHASE_STATE_MISMATCH;
		tell_node(phase, node);
	}
}
