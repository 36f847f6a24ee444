/* Making symbolic links: each to the file of its number, which need not be there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

/* From the directory of the links to that of the files, in front of the name; a link in a directory below needs one more step. */
static size_t
put_way(const struct worker *w, char way[PATH_MAX_REL])
{
	const char *up = w->meta.per_directory > 0 ? "../../" : "../";

	if (w->engine->spec.dirs == DIRS_SHARED)
		return (size_t)snprintf(way, PATH_MAX_REL, "%sd/", up);
	return (size_t)snprintf(way, PATH_MAX_REL, "%sd.%u/", up, w->index);
}

static bool
make_link(struct worker *w)
{
	struct meta_state *m = &w->meta;

	memcpy(m->target + m->target_length, m->name, m->name_length + 1);
	if (symlinkat(m->target, m->dir_fd, m->name) == 0)
		return true;
	return meta_fail(w, "run", SHM_CALL_SYMLINK, LS_UNKNOWN_U64, errno);
}

static bool
ready(struct worker *w)
{
	w->meta.target_length = put_way(w, w->meta.target);
	return true;
}

/* Is there such a thing on this volume? */
static bool
try_link(struct worker *w)
{
	struct meta_state *m = &w->meta;

	meta_set_name(w, 0);
	tally_call(&m->tally, SHM_CALL_SYMLINK);
	if (symlinkat(m->name, m->dir_fd, m->name) != 0)
		return meta_refuse(w, SHM_CALL_SYMLINK, errno, "symbolic links");
	return unlinkat(m->dir_fd, m->name, 0) == 0 || meta_fail(w, "arm", SHM_CALL_UNLINK, LS_UNKNOWN_U64, errno);
}

static const struct meta_phase phase = {
	.op = make_link,
	.call = SHM_CALL_SYMLINK,
	.class = META_SYMLINKS,
	.fresh = true,
	.changes = true,
	.flush = META_FLUSH_DIRECTORIES,
	.prepare = try_link,
	.ready = ready,
	.after = meta_note_made,
};

const struct phase_ops phase_ops_symlink = META_OPS(phase);
