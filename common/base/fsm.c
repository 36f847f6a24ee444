#include "common/base/fsm.h"

const struct fsm_edge *
fsm_find(const struct fsm_def *def, int state, int event)
{
	for (size_t i = 0; i < def->edge_count; i++)
		if (def->edges[i].from == state && def->edges[i].event == event)
			return &def->edges[i];
	return NULL;
}
