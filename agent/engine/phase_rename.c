/* Renaming files within their directory, round by round to and fro. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/engine/engine_int.h"
#include "agent/engine/phase_meta.h"

static bool
rename_file(struct worker *w)
{
	struct meta_state *m = &w->meta;
	struct meta_set *set = m->set;
	char to[PATH_MAX_REL];

	memcpy(to, m->name, m->name_length);
	to[m->name_length] = m->name[m->name_length] == '\0' ? META_RENAMED : '\0';
	to[m->name_length + 1] = '\0';
	if (renameat(m->dir_fd, m->name, m->dir_fd, to) != 0)
		return meta_fail(w, "run", SHM_CALL_RENAME, LS_UNKNOWN_U64, errno);
	/* At once, as the next round's names follow from it. */
	set->split = m->number + 1;
	if (set->split == w->engine->spec.files) {
		set->renamed = !set->renamed;
		set->split = 0;
	}
	return true;
}

static const struct meta_phase phase = {
	.op = rename_file,
	.call = SHM_CALL_RENAME,
	.class = META_FILES,
	.settled = true,
	.goes_round = true,
	.changes = true,
	.flush = META_FLUSH_DIRECTORIES,
};

const struct phase_ops phase_ops_rename = META_OPS(phase);
