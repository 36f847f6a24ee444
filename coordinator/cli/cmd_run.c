#include "coordinator/cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/dry_run.h"
#include "coordinator/cli/files.h"
#include "coordinator/cli/follow.h"
#include "coordinator/cli/jobs.h"
#include "coordinator/cli/local.h"
#include "coordinator/cli/output.h"
#include "proto/model/label.h"

extern const struct cmd cmd_run;

#define LOCAL_WAIT_NS     (20 * NS_PER_S)
#define RECONNECT_FOR_NS  (30 * NS_PER_S)
#define RECONNECT_STEP_NS (200 * NS_PER_MS)

struct run_options {
	const char *path, *nodes, *nodes_from, *expect, *json, *format;
	const char *note;
	struct option_texts set, tags;
	uint64_t workers, repeat, local;
	int64_t wait_ns;
	bool detach, no_tty, dry_run;
};

#define O(member) offsetof(struct run_options, member)

static const struct option_row rows[] = {
	{ "path", 'p', OPTION_TEXT, O(path), "DIR", "directory on the volume under test, the same on all nodes", 0, 0 },
	{ "nodes", 0, OPTION_TEXT, O(nodes), "A,B,C",
	    "nodes that take part; default: as the job says, else all connected", 0, 0 },
	{ "nodes-from", 0, OPTION_TEXT, O(nodes_from), "FILE", "the nodes of an OCFS2 cluster.conf or a corosync.conf",
	    0, 0 },
	{ "expect", 0, OPTION_TEXT, O(expect), "TYPE", "file system that the path must lie on, such as ocfs2", 0, 0 },
	{ "workers", 'w', OPTION_COUNT, O(workers), "N", "workers (threads) per node", 1, 4096 },
	{ "repeat", 'r', OPTION_COUNT, O(repeat), "N", "run the list of phases so often", 1, 10000 },
	{ "set", 's', OPTION_TEXTS, O(set), "KEY=VALUE",
	    "change a value of the job, such as phases.file_size=1GiB; may be repeated", 0, 0 },
	{ "tag", 't', OPTION_TEXTS, O(tags), "TAG", "a tag of the run, see lockstep tag; may be repeated", 0, 0 },
	{ "note", 0, OPTION_TEXT, O(note), "TEXT", "a note on the run, see lockstep note", 0, 0 },
	{ "json", 'j', OPTION_TEXT, O(json), "FILE", "write the results document there", 0, 0 },
	{ "format", 'f', OPTION_TEXT, O(format), "FORMAT", "of the report on standard output: text, json or csv", 0,
	    0 },
	{ "local", 'l', OPTION_COUNT, O(local), "N",
	    "no cluster: start lockstepd and N agents on this machine, for this run", 1, LOCAL_NODES_MAX },
	{ "wait", 0, OPTION_DURATION, O(wait_ns), "TIME", "wait so long for missing nodes, such as 30s", 0, 0 },
	{ "detach", 'd', OPTION_FLAG, O(detach), NULL, "print the run's id and do not wait for its end", 0, 0 },
	{ "dry-run", 0, OPTION_FLAG, O(dry_run), NULL,
	    "start nothing: tell what each node would do, and what would refuse it; --json takes the plan", 0, 0 },
	{ "no-tty", 0, OPTION_FLAG, O(no_tty), NULL, "plain lines even on a terminal", 0, 0 },
	{ 0 },
};

/* All that belongs to one "lockstep run". */
struct run {
	const struct cli *cli;
	const struct run_options *options;
	const struct report_format *format;
	struct job job;
	struct local *local;   /* NULL without --local */
	struct client *client; /* NULL while there is no connection */
	const char *address;   /* NULL: as cli says */
	struct follow_options follow;
	struct follow_result result;
};

/* --- preparation: everything that can be wrong is found before anything is started --------------------------------- */

