#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/units.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/output.h"
#include "proto/codec/json.h"

extern const struct cmd cmd_runs;

struct runs_options {
	bool json;
	uint64_t limit;
	bool all;
};

#define O(member) offsetof(struct runs_options, member)

static const struct option_row rows[] = {
	{ "json", 0, OPTION_FLAG, O(json), NULL, "as a JSON array, for programs", 0, 0 },
	{ "limit", 'n', OPTION_COUNT, O(limit), "N", "at most so many; default 50", 1, 1000000 },
	{ "all", 'a', OPTION_FLAG, O(all), NULL, "all that there are", 0, 0 },
	{ 0 },
};

static void
print_json(const struct run_row *run, size_t number)
{
	char *text = json_encode_struct(&run_row_desc, run, false, NULL);

	printf("%s%s", number == 0 ? "[\n" : ",\n", text);
	free(text);
}

static void
add_row(struct table *table, const struct run_row *run)
{
	char took[32] = "";

	if (run->duration_ns != LS_UNKNOWN_I64)
		units_format_duration(run->duration_ns, took, sizeof(took));
	table_add(table, run->id);
	table_add(table, run->name);
	table_add(table, field_enum_name(run_state_names, run->state));
	table_add(table, run->started_at);
	table_add(table, took);
	table_addf(table, "%" PRIu64, run->nodes);
	table_addf(table, "%" PRIu64 "/%" PRIu64, run->phases_done, run->phases_total);
	table_add(table, run->reason);
}

static enum ls_rc
list(struct client *client, const struct runs_options *options, struct ls_err *err)
{
	struct table table = { .columns = 8 };
	static const char *const heads[] = { "RUN", "JOB", "STATE", "STARTED (UTC)", "TOOK", "NODES", "PHASES",
		"REASON" };
	struct msg_list ask;
	size_t count = 0;
	enum ls_rc rc;

	msg_body_init(MSG_LIST, &ask);
	ask.limit = options->all ? 0 : options->limit != 0 ? options->limit : 50;
	rc = client_send(client, MSG_LIST, &ask, err);
	msg_body_fini(MSG_LIST, &ask);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	for (; rc == LS_OK; count++) {
		struct msg msg;

		rc = client_expect(client, MSG_LISTED, &msg, err);
		if (rc != LS_OK)
			break;
		const struct run_row *run = &((struct msg_listed *)msg.body)->run;
		if (options->json)
			print_json(run, count);
		else
			add_row(&table, run);
		msg_fini(&msg);
	}
	if (options->json)
		printf("%s]\n", count == 0 ? "[" : "\n");
	else if (count == 0)
		printf("no runs yet\n");
	if (options->json || count == 0)
		table_drop(&table);
	else
		table_print(&table);
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

static enum cli_exit
run_runs(const struct cli *cli, const void *opaque, const struct option_texts *words)
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

const struct cmd cmd_runs = {
	.name = "runs",
	.summary = "list runs, the newest first",
	.synopsis = "[--all] [--json]",
	.help = "Lists the runs that lockstepd keeps: those that wait, the one that runs, and those that have ended.\n"
		"\n"
		"examples:\n"
		"  lockstep runs\n"
		"  lockstep runs --all --json | jq '.[] | select(.state == \"failed\") | .reason'",
	.options = rows,
	.options_size = sizeof(struct runs_options),
	.run = run_runs,
};
