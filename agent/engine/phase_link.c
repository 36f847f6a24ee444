/* Making hard links: a second name for each file. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
make_link(struct worker *w)
{
	struct meta_state *m = &w->meta;

	if (linkat(m->files_fd, m->name, m->dir_fd, m->name, 0) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_LINK, LS_UNKNOWN_U64, errno);
}

/* Is there such a thing on this volume? */
static bool
try_link(struct worker *w)
{
	struct meta_state *m = &w->meta;

	if (w->engine->spec.files == 0)
		return true;
	meta_set_name(w, 0);
	tally_call(&m->tally, SHM_CALL_LINK);
	if (linkat(m->files_fd, m->name, m->dir_fd, m->name, 0) != 0)
		return meta_refuse(w, SHM_CALL_LINK, errno, "hard links");
	return unlinkat(m->dir_fd, m->name, 0) == 0 || meta_fail(w, "arm", SHM_CALL_UNLINK, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = make_link,
	.call = SHM_CALL_LINK,
	.class = META_LINKS,
	.fresh = true,
	.needs_files = true,
	.changes = true,
	.flush = META_FLUSH_DIRECTORIES,
	.prepare = try_link,
	.after = meta_note_made,
};

const struct phase_ops phase_ops_link = META_OPS(phase);
