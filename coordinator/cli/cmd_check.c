#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/jobs.h"
#include "coordinator/cli/output.h"
#include "proto/codec/json.h"

extern const struct cmd cmd_check;

struct check_options {
	const char *path, *nodes, *nodes_from, *expect;
	struct option_texts set;
	int64_t wait_ns;
	bool json;
};

#define O(member) offsetof(struct check_options, member)

static const struct option_row rows[] = {
	{ "path", 'p', OPTION_TEXT, O(path), "DIR", "directory on the volume under test", 0, 0 },
	{ "nodes", 0, OPTION_TEXT, O(nodes), "A,B,C", "nodes to check; default: as the job says, else all connected", 0,
	    0 },
	{ "nodes-from", 0, OPTION_TEXT, O(nodes_from), "FILE", "the nodes of an OCFS2 cluster.conf or a corosync.conf",
	    0, 0 },
	{ "expect", 0, OPTION_TEXT, O(expect), "TYPE", "file system that the path must lie on, such as ocfs2", 0, 0 },
	{ "set", 's', OPTION_TEXTS, O(set), "KEY=VALUE", "change a value of the job; may be repeated", 0, 0 },
	{ "wait", 0, OPTION_DURATION, O(wait_ns), "TIME", "wait so long for missing nodes, such as 30s", 0, 0 },
	{ "json", 0, OPTION_FLAG, O(json), NULL, "as a JSON array, for programs", 0, 0 },
	{ 0 },
};

struct findings {
	size_t count, warnings, failed;
};

static void
print_json(const struct check_row *row, size_t number)
{
	char *text = json_encode_struct(&check_row_desc, row, false, NULL);

	printf("%s%s", number == 0 ? "[\n" : ",\n", text);
	free(text);
}

static void
add_row(struct table *table, const struct check_row *row)
{
	table_add(table, field_enum_name(check_level_names, row->level));
	table_add(table, row->check);
	table_add(table, row->node != NULL ? row->node : "all");
	table_add(table, row->text);
}

static void
count_row(struct findings *f, const struct check_row *row)
{
	f->count++;
	f->warnings += row->level == CHECK_WARNING;
	f->failed += row->level == CHECK_FAILED;
}

/* Reads rows until done. A submitted message may come before them. */
static enum ls_rc
read_rows(struct client *client, bool json, struct table *table, struct findings *f, struct ls_err *err)
{
	for (;;) {
		struct msg msg;
		bool message;
		enum ls_rc rc = client_next(client, &msg, &message, err);

		if (rc != LS_OK)
			return rc;
		if (!message)
			continue;
		if (msg.type == MSG_CHECKED) {
			const struct check_row *row = &((struct msg_checked *)msg.body)->row;

			if (json)
				print_json(row, f->count);
			else
				add_row(table, row);
			count_row(f, row);
		}
		if (msg.type == MSG_DONE) {
			const struct msg_done *done = msg.body;

			if (done->outcome != DONE_OK)
				rc = ls_err_set(err, done->outcome == DONE_REFUSED ? LS_E_REFUSED : LS_E_STATE, "%s",
				    done->text != NULL ? done->text : "no reason given");
			msg_fini(&msg);
			return rc;
		}
		msg_fini(&msg);
	}
}

static enum cli_exit
check(struct client *client, const struct job *job, const struct check_options *options)
{
	struct table table = { .columns = 4 };
	static const char *const heads[] = { "RESULT", "CHECK", "NODE", "FINDING" };
	struct findings f = { 0 };
	struct msg_submit ask;
	struct ls_err err;

	msg_body_init(MSG_SUBMIT, &ask);
	field_struct_fini(&job_desc, &ask.job);
	ask.job = *job; /* lent for the call */
	ask.check_only = true;
	ask.wait_ns = options->wait_ns;
	enum ls_rc rc = client_send(client, MSG_SUBMIT, &ask, &err);
	if (rc != LS_OK)
		return cli_fail_err(&err);

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	rc = read_rows(client, options->json, &table, &f, &err);
	if (options->json)
		printf("%s]\n", f.count == 0 ? "[" : "\n");
	if (options->json || f.count == 0)
		table_drop(&table);
	else
		table_print(&table);
	if (f.failed > 0)
		return cli_fail(CLI_FAILED, "%zu of %zu checks failed", f.failed, f.count);
	if (rc != LS_OK)
		return cli_fail_err(&err);
	if (!options->json)
		printf("\nfit for a run: %zu checks, %zu warnings\n", f.count, f.warnings);
	return CLI_OK;
}

static enum cli_exit
run_check(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct check_options *options = opaque;
	const struct job_overrides overrides = { .path = options->path,
		.nodes = options->nodes,
		.nodes_from = options->nodes_from,
		.expect = options->expect,
		.set = &options->set };
	struct client *client;
	struct job job;
	struct ls_err err;

	if (jobs_load(words->count > 0 ? words->items[0] : "quick", &overrides, &job, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "%s", err.text);
	enum cli_exit status;
	if (client_open(cli, NULL, &client, &err) != LS_OK) {
		status = cli_fail_err(&err);
	} else {
		status = check(client, &job, options);
		client_close(client);
	}
	field_struct_fini(&job_desc, &job);
	return status;
}

const struct cmd cmd_check = {
	.name = "check",
	.summary = "look whether nodes and volume are fit for a run",
	.synopsis = "--path DIR [--nodes A,B,C] [JOB-or-PRESET]",
	.help =
	    "Does all that comes before the first phase of a run and nothing else: is the path there on every node, is "
	    "it the\n"
	    "same volume everywhere (which node has another one?), is there space for this job (default: the preset "
	    "quick),\n"
	    "do locks exclude other nodes, what do mount options, cluster software, devices and clocks say, what else "
	    "is at\n"
	    "work there? Harmless: each node looks in a process of its own, no answer within 5 s is an answer, locks "
	    "are only\n"
	    "tried, and nothing is left on the volume. Ends with 0 when a run could start, 1 when a check failed.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep check --path /mnt/vol\n"
	    "  lockstep check --path /mnt/vol --expect ocfs2 --nodes a,b,c bonnie\n"
	    "  lockstep check --path /mnt/vol --json | jq '.[] | select(.level != \"ok\")'",
	.options = rows,
	.options_size = sizeof(struct check_options),
	.max_words = 1,
	.run = run_check,
};