static enum cli_exit
check_options(struct run *run)
{
	const struct run_options *options = run->options;
	struct ls_err err;

	if (options->local != 0 && (options->detach || options->nodes != NULL))
		return cli_fail(
		    CLI_USAGE, "run: --local cannot be used with %s", options->detach ? "--detach" : "--nodes");
	if (options->dry_run && (options->detach || options->format != NULL))
		return cli_fail(CLI_USAGE, "run: --dry-run makes no results: it cannot be used with %s",
		    options->detach ? "--detach" : "--format");
	if (options->detach && (options->json != NULL || options->format != NULL))
		return cli_fail(CLI_USAGE, "run: --detach does not wait for results: use lockstep report later");
	if (output_format(options->format != NULL ? options->format : "text", &run->format, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "run: %s", err.text);
	if (label_check((char *const *)(uintptr_t)options->tags.items, options->tags.count, options->note, &err) !=
	    LS_OK)
		return cli_fail(CLI_USAGE, "run: %s", err.text);
	if (options->json != NULL && file_check_writable(options->json, &err) != LS_OK)
		return cli_fail(CLI_USAGE, "run: --json: %s", err.text);
	return CLI_OK;
}

/* A relative or linked path is made plain for --local, where this machine is the whole cluster. */
static enum cli_exit
load_job(struct run *run, const char *what)
{
	const struct run_options *options = run->options;
	struct job_overrides overrides = {
		.path = options->path,
		.nodes = options->nodes,
		.nodes_from = options->nodes_from,
		.expect = options->expect,
		.workers = options->workers,
		.repeat = options->repeat,
		.set = &options->set,
	};
	char *real = NULL;
	struct ls_err err;

	if (options->local != 0 && options->path != NULL) {
		real = realpath(options->path, NULL);
		if (real == NULL) {
			ls_err_sys(&err, errno, "--path: %s", options->path);
			return cli_fail(CLI_REFUSED, "run: %s", err.text);
		}
		overrides.path = real;
	}
	enum ls_rc rc = jobs_load(what, &overrides, &run->job, &err);
	free(real);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_USAGE, "%s", err.text);
}

static void
set_local_nodes(struct job *job, size_t count)
{
	struct option_texts names = { 0 };
	char text[LOCAL_NODES_MAX][16];

	for (size_t i = 0; i < count && i < LOCAL_NODES_MAX; i++) {
		snprintf(text[i], sizeof(text[i]), "node%zu", i + 1);
		option_texts_add(&names, text[i]);
	}
	jobs_set_nodes(job, names.items, names.count);
	option_texts_free(&names);
	job->min_nodes = count;
}

static enum cli_exit
start_local(struct run *run)
{
	char *real = realpath(run->job.path, NULL);
	struct ls_err err;

	if (real == NULL) {
		ls_err_sys(&err, errno, "path: %s", run->job.path);
		return cli_fail(CLI_REFUSED, "run: %s", err.text);
	}
	free(run->job.path);
	run->job.path = real;
	set_local_nodes(&run->job, run->options->local);
	follow_block_signals(true); /* until follow_run can deal with them */
	if (local_start(run->options->local, run->job.path, &run->local, &err) != LS_OK)
		return cli_fail(CLI_REFUSED, "%s", err.text);
	run->address = local_address(run->local);
	return CLI_OK;
}

/* --- the run ------------------------------------------------------------------------------------------------------- */

static enum ls_rc
submit(struct run *run, struct ls_err *err)
{
	struct msg_submit ask;

	msg_body_init(MSG_SUBMIT, &ask);
	field_struct_fini(&job_desc, &ask.job);
	ask.job = run->job; /* lent for the call */
	ask.wait_ns = run->options->wait_ns;
	if (run->local != NULL && ask.wait_ns == 0)
		ask.wait_ns = LOCAL_WAIT_NS;
	ask.watch = !run->options->detach;
	ask.tags = (char **)(uintptr_t)run->options->tags.items;
	ask.tags_count = run->options->tags.count;
	ask.note = (char *)(uintptr_t)run->options->note;
	return client_send(run->client, MSG_SUBMIT, &ask, err);
}

static enum cli_exit
detach_at_once(struct run *run)
{
	struct msg msg;
	struct ls_err err;

	if (client_expect(run->client, MSG_SUBMITTED, &msg, &err) != LS_OK)
		return cli_fail_err(&err);
	printf("%s\n", ((struct msg_submitted *)msg.body)->run);
	msg_fini(&msg);
	return CLI_OK;
}

