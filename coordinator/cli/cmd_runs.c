#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <stddef.h>

#include "common/base/units.h"
#include "coordinator/cli/listing.h"

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
add_row(struct table *table, const void *opaque)
{
	const struct run_row *run = opaque;
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

static const char *const heads[] = { "RUN", "JOB", "STATE", "STARTED (UTC)", "TOOK", "NODES", "PHASES", "REASON" };

static const struct listing listing = {
	.ask = MSG_LIST,
	.answer = MSG_LISTED,
	.row_offset = offsetof(struct msg_listed, run),
	.desc = &run_row_desc,
	.heads = heads,
	.columns = ARRAY_LEN(heads),
	.add = add_row,
	.none = "no runs yet",
};

static enum cli_exit
run_runs(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct runs_options *options = opaque;
	struct msg_list ask;

	(void)words;
	msg_body_init(MSG_LIST, &ask);
	ask.limit = options->all ? 0 : options->limit != 0 ? options->limit : 50;
	enum cli_exit status = listing_run(cli, &listing, &ask, options->json);
	msg_body_fini(MSG_LIST, &ask);
	return status;
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
