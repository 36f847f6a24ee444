#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/units.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/nodes_from.h"

extern const struct cmd cmd_nodes;

struct nodes_options {
	bool json;
	bool connected;
	const char *from;
};

#define O(member) offsetof(struct nodes_options, member)

static const struct option_row rows[] = {
	{ "json", 0, OPTION_FLAG, O(json), NULL, "as a JSON array, for programs", 0, 0 },
	{ "connected", 'c', OPTION_FLAG, O(connected), NULL, "only those that are there now", 0, 0 },
	{ "from", 0, OPTION_TEXT, O(from), "FILE",
	    "compare with the nodes of an OCFS2 cluster.conf or a corosync.conf: which are missing", 0, 0 },
	{ 0 },
};

/* The first runner that hangs there, and how many more. */
static void
add_hung(struct table *table, const struct node_row *node)
{
	const struct hung_runner *h = node->hung;
	char since[32], more[48] = "";

	if (node->hung_count == 0) {
		table_add(table, NULL);
		return;
	}
	if (node->hung_count > 1)
		snprintf(more, sizeof(more), " and %zu more", node->hung_count - 1);
	table_addf(table, "runner of %s for %s, in %s of %s%s", h->run,
	    units_format_duration(h->since_ns, since, sizeof(since)), h->call != NULL ? h->call : "a call",
	    h->file != NULL ? h->file : "the volume", more);
}

static void
add_row(struct table *table, const void *opaque)
{
	const struct node_row *node = opaque;
	char memory[32] = "";
	char clock[40] = "";
	char silent[48] = "connected";
	char d[32];

	if (node->facts.memory_bytes != LS_UNKNOWN_U64)
		units_format_size(node->facts.memory_bytes, memory, sizeof(memory));
	if (node->clock.uncertainty_ns != LS_UNKNOWN_I64)
		snprintf(
		    clock, sizeof(clock), "+/- %s", units_format_duration(node->clock.uncertainty_ns, d, sizeof(d)));
	if (!node->connected && node->silent_ns == LS_UNKNOWN_I64)
		snprintf(silent, sizeof(silent), "away");
	else if (!node->connected)
		snprintf(silent, sizeof(silent), "away for %s", units_format_duration(node->silent_ns, d, sizeof(d)));
	table_add(table, node->name);
	table_add(table, silent);
	table_add(table, node->address);
	table_add(table, node->facts.version);
	table_add(table, node->facts.kernel);
	if (node->facts.cpus != LS_UNKNOWN_U64)
		table_addf(table, "%" PRIu64, node->facts.cpus);
	else
		table_add(table, NULL);
	table_add(table, memory);
	table_add(table, clock);
	table_add(table, node->run);
	add_hung(table, node);
}

static const char *const heads[] = { "NODE", "STATE", "ADDRESS", "LOCKSTEP", "KERNEL", "CPUS", "MEMORY", "CLOCK", "RUN",
	"HANGS" };

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
run_nodes(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct nodes_options *options = opaque;
	struct msg_nodes ask;

	(void)words;
	if (options->from != NULL)
		return nodes_from(cli, options->from, options->json);
	msg_body_init(MSG_NODES, &ask);
	ask.all = !options->connected;
	enum cli_exit status = listing_run(cli, &listing, &ask, options->json);
	msg_body_fini(MSG_NODES, &ask);
	return status;
}

const struct cmd cmd_nodes = {
	.name = "nodes",
	.summary = "list nodes, their clocks and what they are",
	.synopsis = "[--connected] [--from FILE] [--json]",
	.help =
	    "Lists the nodes that lockstepd has heard of, whether they are connected, and how well their clock is "
	    "known\n"
	    "against the coordinator's (the truth lies within the uncertainty shown). HANGS names runners that could "
	    "not be\n"
	    "killed, as they wait for a volume that gives no answer.\n"
	    "\n"
	    "--from FILE reads the names of a cluster's nodes from its own configuration and lists those beside what "
	    "lockstepd\n"
	    "knows; ends with 1 when one is not connected. A node's name in lockstep must be that of the file.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep nodes\n"
	    "  lockstep nodes --from /etc/ocfs2/cluster.conf\n"
	    "  lockstep nodes --connected --json | jq -r '.[].name'",
	.options = rows,
	.options_size = sizeof(struct nodes_options),
	.run = run_nodes,
};
