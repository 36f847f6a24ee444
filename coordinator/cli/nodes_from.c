#include "coordinator/cli/nodes_from.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/cluster_conf.h"
#include "coordinator/cli/output.h"

enum seen { SEEN_CONNECTED, SEEN_AWAY, SEEN_MISSING, SEEN_EXTRA };

static const char *const seen_names[] = {
	[SEEN_CONNECTED] = "connected",
	[SEEN_AWAY] = "away",
	[SEEN_MISSING] = "missing",
	[SEEN_EXTRA] = "not in the file",
};

struct found {
	char *name;
	enum seen seen;
	char *address;
};

struct comparison {
	struct found *list; /* of the file first, in its order */
	size_t count, in_file;
};

static struct found *
add(struct comparison *c, const char *name, enum seen seen)
{
	c->list = ls_grow(c->list, c->count, sizeof(*c->list));
	c->list[c->count] = (struct found){ .name = ls_strdup(name), .seen = seen };
	return &c->list[c->count++];
}

static void
take_row(struct comparison *c, const struct node_row *row)
{
	struct found *f = NULL;

	for (size_t i = 0; f == NULL && i < c->in_file; i++)
		if (strcmp(c->list[i].name, row->name) == 0)
			f = &c->list[i];
	if (f != NULL)
		f->seen = row->connected ? SEEN_CONNECTED : SEEN_AWAY;
	else if (row->connected)
		f = add(c, row->name, SEEN_EXTRA);
	if (f != NULL && f->address == NULL)
		f->address = row->address != NULL ? ls_strdup(row->address) : NULL;
}

/* Asks for all nodes, also those that are away. */
static enum ls_rc
ask(struct client *client, struct comparison *c, struct ls_err *err)
{
	struct msg_nodes request;
	struct msg msg;

	msg_body_init(MSG_NODES, &request);
	request.all = true;
	enum ls_rc rc = client_send(client, MSG_NODES, &request, err);
	msg_body_fini(MSG_NODES, &request);
	while (rc == LS_OK && (rc = client_expect(client, MSG_NODE, &msg, err)) == LS_OK) {
		take_row(c, &((const struct msg_node *)msg.body)->node);
		msg_fini(&msg);
	}
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

static void
print_json(const struct comparison *c)
{
	/* Names of both have passed checks that leave nothing to escape in JSON. */
	for (size_t i = 0; i < c->count; i++)
		printf("%s{\"name\":\"%s\",\"state\":\"%s\"}", i == 0 ? "[\n" : ",\n", c->list[i].name,
		    seen_names[c->list[i].seen]);
	printf("%s]\n", c->count == 0 ? "[" : "\n");
}

static void
print_table(const struct comparison *c)
{
	struct table table = { .columns = 3 };

	table_add(&table, "NODE");
	table_add(&table, "STATE");
	table_add(&table, "ADDRESS");
	for (size_t i = 0; i < c->count; i++) {
		table_add(&table, c->list[i].name);
		table_add(&table, seen_names[c->list[i].seen]);
		table_add(&table, c->list[i].address);
	}
	table_print(&table);
}

static enum cli_exit
judge(const struct comparison *c, const char *file)
{
	size_t absent = 0;

	for (size_t i = 0; i < c->in_file; i++)
		absent += c->list[i].seen != SEEN_CONNECTED;
	if (absent == 0)
		return CLI_OK;
	return cli_fail(CLI_FAILED, "%zu of %zu nodes of %s are not connected", absent, c->in_file, file);
}

enum cli_exit
nodes_from(const struct cli *cli, const char *file, bool json)
{
	struct comparison c = { 0 };
	struct client *client;
	struct ls_err err;
	char **names;
	size_t count;
	enum cli_exit status;

	if (cluster_conf_read(file, &names, &count, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "nodes: --from: %s", err.text);
	for (size_t i = 0; i < count; i++)
		(void)add(&c, names[i], SEEN_MISSING);
	c.in_file = c.count;
	cluster_conf_free(names, count);

	if (client_open(cli, NULL, &client, &err) != LS_OK) {
		status = cli_fail_err(&err);
	} else {
		enum ls_rc rc = ask(client, &c, &err);

		client_close(client);
		if (rc != LS_OK) {
			status = cli_fail_err(&err);
		} else {
			if (json)
				print_json(&c);
			else
				print_table(&c);
			status = judge(&c, file);
		}
	}
	for (size_t i = 0; i < c.count; i++) {
		free(c.list[i].name);
		free(c.list[i].address);
	}
	free(c.list);
	return status;
}
