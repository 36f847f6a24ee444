#include "coordinator/cli/dry_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/files.h"
#include "coordinator/cli/jobs.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/plan.h"
#include "proto/codec/json.h"

#define ASSUMED_NODES  3
#define RUNS_LOOKED_AT 1000

/* What lockstepd tells. */
struct asked {
	struct client *client; /* NULL: there is none to ask */
	struct node_row *rows;
	size_t count;
	char earlier[65]; /* the run to learn from; "": none */
};

/* --- what lockstepd knows ----------------------------------------------------------------------------------------------------- */

static enum ls_rc
ask_nodes(struct asked *asked, struct ls_err *err)
{
	struct msg_nodes ask;
	struct msg msg;

	msg_body_init(MSG_NODES, &ask);
	ask.all = true;
	enum ls_rc rc = client_send(asked->client, MSG_NODES, &ask, err);
	msg_body_fini(MSG_NODES, &ask);
	while (rc == LS_OK && (rc = client_expect(asked->client, MSG_NODE, &msg, err)) == LS_OK) {
		struct msg_node *body = msg.body;

		asked->rows = ls_grow(asked->rows, asked->count, sizeof(*asked->rows));
		asked->rows[asked->count++] = body->node; /* taken over */
		field_struct_init(&node_row_desc, &body->node);
		msg_fini(&msg);
	}
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

/* The newest that finished, of this name, in this directory, with as many nodes. */
static enum ls_rc
ask_earlier(struct asked *asked, const struct job *job, size_t nodes, struct ls_err *err)
{
	struct msg_list ask;
	struct msg msg;

	msg_body_init(MSG_LIST, &ask);
	ask.limit = RUNS_LOOKED_AT;
	enum ls_rc rc = client_send(asked->client, MSG_LIST, &ask, err);
	msg_body_fini(MSG_LIST, &ask);
	while (rc == LS_OK && (rc = client_expect(asked->client, MSG_LISTED, &msg, err)) == LS_OK) {
		const struct run_row *row = &((struct msg_listed *)msg.body)->run;

		if (asked->earlier[0] == '\0' && row->state == RUN_FINISHED && row->nodes == nodes &&
		    strcmp(row->name, job->name) == 0 && strcmp(row->path, job->path) == 0)
			snprintf(asked->earlier, sizeof(asked->earlier), "%s", row->id);
		msg_fini(&msg);
	}
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

static enum ls_rc
learn(struct asked *asked, const struct job *job, struct plan *plan, struct ls_err *err)
{
	struct results earlier;
	char *text;
	size_t len;
	enum ls_rc rc = ask_earlier(asked, job, plan->nodes_count, err);

	if (rc != LS_OK || asked->earlier[0] == '\0')
		return rc;
	rc = client_export(asked->client, asked->earlier, CLIENT_SUMMARY, &text, &len, err);
	if (rc != LS_OK)
		return rc;
	rc = results_parse(text, len, asked->earlier, &earlier, err);
	free(text);
	if (rc != LS_OK)
		return rc;
	plan_learn(plan, job, &earlier);
	field_struct_fini(&results_desc, &earlier);
	return LS_OK;
}

/* --- nodes -------------------------------------------------------------------------------------------------------------------- */

static void
name_nodes(struct job *job, const char *stem, size_t count)
{
	struct option_texts names = { 0 };
	char **text = ls_calloc(count + 1, sizeof(*text));

	for (size_t i = 0; i < count; i++) {
		text[i] = ls_asprintf("%s%zu", stem, i + 1);
		option_texts_add(&names, text[i]);
	}
	jobs_set_nodes(job, names.items, names.count);
	option_texts_free(&names);
	for (size_t i = 0; i < count; i++)
		free(text[i]);
	free(text);
}

static void
take_connected(struct job *job, const struct asked *asked)
{
	struct option_texts names = { 0 };

	for (size_t i = 0; i < asked->count; i++)
		if (asked->rows[i].connected)
			option_texts_add(&names, asked->rows[i].name);
	jobs_set_nodes(job, names.items, names.count);
	option_texts_free(&names);
}

/* Gives the job the nodes that it would run on, and says how they are known. */
static const char *
settle_nodes(struct job *job, const struct dry_run *what, const struct asked *asked)
{
	if (what->local > 0) {
		name_nodes(job, "node", what->local);
		return "on this machine, as --local makes them";
	}
	if (job->nodes_count > 0)
		return asked->client != NULL ? "as named" : "as named; no lockstepd was asked about them";
	if (asked->client != NULL) {
		take_connected(job, asked);
		return "all that are connected";
	}
	name_nodes(job, "node", LS_MAX(job->min_nodes, (uint64_t)ASSUMED_NODES));
	return "assumed, as no lockstepd can be asked";
}

/* --- as text ------------------------------------------------------------------------------------------------------------------ */

static const char *
size_text(uint64_t bytes, char *buf, size_t len)
{
	return bytes == LS_UNKNOWN_U64 ? "unknown" : units_format_size(bytes, buf, len);
}

static const char *
time_text(int64_t ns, char *buf, size_t len)
{
	return ns == LS_UNKNOWN_I64 ? "unknown" : units_format_duration(ns, buf, len);
}

/* "all", one name, or "2 of 3"; the most that one of them moves. */
static void
add_who(struct table *table, const struct plan_phase *phase)
{
	const char *only = NULL;
	size_t at_work = 0;

	for (size_t i = 0; i < phase->nodes_count; i++) {
		if (phase->nodes[i].workers == 0)
			continue;
		at_work++;
		only = phase->nodes[i].node;
	}
	if (at_work == phase->nodes_count && at_work != 1)
		table_add(table, "all");
	else if (at_work == 1)
		table_add(table, only);
	else
		table_addf(table, "%zu of %zu", at_work, phase->nodes_count);
}

static void
add_phase(struct table *table, const struct plan_phase *phase)
{
	uint64_t workers = 0, most = 0;
	char buf[32];

	for (size_t i = 0; i < phase->nodes_count; i++) {
		workers = LS_MAX(workers, phase->nodes[i].workers);
		most = LS_MAX(most, phase->nodes[i].bytes); /* unknown is the largest */
	}
	table_addf(table, "%" PRIu64, phase->index + 1);
	table_add(table, phase->name);
	add_who(table, phase);
	table_addf(table, "%" PRIu64, workers);
	table_addf(table, "%" PRIu64, phase->files);
	table_add(table, units_format_size(phase->file_bytes, buf, sizeof(buf)));
	table_add(table, size_text(most, buf, sizeof(buf)));
	table_add(table, size_text(phase->bytes, buf, sizeof(buf)));
	table_add(table, time_text(phase->time_ns, buf, sizeof(buf)));
	table_add(table, phase->from);
}

static void
print_phases(const struct plan *plan)
{
	static const char *const heads[] = { "#", "PHASE", "NODES", "WORKERS", "FILES", "THEIR SIZE", "A NODE MOVES",
		"ALL MOVE", "TIME", "BY" };
	struct table table = { .columns = ARRAY_LEN(heads) };

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	for (size_t i = 0; i < plan->phases_count; i++)
		add_phase(&table, &plan->phases[i]);
	table_print(&table);
}

/* One line a node: what is its part of all phases. */
static void
print_nodes(const struct plan *plan)
{
	static const char *const heads[] = { "NODE", "PHASES", "MOST WORKERS", "MOVES IN ALL" };
	struct table table = { .columns = ARRAY_LEN(heads) };
	char buf[32];

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		table_add(&table, heads[i]);
	for (size_t n = 0; n < plan->nodes_count; n++) {
		uint64_t phases = 0, workers = 0;
		double bytes = 0;
		bool known = true;

		for (size_t p = 0; p < plan->phases_count; p++) {
			const struct plan_part *part = &plan->phases[p].nodes[n];

			phases += part->workers > 0;
			workers = LS_MAX(workers, part->workers);
			known &= part->bytes != LS_UNKNOWN_U64;
			bytes += part->bytes != LS_UNKNOWN_U64 ? (double)part->bytes * (double)plan->repeat : 0;
		}
		table_add(&table, plan->nodes[n]);
		table_addf(&table, "%" PRIu64, phases * plan->repeat);
		table_addf(&table, "%" PRIu64, workers);
		table_addf(&table, "%s%s", known ? "" : "at least ",
		    units_format_size(bytes >= (double)INT64_MAX ? INT64_MAX : (uint64_t)bytes, buf, sizeof(buf)));
	}
	table_print(&table);
}

static void
print_limits(const struct plan *plan)
{
	printf("\n");
	for (size_t i = 0; i < plan->limits_count; i++) {
		const struct check_row *row = &plan->limits[i];

		printf("%s %s%s%s%s: %s\n",
		    row->level == CHECK_FAILED ? "would refuse:" : "note:", row->node != NULL ? "node " : "",
		    row->node != NULL ? row->node : "", row->node != NULL ? ", " : "", row->check, row->text);
	}
}

static void
print_plan(const struct plan *plan)
{
	char a[32], b[32];

	printf("dry run of %s on %s: nothing is started\n", plan->name, plan->path);
	printf("%zu node%s (%s), %zu phase%s", plan->nodes_count, plan->nodes_count == 1 ? "" : "s", plan->nodes_from,
	    plan->phases_count, plan->phases_count == 1 ? "" : "s");
	if (plan->repeat > 1)
		printf(", %" PRIu64 " times over", plan->repeat);
	printf("\non the volume at most %s in %" PRIu64 " files at a time\n\n",
	    units_format_size(plan->need_bytes, a, sizeof(a)), plan->need_files);
	print_phases(plan);
	printf("\n");
	print_nodes(plan);
	printf("\nestimated: %s%s moved, %s%s of phases", plan->bytes_unknown > 0 ? "at least " : "",
	    units_format_size(plan->bytes, a, sizeof(a)),
	    plan->time_unknown > 0 && plan->time_unknown < plan->phases_count * plan->repeat ? "at least " : "",
	    plan->time_unknown == plan->phases_count * plan->repeat
		? "unknown time"
		: units_format_duration(plan->time_ns, b, sizeof(b)));
	printf("; making files before a phase comes on top\n");
	if (plan->limits_count > 0)
		print_limits(plan);
	printf("space on the volume and its reserve: lockstep check looks at them\n");
}

static enum ls_rc
print_json(const struct plan *plan, const char *path, struct ls_err *err)
{
	char *text = json_encode_struct(&plan_desc, plan, true, NULL);
	enum ls_rc rc = LS_OK;

	if (strcmp(path, "-") == 0)
		printf("%s\n", text);
	else
		rc = file_write(path, text, strlen(text), err);
	free(text);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------------------------------------------- */

static enum cli_exit
judge(const struct plan *plan)
{
	size_t refusals = 0;

	for (size_t i = 0; i < plan->limits_count; i++)
		refusals += plan->limits[i].level == CHECK_FAILED;
	if (refusals == 0)
		return CLI_OK;
	return cli_fail(CLI_REFUSED, "run: this would be refused for %zu reason%s", refusals, refusals == 1 ? "" : "s");
}

static void
ask(const struct cli *cli, const struct dry_run *what, struct asked *asked)
{
	struct ls_err err;

	if (what->local > 0)
		return;
	if (client_open(cli, NULL, &asked->client, &err) != LS_OK) {
		asked->client = NULL;
		fprintf(stderr, "lockstep: %s; going on without it\n", err.text);
		return;
	}
	if (ask_nodes(asked, &err) == LS_OK)
		return;
	fprintf(stderr, "lockstep: %s; going on without it\n", err.text);
	client_close(asked->client);
	asked->client = NULL;
}

enum cli_exit
dry_run(const struct cli *cli, const struct dry_run *what, struct job *job)
{
	struct asked asked = { 0 };
	struct plan plan;
	struct ls_err err;

	ask(cli, what, &asked);
	const char *from = settle_nodes(job, what, &asked);
	const struct plan_nodes nodes = {
		.names = job->nodes,
		.count = job->nodes_count,
		.known = asked.client != NULL ? asked.rows : NULL,
		.known_count = asked.client != NULL ? asked.count : 0,
	};
	plan_make(job, &nodes, &plan);
	free(plan.nodes_from);
	plan.nodes_from = ls_strdup(from);
	if (asked.client != NULL && learn(&asked, job, &plan, &err) != LS_OK)
		fprintf(stderr, "lockstep: an earlier run cannot be read: %s\n", err.text);
	plan_finish(&plan, &nodes);

	enum ls_rc rc = what->json != NULL ? print_json(&plan, what->json, &err) : LS_OK;
	if (rc == LS_OK && (what->json == NULL || strcmp(what->json, "-") != 0))
		print_plan(&plan);
	fflush(stdout);
	enum cli_exit status = rc == LS_OK ? judge(&plan) : cli_fail_err(&err);
	field_struct_fini(&plan_desc, &plan);
	client_close(asked.client);
	for (size_t i = 0; i < asked.count; i++)
		field_struct_fini(&node_row_desc, &asked.rows[i]);
	free(asked.rows);
	return status;
}
