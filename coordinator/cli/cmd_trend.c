/* A metric over the runs of a name. */
#include "coordinator/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"
#include "common/base/mem.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/files.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/runs_filter.h"
#include "coordinator/report/trend.h"
#include "proto/codec/json.h"

extern const struct cmd cmd_trend;

#define DEFAULT_LIMIT 100

struct trend_options {
	const char *tag, *volume, *node, *since, *until, *metric, *phase, *format, *output;
	uint64_t limit;
	bool json;
};

#define O(member) offsetof(struct trend_options, member)

static const struct option_row rows[] = {
	{ "tag", 't', OPTION_TEXT, O(tag), "PATTERN", "only runs with such a tag", 0, 0 },
	{ "volume", 0, OPTION_TEXT, O(volume), "PATTERN", "only runs on that path or below it", 0, 0 },
	{ "node", 0, OPTION_TEXT, O(node), "PATTERN", "only runs with such a node in them", 0, 0 },
	{ "since", 0, OPTION_TEXT, O(since), "TIME", "not before a date (2026-11-30, UTC) or a time ago (7d)", 0, 0 },
	{ "until", 0, OPTION_TEXT, O(until), "TIME", "not after, likewise; the whole day counts", 0, 0 },
	{ "limit", 'n', OPTION_COUNT, O(limit), "N", "the newest so many; default 100", 1, 10000 },
	{ "metric", 'm', OPTION_TEXT, O(metric), "METRIC", "one of those below; default last-done", 0, 0 },
	{ "phase", 0, OPTION_TEXT, O(phase), "PATTERN", "only phases of that title, such as write or 'random*'", 0, 0 },
	{ "format", 'f', OPTION_TEXT, O(format), "FORMAT", "text, json or html; default text", 0, 0 },
	{ "json", 0, OPTION_FLAG, O(json), NULL, "the same as --format json", 0, 0 },
	{ "output", 'o', OPTION_TEXT, O(output), "FILE", "write there instead of to standard output", 0, 0 },
	{ 0 },
};

/* Ids of runs, the newest first. */
struct ids {
	char **items;
	size_t count;
};

static void
ids_free(struct ids *ids)
{
	for (size_t i = 0; i < ids->count; i++)
		free(ids->items[i]);
	free(ids->items);
}

static enum ls_rc
list_ids(struct client *client, const struct trend_options *options, const struct runs_filter *filter, struct ids *ids,
    struct ls_err *err)
{
	uint64_t most = options->limit != 0 ? options->limit : DEFAULT_LIMIT;
	struct msg_list ask;
	struct msg msg;

	msg_body_init(MSG_LIST, &ask);
	ask.limit = 0;
	ask.node = ls_strdup(options->node);
	enum ls_rc rc = client_send(client, MSG_LIST, &ask, err);
	msg_body_fini(MSG_LIST, &ask);
	while (rc == LS_OK && (rc = client_expect(client, MSG_LISTED, &msg, err)) == LS_OK) {
		const struct run_row *row = &((struct msg_listed *)msg.body)->run;

		if (row->state == RUN_FINISHED && ids->count < most && runs_filter_keeps(filter, row)) {
			ids->items = ls_grow(ids->items, ids->count, sizeof(*ids->items));
			ids->items[ids->count++] = ls_strdup(row->id);
		}
		msg_fini(&msg);
	}
	return rc == LS_E_NOTFOUND ? LS_OK : rc; /* the end of the list */
}

static enum ls_rc
add_run(struct client *client, const char *id, const struct compare_metric *metric, const char *phases,
    struct trend *trend, struct ls_err *err)
{
	struct results results;
	char *text;
	size_t len;
	enum ls_rc rc = client_export(client, id, CLIENT_SUMMARY, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	rc = results_parse(text, len, id, &results, err);
	free(text);
	if (rc != LS_OK)
		return rc;
	trend_add(trend, &results, metric, phases);
	field_struct_fini(&results_desc, &results);
	return LS_OK;
}

static enum ls_rc
collect(const struct cli *cli, const struct trend_options *options, const struct runs_filter *filter,
    const struct compare_metric *metric, struct trend *trend, struct ls_err *err)
{
	struct ids ids = { 0 };
	struct client *client;
	enum ls_rc rc = client_open(cli, NULL, &client, err);

	if (rc != LS_OK)
		return rc;
	rc = list_ids(client, options, filter, &ids, err);
	if (rc == LS_OK && ids.count == 0)
		rc = ls_err_set(err, LS_E_NOTFOUND, "no finished run is called so; lockstep runs lists them");
	for (size_t i = ids.count; i > 0 && rc == LS_OK; i--) {
		rc = add_run(client, ids.items[i - 1], metric, options->phase, trend, err);
		if (rc == LS_E_REFUSED) /* removed meanwhile */
			rc = LS_OK;
	}
	client_close(client);
	ids_free(&ids);
	return rc;
}

/* Can the terminal show more than ASCII? */
static bool
only_ascii(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = ls_env(names[i]);

		if (value != NULL && value[0] != '\0')
			return strstr(value, "UTF-8") == NULL && strstr(value, "utf8") == NULL;
	}
	return true;
}

