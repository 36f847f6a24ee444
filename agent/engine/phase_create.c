/* Creating files: open (O_CREAT and O_EXCL), write, fsync if it counts, close: one operation. */
#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
create(struct worker *w)
{
	return meta_create_file(w, "run", w->engine->spec.fsync);
}

static const struct meta_phase phase = {
	.op = create,
	.call = SHM_CALL_OPEN,
	.class = META_FILES,
	.fresh = true,
	.writes_data = true,
	.changes = true,
	.after = meta_note_made,
};

const struct phase_ops phase_ops_create = META_OPS(phase);
