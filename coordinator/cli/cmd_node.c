#include "coordinator/cli/cmd.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "coordinator/cli/client.h"
#include "proto/codec/json.h"

extern const struct cmd cmd_node;

#define VALID_NS (86400 * NS_PER_S)

struct node_options {
	int64_t valid_ns;
	const char *address;
	bool json;
};

#define O(member) offsetof(struct node_options, member)

static const struct option_row rows[] = {
	{ "valid", 0, OPTION_DURATION, O(valid_ns), "TIME", "add: for how long the token can be used; default 24 h",
	    NS_PER_S, 30 * 86400 * NS_PER_S },
	{ "address", 'a', OPTION_TEXT, O(address), "HOST:PORT",
	    "add: how nodes reach lockstepd; default its own host's name", 0, 0 },
	{ "json", 0, OPTION_FLAG, O(json), NULL, "add: the answer as JSON, for programs", 0, 0 },
	{ 0 },
};

static void
print_added(const struct msg_node_added *m, const struct node_options *options)
{
	if (options->json) {
		char *text = json_encode_struct(msg_info(MSG_NODE_ADDED)->desc, m, false, NULL);

		printf("%s\n", text);
		free(text);
		return;
	}
	printf("On %s, as root, before %s:\n\n    lockstep-agent enroll %s %s\n\nThe token works once. Whoever has it "
	       "can become this node.\n",
	    m->node, m->expires_at, options->address != NULL ? options->address : m->address, m->token);
}

static enum ls_rc
add(const struct cli *cli, struct client *client, const struct node_options *options, const char *node,
    struct ls_err *err)
{
	struct msg_node_add ask;
	struct msg msg;

	(void)cli;

	msg_body_init(MSG_NODE_ADD, &ask);
	free(ask.node);
	ask.node = ls_strdup(node);
	ask.valid_ns = options->valid_ns != 0 ? options->valid_ns : VALID_NS;
	enum ls_rc rc = client_send(client, MSG_NODE_ADD, &ask, err);
	msg_body_fini(MSG_NODE_ADD, &ask);
	if (rc == LS_OK)
		rc = client_expect(client, MSG_NODE_ADDED, &msg, err);
	if (rc != LS_OK)
		return rc;
	print_added(msg.body, options);
	msg_fini(&msg);
	return client_expect_done(client, err);
}

static enum ls_rc
removal(const struct cli *cli, struct client *client, const struct node_options *options, const char *node,
    struct ls_err *err)
{
	struct msg_node_remove ask;

	(void)options;
	msg_body_init(MSG_NODE_REMOVE, &ask);
	free(ask.node);
	ask.node = ls_strdup(node);
	enum ls_rc rc = client_send(client, MSG_NODE_REMOVE, &ask, err);
	msg_body_fini(MSG_NODE_REMOVE, &ask);
	if (rc == LS_OK)
		rc = client_expect_done(client, err);
	if (rc != LS_OK)
		return rc;
	cli_say(cli, "removed %s: its certificates are revoked and its connection has ended\n", node);
	return LS_OK;
}

static const struct {
	const char *name;
	enum ls_rc (*run)(const struct cli *cli, struct client *client, const struct node_options *options,
	    const char *node, struct ls_err *err);
} actions[] = {
	{ "add", add },
	{ "remove", removal },
};

static enum cli_exit
run_node(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	struct client *client;
	struct ls_err err;
	size_t i = 0;

	while (i < ARRAY_LEN(actions) && strcmp(actions[i].name, words->items[0]) != 0)
		i++;
	if (i == ARRAY_LEN(actions))
		return cli_fail(CLI_USAGE, "node: \"%s\" is not known; there are add and remove", words->items[0]);
	if (client_open(cli, NULL, &client, &err) != LS_OK)
		return cli_fail_err(&err);
	enum ls_rc rc = actions[i].run(cli, client, opaque, words->items[1], &err);
	client_close(client);
	return rc == LS_OK ? CLI_OK : cli_fail_err(&err);
}

const struct cmd cmd_node = {
	.name = "node",
	.summary = "let a node in, or remove it",
	.synopsis = "add NAME | remove NAME",
	.help =
	    "Nodes become known by a certificate. \"add\" makes a token and prints the one command that is to be typed "
	    "on\n"
	    "the node: it makes a key there, gets the certificate from lockstepd, and writes the agent's "
	    "configuration. From\n"
	    "then on the agent renews it by itself. \"remove\" revokes all certificates of a node and ends its "
	    "connection at\n"
	    "once. Both need \"pki\" in lockstepd.conf: the directory of \"lockstep pki init\", with the root's key.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep node add alpha\n"
	    "  lockstep node add beta --valid 1h --address admin.example.org:7437\n"
	    "  lockstep node remove alpha",
	.options = rows,
	.options_size = sizeof(struct node_options),
	.min_words = 2,
	.max_words = 2,
	.run = run_node,
};