static enum ls_rc
write_trend(const struct trend *trend, const char *format, const char *path, struct ls_err *err)
{
	struct sink out = { 0 };

	if (strcmp(format, "json") == 0) {
		size_t len;
		char *text = json_encode_struct(&trend_desc, trend, true, &len);

		sink_add(&out, text, len);
		sink_printf(&out, "\n");
		free(text);
	} else if (strcmp(format, "html") == 0) {
		trend_html(trend, &out);
	} else {
		trend_text(trend, only_ascii(), &out);
	}
	enum ls_rc rc = file_write(path != NULL ? path : "-", out.text, out.len, err);
	sink_free(&out);
	return rc;
}

static enum ls_rc
check(const struct trend_options *options, const char *format, const char *name, const struct compare_metric *metric,
    struct ls_err *err)
{
	if (metric == NULL)
		return ls_err_set(err, LS_E_INVALID, "there is no metric \"%s\"; --help lists them", options->metric);
	if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0 && strcmp(format, "html") != 0)
		return ls_err_set(err, LS_E_INVALID, "--format: \"%s\" is neither text, json nor html", format);
	if (name == NULL && options->tag == NULL)
		return ls_err_set(err, LS_E_INVALID, "which runs? a NAME, --tag, or both");
	return options->output == NULL ? LS_OK : file_check_writable(options->output, err);
}

static enum cli_exit
run_trend(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct trend_options *options = opaque;
	const char *name = words->count > 0 ? words->items[0] : NULL;
	const char *format = options->json ? "json" : options->format != NULL ? options->format : "text";
	const struct compare_metric *metric =
	    compare_metric_find(options->metric != NULL ? options->metric : compare_metrics[0].name);
	const struct runs_wanted wanted = { .name = name,
		.since = options->since,
		.until = options->until,
		.tag = options->tag,
		.volume = options->volume };
	struct runs_filter filter;
	struct trend trend;
	struct ls_err err;
	char title[256];

	if (check(options, format, name, metric, &err) != LS_OK ||
	    runs_filter_parse(&wanted, ls_wall_now(), &filter, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "trend: %s", err.text);
	field_struct_init(&trend_desc, &trend);
	snprintf(title, sizeof(title), "%s%s%s", name != NULL ? name : "",
	    name != NULL && options->tag != NULL ? ", " : "", options->tag != NULL ? options->tag : "");
	enum ls_rc rc = collect(cli, options, &filter, metric, &trend, &err);
	if (rc == LS_OK) {
		trend_end(&trend, metric, title);
		rc = write_trend(&trend, format, options->output, &err);
	}
	field_struct_fini(&trend_desc, &trend);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}

static void
metrics_help(struct sink *out)
{
	sink_printf(out, "\nmetrics:\n");
	for (size_t i = 0; compare_metrics[i].name != NULL; i++)
		sink_printf(out, "  %-13s %s\n", compare_metrics[i].name, compare_metrics[i].help);
}

const struct cmd cmd_trend = {
	.name = "trend",
	.summary = "show a metric over the runs of a name, and where it changed",
	.synopsis = "[NAME] [--tag PATTERN] [--metric METRIC] [--phase PATTERN] [--format FORMAT] [--output FILE]",
	.help = "Shows each phase of the finished runs of a name (a pattern as of the shell) or tag over time: a line "
		"of bars, "
		"the\n"
		"numbers, and a mark where the level changed. What counts as a change is said below the numbers.\n"
		"\n"
		"examples:\n"
		"  lockstep trend nightly\n"
		"  lockstep trend 'night*' --volume /mnt/vol --since 90d --phase write --metric p99\n"
		"  lockstep trend nightly --format html -o nightly.html",
	.more_help = metrics_help,
	.options = rows,
	.options_size = sizeof(struct trend_options),
	.max_words = 1,
	.run = run_trend,
};
