#include "agent/runner/marker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/field.h"
#include "common/base/mem.h"
#include "common/base/version.h"
#include "proto/codec/json.h"

#include "common/base/field_decl.h"
#include "agent/runner/marker.def"
#include "common/base/field_undef.h"

#include "common/base/field_table.h"
#include "agent/runner/marker.def"
#include "common/base/field_undef.h"

char *
marker_text(const char *run, const char *node, uint64_t node_index)
{
	char created[32];
	size_t len;
	struct marker m = {
		.run = ls_strdup(run),
		.node = ls_strdup(node),
		.node_index = node_index,
		.version = ls_strdup(lockstep_version),
		.created = ls_strdup(ls_wall_format(ls_wall_now(), created, sizeof(created))),
	};
	char *text = json_encode_struct(&marker_desc, &m, false, &len);

	field_struct_fini(&marker_desc, &m);
	return text;
}

bool
marker_read(const char *text, size_t len, const char *run, const char *node, uint64_t *node_index, char **created)
{
	struct marker m;

	if (json_decode_struct(&marker_desc, text, len, JSON_UNKNOWN_IGNORED, "marker", &m, NULL) != LS_OK)
		return false;

	bool same = strcmp(m.run, run) == 0 && strcmp(m.node, node) == 0;

	if (same) {
		*node_index = m.node_index;
		*created = ls_strdup(m.created);
	}
	field_struct_fini(&marker_desc, &m);
	return same;
}

bool
marker_names(const char *text, size_t len, const char *run, const char *node)
{
	uint64_t node_index;
	char *created;

	if (!marker_read(text, len, run, node, &node_index, &created))
		return false;
	free(created);
	return true;
}
