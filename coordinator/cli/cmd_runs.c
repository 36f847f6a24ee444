#include "coordinator/cli/cmd.h"

#include <inttypes.h>
#include <stddef.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/runs_filter.h"

#define DEFAULT_LIMIT 50

extern const struct cmd cmd_runs;

struct runs_options {
	bool json;
	uint64_t limit;
	bool all;
	const char *name, *tag, *volume, *node, *state, *since, *until;
};

#define O(member) offsetof(struct runs_options, member)

static const struct option_row rows[] = {
	{ "json", 0, OPTION_FLAG, O(json), NULL, "as a JSON array, for programs", 0, 0 },
	{ "limit", 'n', OPTION_COUNT, O(limit), "N", "at most so many; default 50", 1, 1000000 },
	{ "all", 'a', OPTION_FLAG, O(all), NULL, "all that there are", 0, 0 },
	{ "name", 0, OPTION_TEXT, O(name), "PATTERN", "only jobs of that name, such as nightly or 'night*'", 0, 0 },
	{ "tag", 't', OPTION_TEXT, O(tag), "PATTERN", "only runs with such a tag", 0, 0 },
	{ "volume", 0, OPTION_TEXT, O(volume), "PATTERN", "only runs on that path or below it", 0, 0 },
	{ "node", 0, OPTION_TEXT, O(node), "PATTERN", "only runs with such a node in them", 0, 0 },
	{ "state", 0, OPTION_TEXT, O(state), "STATE", "only runs in that state, such as finished or failed", 0, 0 },
	{ "since", 0, OPTION_TEXT, O(since), "TIME", "not before a date (2026-11-30, UTC) or a time ago (7d)", 0, 0 },
	{ "until", 0, OPTION_TEXT, O(until), "TIME", "not after, likewise; the whole day counts", 0, 0 },
	{ 0 },
};

static void
add_tags(struct table *table, const struct run_row *run)
{
	struct sink text = { 0 };

	for (size_t i = 0; i < run->tags_count; i++)
		sink_printf(&text, "%s%s", i > 0 ? "," : "", run->tags[i]);
	table_add(table, text.text);
	sink_free(&text);
}

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
	add_tags(table, run);
	table_add(table, run->note != NULL ? run->note : run->reason);
}

static const char *const heads[] = { "RUN", "JOB", "STATE", "STARTED (UTC)", "TOOK", "NODES", "PHASES", "TAGS",
	"NOTE OR REASON" };

static const struct listing listing = {
	.ask = MSG_LIST,
	.answer = MSG_LISTED,
	.row_offset = offsetof(struct msg_listed, run),
	.desc = &run_row_desc,
	.heads = heads,
	.columns = ARRAY_LEN(heads),
	.add = add_row,
	.none = "no such runs",
};

static bool
keeps(const void *filter, const void *row)
{
	return runs_filter_keeps(filter, row);
}

static enum cli_exit
run_runs(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct runs_options *options = opaque;
	const struct runs_wanted wanted = { options->name, options->state, options->since, options->until, options->tag,
		options->volume };
	bool any = wanted.name == NULL && wanted.state == NULL && wanted.since == NULL && wanted.until == NULL &&
	    wanted.tag == NULL && wanted.volume == NULL;
	struct runs_filter filter;
	struct msg_list ask;
	struct ls_err err;

	(void)words;
	if (runs_filter_parse(&wanted, ls_wall_now(), &filter, &err) != LS_OK)
		return cli_fail_err(&err);
	struct listing_filter shown = { .keeps = keeps, .with = &filter };
	shown.most = options->all ? 0 : options->limit != 0 ? options->limit : DEFAULT_LIMIT;
	msg_body_init(MSG_LIST, &ask);
	ask.node = ls_strdup(options->node);
	ask.limit = any ? shown.most : 0; /* what a filter drops must not count */
	enum cli_exit status = listing_run_filtered(cli, &listing, &ask, options->json, &shown);
	msg_body_fini(MSG_LIST, &ask);
	return status;
}

const struct cmd cmd_runs = {
	.name = "runs",
	.summary = "list runs, the newest first",
	.synopsis =
	    "[--name PATTERN] [--tag PATTERN] [--volume PATTERN] [--node PATTERN] [--state STATE] [--since TIME]\n"
	    "                     [--until TIME] [--limit N | --all] [--json]",
	.help = "Lists the runs that lockstepd keeps: those that wait, the one that runs, and those that have ended.\n"
		"\n"
		"examples:\n"
		"  lockstep runs\n"
		"  lockstep runs --name 'night*' --state finished --since 7d\n"
		"  lockstep runs --tag baseline --volume /mnt/vol --node c\n"
		"  lockstep runs --all --json | jq '.[] | select(.state == \"failed\") | .reason'",
	.options = rows,
	.options_size = sizeof(struct runs_options),
	.run = run_runs,
};
