#include "coordinator/import/tool_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/import_int.h"

bool
tool_output_whole(const struct node_result *node)
{
	return node->state == NODE_DONE && node->tool != NULL && node->tool->ended;
}

static enum ls_rc
read_one(const char *tool, const char *text, struct import_set *set, struct ls_err *err)
{
	char name[96];

	snprintf(name, sizeof(name), "output of %s", tool);
	enum ls_rc rc = import_read(name, text, strlen(text), set, err);
	if (rc != LS_OK)
		return rc;
	if (set->count != 1)
		return ls_err_set(err, LS_E_INVALID, "%s: %zu results where one is meant", name, set->count);

	const struct origin *origin = set->docs[0]->run.origin;

	if (strcmp(origin->tool, tool) != 0)
		return ls_err_set(err, LS_E_INVALID, "%s: it looks like that of %s", name, origin->tool);
	return LS_OK;
}

/* The last line that says something, for the error. */
static void
last_line(const char *text, char *buf, size_t len)
{
	size_t end = strlen(text);
	size_t from;

	while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
		end--;
	from = end;
	while (from > 0 && text[from - 1] != '\n')
		from--;
	snprintf(buf, len, "%.*s", (int)LS_MIN(end - from, len - 1), text + from);
}

enum ls_rc
tool_output_read(const struct node_result *node, struct import_set *set, struct ls_err *err)
{
	const char *text = node->tool->out != NULL ? node->tool->out : "";
	struct ls_err why = { 0 };
	char line[128];

	if (read_one(node->tool->name, text, set, &why) == LS_OK)
		return LS_OK;
	last_line(text, line, sizeof(line));
	return ls_err_set(err, LS_E_INVALID, "%s printed what cannot be read (%s); its last line: %s", node->tool->name,
	    why.text, line[0] != '\0' ? line : "none");
}

enum ls_rc
tool_output_check(const struct node_result *node, struct ls_err *err)
{
	struct import_set set = { 0 };

	if (!tool_output_whole(node))
		return LS_OK;
	enum ls_rc rc = tool_output_read(node, &set, err);
	import_set_free(&set);
	return rc;
}

static void
cut(char **text, size_t kept, uint64_t *cut_bytes)
{
	size_t len = *text != NULL ? strlen(*text) : 0;

	if (len <= kept)
		return;

	const char *from = *text + len - kept;
	const char *line = from[-1] == '\n' ? from : strchr(from, '\n');

	/* a text without lines is cut anywhere */
	if (line != NULL && line != from && line[1] != '\0')
		from = line + 1;
	*cut_bytes += (uint64_t)(from - *text);
	char *end = ls_strdup(from);
	free(*text);
	*text = end;
}

void
tool_output_cut(struct results *results)
{
	for (size_t p = 0; p < results->phases_count; p++)
		for (size_t n = 0; n < results->phases[p].nodes_count; n++) {
			struct tool_result *tool = results->phases[p].nodes[n].tool;

			if (tool == NULL)
				continue;
			cut(&tool->out, TOOL_OUTPUT_KEPT, &tool->cut_bytes);
			cut(&tool->err, TOOL_ERRORS_KEPT, &tool->cut_bytes);
		}
}
