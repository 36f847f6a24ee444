/* What the web pages show of the present: nodes, the run that goes on, metrics. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/version.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/watch.h"
#include "coordinator/daemon/web_int.h"
#include "proto/codec/json.h"
#include "proto/codec/live.h"

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "coordinator/daemon/web.def"
#include "common/base/field_undef.h"
/* clang-format on */

/* --- nodes ------------------------------------------------------------------------------------------------------------------- */

char *
web_make_nodes(struct daemon *d, size_t *len)
{
	const struct registry *r = &d->registry;
	struct web_nodes all = { .version = (char *)(uintptr_t)lockstep_version,
		.build = (char *)(uintptr_t)lockstep_build,
		.nodes_count = r->count };
	struct ls_mono now = ls_mono_now();
	char *text;

	all.nodes = ls_calloc(r->count + 1, sizeof(*all.nodes));
	for (size_t i = 0; i < r->count; i++) {
		struct node *n = r->nodes[i];
		struct node_row row = node_to_row(n, now);

		all.nodes[i] = (struct web_node){
			/* borrows all */
			.name = n->name,
			.connected = n->session != NULL,
			.address = row.address,
			.silent_ns = row.silent_ns,
			.clock_uncertainty_ns = row.clock.uncertainty_ns,
			.run = row.run,
			.version = n->version[0] != '\0' ? n->version : NULL,
		};
	}
	text = json_encode_struct(&web_nodes_desc, &all, false, len);
	free(all.nodes);
	return text;
}

/* --- the run ------------------------------------------------------------------------------------------------------------------ */

char *
web_make_live(struct daemon *d, size_t *len)
{
	struct msg_run_event e;
	char *text;

	if (d->active == NULL || d->active->check_only) {
		*len = strlen("null");
		return ls_strdup("null");
	}
	watch_fill(d->active, &e);
	text = json_encode_struct(&msg_run_event_desc, &e, false, len);
	free(e.nodes);
	return text;
}

/* --- metrics ------------------------------------------------------------------------------------------------------------------- */

static void
family(struct sink *out, const char *name, const char *help)
{
	sink_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* A label's value. */
static void
label_text(struct sink *out, const char *text)
{
	sink_printf(out, "\"");
	for (; text != NULL && *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			sink_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			sink_printf(out, " ");
		else
			sink_add(out, text, 1);
	}
	sink_printf(out, "\"");
}

static void
node_metrics(struct sink *out, const struct daemon *d)
{
	size_t connected = 0;

	for (size_t i = 0; i < d->registry.count; i++)
		connected += d->registry.nodes[i]->session != NULL;
	family(out, "lockstep_nodes_connected", "Nodes that are connected.");
	sink_printf(out, "lockstep_nodes_connected %zu\n", connected);
	family(out, "lockstep_nodes_known", "Nodes that were seen since lockstepd started.");
	sink_printf(out, "lockstep_nodes_known %zu\n", d->registry.count);
	family(out, "lockstep_operators_connected", "Operators that are connected.");
	sink_printf(out, "lockstep_operators_connected %zu\n", d->operator_count);
}

static void
queue_metrics(struct sink *out, const struct daemon *d)
{
	size_t queued = 0;

	for (const struct run *r = d->runs; r != NULL; r = r->next)
		queued += r->stage == STAGE_QUEUED;
	family(out, "lockstep_runs_queued", "Runs that wait for their turn.");
	sink_printf(out, "lockstep_runs_queued %zu\n", queued);
	family(out, "lockstep_run_active", "1 while a run goes on.");
	sink_printf(out, "lockstep_run_active %d\n", d->active != NULL && !d->active->check_only);
}

/* A sample about the run that goes on; op NULL: of all that it does. */
static void
run_sample(struct sink *out, const struct run *run, const struct msg_run_event *e, const char *name, const char *op,
    double value)
{
	if (!isfinite(value))
		return;
	sink_printf(out, "%s{run=", name);
	label_text(out, e->run);
	sink_printf(out, ",job=");
	label_text(out, run->job.name);
	sink_printf(out, ",phase=");
	label_text(out, e->title);
	if (op != NULL) {
		sink_printf(out, ",op=");
		label_text(out, op);
	}
	sink_printf(out, "} %.17g\n", value);
}

static void
run_metric(struct sink *out, const struct run *run, const struct msg_run_event *e, const char *name, const char *help,
    double value)
{
	family(out, name, help);
	run_sample(out, run, e, name, NULL, value);
}

/* Phases that mix reads and writes have a sample for each. */
static void
rate_metric(struct sink *out, const struct run *run, const struct msg_run_event *e, bool bytes)
{
	const char *name = bytes ? "lockstep_run_bytes_per_second" : "lockstep_run_operations_per_second";
	struct live_totals t = live_totals_of(e);

	family(out, name,
	    bytes ? "Bytes a second of all nodes, over the last sample."
		  : "Operations a second of all nodes, over the last sample.");
	run_sample(out, run, e, name, NULL, bytes ? t.rate.bytes_per_s : t.rate.ops_per_s);
	for (int op = 0; op < OP_COUNT; op++)
		run_sample(out, run, e, name, op_names[op], bytes ? t.by_op[op].bytes_per_s : t.by_op[op].ops_per_s);
}

static void
live_metrics(struct sink *out, const struct run *run)
{
	struct msg_run_event e;
	double workers = 0, stalled = 0;

	watch_fill(run, &e);
	for (size_t i = 0; i < e.nodes_count; i++) {
		workers += (double)e.nodes[i].workers_active;
		stalled += (double)e.nodes[i].stalls_count;
	}
	rate_metric(out, run, &e, true);
	rate_metric(out, run, &e, false);
	run_metric(out, run, &e, "lockstep_run_workers_active", "Workers that are at work.", workers);
	run_metric(
	    out, run, &e, "lockstep_run_workers_stalled", "Workers that make no progress, 16 a node at most.", stalled);
	run_metric(out, run, &e, "lockstep_run_nodes", "Nodes of the run.", (double)e.nodes_count);
	run_metric(out, run, &e, "lockstep_run_phase_progress_ratio", "Share of the phase that is done.", e.progress);
	run_metric(out, run, &e, "lockstep_run_phases_done", "Phases that are done.", (double)e.phases_done);
	run_metric(
	    out, run, &e, "lockstep_run_phases", "Phases of the run, repetitions counted.", (double)e.phases_total);
	free(e.nodes);
}

char *
web_make_metrics(struct daemon *d, size_t *len)
{
	struct sink out = { 0 };

	family(&out, "lockstep_build_info", "Version and build of lockstepd; always 1.");
	sink_printf(&out, "lockstep_build_info{version=\"%s\",build=\"%s\"} 1\n", lockstep_version, lockstep_build);
	node_metrics(&out, d);
	queue_metrics(&out, d);
	if (d->active != NULL && !d->active->check_only)
		live_metrics(&out, d->active);
	sink_printf(&out, "# EOF\n");
	*len = out.len;
	return out.text;
}
