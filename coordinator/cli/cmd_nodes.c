#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/units.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/output.h"
#include "proto/codec/json.h"

extern const struct cmd cmd_nodes;

struct nodes_options {
	bool json;
	bool connected;
};

#define O(member) offsetof(struct nodes_options, member)

static const struct option_row rows[] = {
	{ "json", 0, OPTION_FLAG, O(json), NULL, "as a JSON array, for programs", 0, 0 },
	{ "connected", 'c', OPTION_FLAG, O(connected), NULL, "only those that are there now", 0, 0 },
	{ 0 },
};

static void
print_json(const struct node_row *node, size_t number)
{
	char *text = json_encode_struct(&node_row_desc, node, false, NULL);

	printf("%s%s", number == 0 ? "[\n" : ",\n", text);
	free(text);
}

static void
add_row(struct table *table, const struct node_row *node)
{
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
}

static enum ls_rc
list(struct client *client, const struct nodes_options *options, struct ls_err *err)
{
	struct table table = { .columns = 9 };
	static const char *const heads[] = { "NODE", "STATE", "ADDRESS", "LOCKSTEP", "KERNEL", "CPUS", "MEMORY",
		"CLOCK", "RUN" };
	struct msg_nodes ask;
	size_t count = 0;
	enum ls_rc rc;

	msg_body_init(MSG_NODES, &ask);
	ask.all = !options->connected;
	rc = client_send(client, MSG_NODES, &ask, err);
	msg_body_fini(MSG_NODES, &ask);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	for (; rc == LS_OK; count++) {
		struct msg msg;

		rc = client_expect(client, MSG_NODE, &msg, err);
		if (rc != LS_OK)
			break;
		const struct node_row *node = &((struct msg_node *)msg.body)->node;
		if (options->json)
			print_json(node, count);
		else
			add_row(&table, node);
		msg_fini(&msg);
	}
	if (options->json)
		printf("%s]\n", count == 0 ? "[" : "\n");
	else if (count == 0)
		printf("no nodes: start lockstep-agent on them, with this lockstepd as its coordinator\n");
	if (options->json || count == 0)
		table_drop(&table);
	else
		table_print(&table);
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

static enum cli_exit
run_nodes(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	struct client *client;
	struct ls_err err;

	(void)words;
	if (client_open(cli, NULL, &client, &err) != LS_OK)
		return cli_fail_err(&err);
	enum ls_rc rc = list(client, opaque, &err);
	client_close(client);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}

const struct cmd cmd_nodes = {
	.name = "nodes",
	.summary = "list nodes, their clocks and what they are",
	.synopsis = "[--connected] [--json]",
	.help = "Lists the nodes that lockstepd has heard of, whether they are connected, and how well their clock is "
		"known\n"
		"against the coordinator's (the truth lies within the uncertainty shown).\n"
		"\n"
		"examples:\n"
		"  lockstep nodes\n"
		"  lockstep nodes --connected --json | jq -r '.[].name'",
	.options = rows,
	.options_size = sizeof(struct nodes_options),
	.run = run_nodes,
};