/* A restarted lockstepd takes up its runs: look for it for a while, then go on watching. */
static enum ls_rc
watch_again(struct run *run, struct ls_err *err)
{
	struct ls_mono until = { ls_mono_now().ns + RECONNECT_FOR_NS };
	struct msg_watch ask;
	enum ls_rc rc;

	client_close(run->client);
	run->client = NULL;
	fprintf(stderr, "lockstep: %s; trying to reach it again\n", err->text);
	while ((rc = client_open(run->cli, run->address, &run->client, err)) != LS_OK) {
		struct ls_mono now = ls_mono_now();

		if (now.ns > until.ns)
			return rc;
		ls_mono_sleep_until((struct ls_mono){ now.ns + RECONNECT_STEP_NS });
	}
	msg_body_init(MSG_WATCH, &ask);
	ask.run = ls_strdup(run->result.run);
	rc = client_send(run->client, MSG_WATCH, &ask, err);
	msg_body_fini(MSG_WATCH, &ask);
	return rc;
}

static enum ls_rc
follow(struct run *run, struct ls_err *err)
{
	enum ls_rc rc = submit(run, err);

	while (rc == LS_OK && !run->result.ended && !run->result.detached) {
		rc = follow_run(run->client, &run->follow, &run->result, err);
		if (rc == LS_E_CLOSED && run->local == NULL && run->result.run[0] != '\0')
			rc = watch_again(run, err);
	}
	return rc;
}

/* Did a phase that verified find blocks that are not what was written? Says so. */
static enum cli_exit
judge_phases(const struct results *results)
{
	size_t bad = 0, violated = 0;

	for (size_t i = 0; i < results->phases_count; i++) {
		const struct phase_result *phase = &results->phases[i];

		bad += phase->state == PHASE_STATE_MISMATCH;
		violated += phase->promise != NULL && phase->promise->outcome == OUTCOME_VIOLATED;
	}
	if (violated > 0)
		return cli_fail(CLI_MISMATCH, "coherence: what the file system promises was violated in %zu phase%s",
		    violated, violated == 1 ? "" : "s");
	if (bad == 0)
		return CLI_OK;
	return cli_fail(CLI_MISMATCH, "verification: %zu phase%s read blocks that are not what was written", bad,
	    bad == 1 ? "" : "s");
}

/* Report and results file. Nothing to report of a run that never began. */
static enum cli_exit
report(struct run *run)
{
	struct results results;
	struct ls_err err;
	char *text;
	size_t len;

	enum ls_rc rc = client_export(run->client, run->result.run, CLIENT_DOCUMENT, &text, &len, &err);
	if (rc != LS_OK)
		return cli_fail(CLI_FAILED, "results of run %s: %s", run->result.run, err.text);
	rc = results_parse(text, len, run->result.run, &results, &err);
	free(text);
	if (rc != LS_OK)
		return cli_fail(CLI_FAILED, "%s", err.text);
	if (run->options->json != NULL)
		rc = results_write(&results, report_format_find("json"), run->options->json, &err);
	if (rc == LS_OK && (run->options->json == NULL || strcmp(run->options->json, "-") != 0))
		rc = results_write(&results, run->format, NULL, &err);
	enum cli_exit verdict = rc == LS_OK ? judge_phases(&results) : CLI_OK;
	field_struct_fini(&results_desc, &results);
	return rc == LS_OK ? verdict : cli_fail(CLI_FAILED, "%s", err.text);
}

static enum cli_exit
conclude(struct run *run)
{
	const struct follow_result *result = &run->result;

	if (result->detached) {
		if (!run->cli->quiet)
			fprintf(stderr, "run %s goes on; lockstep watch %s shows it, lockstep report %s its results\n",
			    result->run, result->run, result->run);
		return CLI_OK;
	}
	if (result->state == RUN_REFUSED)
		return cli_fail(CLI_REFUSED, "%s", result->text[0] != '\0' ? result->text : "the run was refused");

	enum cli_exit status = report(run);
	if (result->state == RUN_FINISHED)
		return status;
	return cli_fail(CLI_FAILED, "run %s %s%s%s", result->run, field_enum_name(run_state_names, (int)result->state),
	    result->text[0] != '\0' ? ": " : "", result->text);
}

