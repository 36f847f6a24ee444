/* Giving files an extended attribute that they do not have; with a time, the rounds that follow set it anew. */
#include "agent/engine/engine_int.h"
#include "agent/engine/meta_xattr.h"
#include "agent/engine/phase_meta.h"

static void
after(struct worker *w, uint64_t done)
{
	struct meta_set *set = w->meta.set;

	set->attributes = true;
	set->attributed = LS_MIN(done, w->engine->spec.files);
	set->attribute_size = w->engine->spec.xattr_size;
}

static const struct meta_phase phase = {
	.op = meta_xattr_set,
	.call = SHM_CALL_SETXATTR,
	.class = META_FILES,
	.goes_round = true,
	.changes = true,
	.flush = META_FLUSH_VOLUME,
	.prepare = meta_xattr_absent,
	.ready = meta_xattr_ready,
	.after = after,
};

const struct phase_ops phase_ops_setxattr = META_OPS(phase);
