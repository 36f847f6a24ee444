/* Reading an extended attribute of files. */
#include "agent/engine/engine_int.h"
#include "agent/engine/meta_xattr.h"
#include "agent/engine/phase_meta.h"

static const struct meta_phase phase = {
	.op = meta_xattr_get,
	.call = SHM_CALL_GETXATTR,
	.class = META_FILES,
	.goes_round = true,
	.prepare = meta_xattr_present,
	.ready = meta_xattr_ready,
};

const struct phase_ops phase_ops_getxattr = META_OPS(phase);