static enum cli_exit
run_connected(struct run *run)
{
	struct ls_err err;

	if (client_open(run->cli, run->address, &run->client, &err) != LS_OK)
		return cli_fail(CLI_REFUSED, "%s", err.text);
	if (run->options->detach) {
		if (submit(run, &err) != LS_OK)
			return cli_fail_err(&err);
		return detach_at_once(run);
	}

	run->follow.style = run->cli->quiet ? LIVE_QUIET : run->options->no_tty ? LIVE_LINES : live_style_here();
	if (run->local != NULL) {
		run->follow.interrupt = FOLLOW_ABORTS;
		run->follow.child_ended = local_child_ended;
		run->follow.arg = run->local;
	}
	enum ls_rc rc = follow(run, &err);
	if (run->local != NULL)
		follow_block_signals(true); /* the processes must still be ended */
	if (rc != LS_OK)
		return cli_fail(CLI_FAILED, "%s", err.text);
	return conclude(run);
}

static enum cli_exit
run_run(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	struct run run = { .cli = cli, .options = opaque };
	enum cli_exit status = check_options(&run);

	if (status != CLI_OK)
		return status;
	status = load_job(&run, words->items[0]);
	if (status != CLI_OK)
		return status;
	if (run.options->dry_run) {
		const struct dry_run what = { .local = run.options->local, .json = run.options->json };

		status = dry_run(cli, &what, &run.job);
		field_struct_fini(&job_desc, &run.job);
		return status;
	}
	if (run.options->local != 0)
		status = start_local(&run);
	if (status == CLI_OK)
		status = run_connected(&run);
	client_close(run.client);
	fflush(stdout);
	/* an abort that was asked for needs no explanation from the daemons */
	bool failed = status == CLI_FAILED && run.result.state != RUN_ABORTED;
	local_stop(run.local, failed || (run.local != NULL && local_child_ended(run.local)));
	field_struct_fini(&job_desc, &run.job);
	return status;
}

const struct cmd cmd_run = {
	.name = "run",
	.summary = "run a job or a preset, show its progress, print the report",
	.synopsis = "JOB-or-PRESET [--path DIR] [options]",
	.help =
	    "Runs a job on several machines at the same time and prints one report: every machine by itself, and all "
	    "together.\n"
	    "JOB is a job file (JSON, see lockstep-job(5)) when it contains a \"/\", ends in .json or exists; else the "
	    "name of\n"
	    "a preset (lockstep presets lists them). Everything is made in a directory of the run's own below DIR and "
	    "removed\n"
	    "at the end.\n"
	    "\n"
	    "With --local N nothing needs to be set up: lockstepd and N agents are started here, with certificates "
	    "made for\n"
	    "the occasion, and ended afterwards. Page cache and locks are shared then: it is not a cluster result.\n"
	    "\n"
	    "Ctrl-C asks whether to detach (the run goes on) or to abort it; a second Ctrl-C aborts. Without a "
	    "terminal, and\n"
	    "with --local, it aborts at once. What was measured until then is reported.\n"
	    "\n"
	    "--dry-run tells phases as they would be written out, files, bytes, time (as the job says, or as an "
	    "earlier "
	    "run of the\n"
	    "same job took) and which limits refuse it (exit status 3). It asks lockstepd for its nodes; without one "
	    "it assumes\n"
	    "three, those of --nodes, or those of --local N.\n"
	    "\n"
	    "examples:\n"
	    "  lockstep run --local 3 --path /mnt/vol quick\n"
	    "  lockstep run --path /mnt/vol --nodes a,b,c bonnie --json out.json\n"
	    "  lockstep run --path /mnt/vol --set phases.direct=true --set phases.record_size=1MiB --repeat 5 quick\n"
	    "  lockstep run my-job.json --dry-run\n"
	    "  lockstep run my-job.json --detach",
	.options = rows,
	.options_size = sizeof(struct run_options),
	.min_words = 1,
	.max_words = 1,
	.run = run_run,
};
