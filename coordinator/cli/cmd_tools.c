#include "coordinator/cli/cmd.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/cli/listing.h"
#include "proto/model/tool.h"

extern const struct cmd cmd_tools;

struct tools_options {
	bool json;
};

static const struct option_row rows[] = {
	{ "json", 0, OPTION_FLAG, offsetof(struct tools_options, json), NULL,
	    "as a JSON array of nodes, for programs: facts.tools", 0, 0 },
	{ 0 },
};

static const struct tool_facts *
find_tool(const struct node_row *node, const char *name)
{
	for (size_t i = 0; i < node->facts.tools_count; i++)
		if (strcmp(node->facts.tools[i].name, name) == 0)
			return &node->facts.tools[i];
	return NULL;
}

static void
add_row(struct table *table, const void *opaque)
{
	const struct node_row *node = opaque;
	const char *problem = NULL;

	table_add(table, node->name);
	table_add(table, node->connected ? "connected" : "away");
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		const struct tool_facts *t = find_tool(node, tool_names[i]);

		if (t == NULL)
			table_add(table, "-");
		else if (t->problem != NULL && t->problem[0] != '\0')
			table_addf(table, "%s (!)", t->version != NULL ? t->version : "?");
		else
			table_add(table, t->version);
		if (problem == NULL && t != NULL && t->problem != NULL && t->problem[0] != '\0')
			problem = t->problem;
	}
	table_add(table, problem);
}

static const char *const heads[] = {
	"NODE",
	"STATE",
#define TOOL(ID, id, kind, name, oldest, help) name,
#include "proto/model/tools.def"
#undef TOOL
	"PROBLEM",
};

static const struct listing listing = {
	.ask = MSG_NODES,
	.answer = MSG_NODE,
	.row_offset = offsetof(struct msg_node, node),
	.desc = &node_row_desc,
	.heads = heads,
	.columns = ARRAY_LEN(heads),
	.add = add_row,
	.none = "no nodes: start lockstep-agent on them, with this lockstepd as its coordinator",
};

static enum cli_exit
run_tools(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct tools_options *options = opaque;
	struct msg_nodes ask;

	(void)words;
	msg_body_init(MSG_NODES, &ask);
	ask.all = true;
	enum cli_exit status = listing_run(cli, &listing, &ask, options->json);
	msg_body_fini(MSG_NODES, &ask);
	return status;
}

const struct cmd cmd_tools = {
	.name = "tools",
	.summary = "list which node has which external program in which version",
	.synopsis = "[--json]",
	.help =
	    "Lists the external programs (fio, bonnie++, iozone) that agents may run for phases of these kinds, with "
	    "their\n"
	    "versions. -: the node's agent.conf names none; (!): it names one that cannot be used, PROBLEM says why.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep tools\n"
	    "  lockstep tools --json | jq -r '.[] | .name as $n | .facts.tools[]? | [$n, .name, .version] | @tsv'",
	.options = rows,
	.options_size = sizeof(struct tools_options),
	.run = run_tools,
};
