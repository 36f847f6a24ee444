#include "agent/engine/phase_ops.h"

static const struct phase_ops *const table[] = {
#define PHASE(ID, id, name, op, unit, groups, needs, help) [PHASE_##ID] = &phase_ops_##id,
#include "proto/model/phases.def"
#undef PHASE
};

const struct phase_ops *
phase_ops_get(enum phase_kind kind)
{
	return table[kind];
}
