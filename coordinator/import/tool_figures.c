#include "coordinator/import/tool_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/import_int.h"
#include "coordinator/import/tool_output.h"
#include "proto/model/fio_job.h"
#include "proto/model/tool.h"

/* Counters that are further off than this share of what the program says it moved do not show its work. */
#define COUNTERS_OFF 0.05

static bool
is_fio(const struct phase_result *phase)
{
	return phase->spec.kind == PHASE_RUN_FIO;
}

static void
fail_node(struct node_result *node, const struct ls_err *err)
{
	node->state = NODE_FAILED;
	node->errors++;
	node->error_list = ls_grow(node->error_list, node->error_list_count, sizeof(*node->error_list));
	struct io_error *e = &node->error_list[node->error_list_count++];
	field_struct_init(&io_error_desc, e);
	e->step = ls_strdup("run");
	free(e->text);
	e->text = ls_strdup(err->text);
}

/* --- fio ------------------------------------------------------------------------------------------------------------ */

/* Adds one job's operations of a direction to those of the node; histograms by their buckets. */
static void
add_op(struct node_result *to, enum op_kind op, const struct op_result *from)
{
	struct hist *hist = ls_malloc(sizeof(*hist));
	struct op_result *mine = import_op(to, op);
	struct latency sum;

	hist_reset(hist);
	if (latency_add_to_hist(&mine->latency_ns, hist, NULL) == LS_OK &&
	    latency_add_to_hist(&from->latency_ns, hist, NULL) == LS_OK) {
		field_struct_init(&latency_desc, &sum);
		latency_from_hist(hist, &sum);
		field_struct_fini(&latency_desc, &mine->latency_ns);
		mine->latency_ns = sum;
	}
	free(hist);
	mine->bytes += from->bytes;
	mine->ops += from->ops;
}

static void
add_ops(struct node_result *to, const struct results *doc)
{
	for (size_t p = 0; p < doc->phases_count; p++)
		for (size_t n = 0; n < doc->phases[p].nodes_count; n++)
			for (int op = 0; op < OP_COUNT; op++) {
				const struct op_result *r = by_op_get(&doc->phases[p].nodes[n].by_op, (enum op_kind)op);

				if (r != NULL)
					add_op(to, (enum op_kind)op, r);
			}
}

void
tool_figures_before(struct phase_result *phase)
{
	struct tool_step step;

	if (!tool_step_of(&phase->spec, &step))
		return;
	phase->kind = (int)step.kind;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		struct node_result *node = &phase->nodes[n];
		struct import_set set = { 0 };
		struct ls_err err = { 0 };

		if (!tool_output_whole(node))
			continue;
		if (tool_output_read(node, &set, &err) != LS_OK)
			fail_node(node, &err);
		else if (is_fio(phase))
			add_ops(node, set.docs[0]);
		import_set_free(&set);
	}
}

/* A figure of one of several jobs, by its name. */
static void
job_metric(struct node_result *to, const char *job, const char *what, double value, const char *unit)
{
	char name[65];

	snprintf(name, sizeof(name), "%.30s %.32s", job, what);
	if (!isnan(value))
		import_node_metric(to, name, value, unit);
}

/*
 * One job's rate is its own. Several that ran side by side give what they moved over the longest of their times, as fio's line of a group
 * does; each stands by itself among the metrics.
 */
static void
fio_rates(struct node_result *to, const struct results *doc)
{
	double bytes_per_s = 0, ops_per_s = 0;
	uint64_t bytes = 0, ops = 0;

	for (size_t p = 0; p < doc->phases_count; p++) {
		const struct phase_result *from = &doc->phases[p];
		double seconds = from->duration_ns != LS_UNKNOWN_I64 ? (double)from->duration_ns / 1e9 : (double)NAN;
		struct rate rate = { 0 };

		for (size_t n = 0; n < from->nodes_count; n++) {
			const struct node_result *job = &from->nodes[n];

			bytes += job->bytes;
			ops += job->ops;
			rate.bytes_per_s += from->nodes_count == 1 ? job->bytes_per_s : (double)job->bytes / seconds;
			rate.ops_per_s += from->nodes_count == 1 ? job->ops_per_s : (double)job->ops / seconds;
			char label[65];
			snprintf(label, sizeof(label), "%.40s%.20s", from->name,
			    strchr(job->node, '#') != NULL ? strchr(job->node, '#') : "");
			job_metric(to, label, "bw", job->bytes_per_s, "B/s");
			job_metric(to, label, "iops", job->ops_per_s, "op/s");
		}
		bytes_per_s += rate.bytes_per_s;
		ops_per_s += rate.ops_per_s;
		struct op_result *op = import_op(to, phase_kind_info((enum phase_kind)from->kind)->op);
		op->bytes_per_s = rate.bytes_per_s;
		op->ops_per_s = rate.ops_per_s;
	}
	to->bytes = bytes;
	to->ops = ops;
	to->bytes_per_s = bytes_per_s;
	to->ops_per_s = ops_per_s;
}

/* --- bonnie++ and iozone -------------------------------------------------------------------------------------------- */

static const struct phase_result *
find_test(const struct results *doc, const char *test)
{
	for (size_t p = 0; p < doc->phases_count; p++)
		if (doc->phases[p].imported != NULL && strcmp(doc->phases[p].imported->test, test) == 0)
			return &doc->phases[p];
	return NULL;
}

static void
copy_metrics(struct node_result *to, const struct metric *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		import_node_metric(to, from[i].name, from[i].value, from[i].unit);
}

/* What imports must be told and is not so here: there is a barrier, and last done is our own. */
static bool
is_of_imports(const char *warning)
{
	return strstr(warning, "barrier") != NULL || strncmp(warning, "last done is what", 17) == 0;
}

/* bonnie++: one node, its rate. iozone: its streams, whose rates it adds up itself. */
static void
test_rates(
    struct phase_result *phase, struct node_result *to, const struct phase_result *from, const struct tool_step *step)
{
	const struct node_result *one = from->nodes_count > 0 ? &from->nodes[0] : NULL;
	bool streams = from->imported->metrics_count > 0;

	to->bytes_per_s = streams ? from->aggregate.sum_of_rates.bytes_per_s
	    : one != NULL         ? one->bytes_per_s
				  : (double)NAN;
	to->ops_per_s = streams ? from->aggregate.sum_of_rates.ops_per_s : one != NULL ? one->ops_per_s : (double)NAN;
	copy_metrics(to, from->imported->metrics, from->imported->metrics_count);
	for (size_t n = 0; one != NULL && n < from->nodes_count; n++)
		copy_metrics(to, from->nodes[n].metrics, from->nodes[n].metrics_count);
	if (one != NULL && one->latency_ns != NULL && one->latency_ns->max != LS_UNKNOWN_I64)
		import_latency(to)->max = one->latency_ns->max;
	for (size_t i = 0; i < from->warnings_count; i++)
		if (!is_of_imports(from->warnings[i]))
			import_phase_warn(phase, "%s: %s", to->node, from->warnings[i]);
	if (!step->timed_wait)
		return;
	job_metric(to, step->test, "as told", to->bytes_per_s, "B/s");
	to->bytes_per_s = to->ops_per_s = (double)NAN;
}

static void
no_rates(struct phase_result *phase, struct node_result *node, const struct tool_step *step)
{
	node->bytes_per_s = node->ops_per_s = (double)NAN;
	import_phase_warn(
	    phase, "%s: its output has no figure for %s", node->node, step->title != NULL ? step->title : "this phase");
}

/* Several tests behind one barrier: each is a metric. */
static void
all_tests(struct node_result *to, const struct results *doc)
{
	for (size_t p = 0; p < doc->phases_count; p++)
		for (size_t n = 0; n < doc->phases[p].nodes_count; n++)
			job_metric(
			    to, doc->phases[p].imported->test, "rate", doc->phases[p].nodes[n].bytes_per_s, "B/s");
}

/* --- what an aggregate is worth ------------------------------------------------------------------------------------- */

static bool
moves_bytes(const struct phase_result *phase)
{
	return is_fio(phase) || phase_kind_info((enum phase_kind)phase->kind)->unit == PHASE_BYTES;
}

/* What its counters saw, where that can be compared with what the program says. */
static bool
counters_agree(const struct node_result *node)
{
	double seen = 0;
	double told = (double)node->bytes;

	for (size_t i = 0; i < node->workers_count; i++)
		seen += (double)node->workers[i].bytes;
	return told > 0 && fabs(seen - told) <= COUNTERS_OFF * told;
}

static void
forget(struct rate *rate)
{
	rate->bytes_per_s = rate->ops_per_s = (double)NAN;
}

/* Phases over files: how many calls were made says nothing of how many files were done. */
static void
judge_files(struct phase_result *phase)
{
	struct aggregate *a = &phase->aggregate;

	forget(&a->all_active);
	forget(&a->first_done);
	forget(&a->last_done);
	if (phase->kind != PHASE_SEEKS && phase->spec.kind == PHASE_RUN_BONNIE && phase->duration_ns > 0) {
		/* how many files it works on is known beforehand */
		double files = (double)phase->spec.file_count * 1024 * (double)phase->nodes_count;

		a->last_done.ops_per_s = files * 1e9 / (double)phase->duration_ns;
	}
	import_phase_warn(
	    phase, "all active and first done are n/a: what is done file by file does not show in /proc/PID/io");
}

static void
judge_fio(struct phase_result *phase)
{
	struct aggregate *a = &phase->aggregate;
	bool agree = true;

	a->bytes = a->ops = 0;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		if (phase->nodes[n].state != NODE_DONE)
			continue;
		a->bytes += phase->nodes[n].bytes;
		a->ops += phase->nodes[n].ops;
		agree = agree && counters_agree(&phase->nodes[n]);
	}
	if (phase->duration_ns > 0) {
		a->last_done.bytes_per_s =
		    a->bytes > 0 ? (double)a->bytes * 1e9 / (double)phase->duration_ns : (double)NAN;
		a->last_done.ops_per_s = (double)a->ops * 1e9 / (double)phase->duration_ns;
	}
	/* calls of the program are not all operations of its jobs */
	a->all_active.ops_per_s = a->first_done.ops_per_s = (double)NAN;
	if (agree)
		return;
	forget(&a->all_active);
	forget(&a->first_done);
	import_phase_warn(phase, "all active and first done are n/a: /proc/PID/io of fio does not show what it moved");
}

static void
sum_rates(struct phase_result *phase)
{
	struct rate sum = { 0 };

	for (size_t n = 0; n < phase->nodes_count; n++) {
		if (phase->nodes[n].state != NODE_DONE)
			continue;
		sum.bytes_per_s += phase->nodes[n].bytes_per_s;
		sum.ops_per_s += phase->nodes[n].ops_per_s;
	}
	phase->aggregate.sum_of_rates = sum;
}

static void
warn_versions(struct phase_result *phase, const struct tool_step *step)
{
	enum tool_kind tool = tool_of((enum phase_kind)phase->spec.kind);
	const struct node_result *first = NULL;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->tool == NULL)
			continue;
		if (first == NULL)
			first = node;
		const char *a = first->tool->version, *b = node->tool->version;
		if (a != NULL && b != NULL && strcmp(a, b) == 0)
			continue;
		const char *why = tool_versions_differ(tool, step, a, b);
		import_phase_warn(phase, "%s has version %s, %s has %s: %s%s", first->node, a != NULL ? a : "unknown",
		    node->node, b != NULL ? b : "unknown",
		    why != NULL ? "not comparable, " : "comparable in this phase", why != NULL ? why : "");
		return;
	}
}

static void
judge(struct phase_result *phase, const struct tool_step *step)
{
	warn_versions(phase, step);
	if (isnan(phase->aggregate.last_done.bytes_per_s) && isnan(phase->aggregate.last_done.ops_per_s))
		return; /* failed, or nothing was done */
	sum_rates(phase);
	import_phase_warn(phase,
	    "rows and sum of rates are %s's own figures; last done%s is measured from outside, from its release to its "
	    "next phase or end, and holds what it does not count itself",
	    tool_info(tool_of((enum phase_kind)phase->spec.kind))->name, is_fio(phase) ? "" : " and all active");
	if (step->timed_wait)
		import_phase_warn(phase,
		    "its own rate is n/a: its clock runs while it waits at the barrier; the figure that it prints "
		    "stands "
		    "among the metrics");
	if (is_fio(phase))
		judge_fio(phase);
	else if (!moves_bytes(phase))
		judge_files(phase);
	else /* calls of the program, not records */
		phase->aggregate.all_active.ops_per_s = phase->aggregate.last_done.ops_per_s =
		    phase->aggregate.first_done.ops_per_s = (double)NAN;
}

/* --- a program's phases --------------------------------------------------------------------------------------------- */

/* The phase in which the program that a phase belongs to printed its output; NULL: it did not get so far. */
static struct phase_result *
last_of(struct phase_result *phases, size_t count, size_t at)
{
	const struct phase *spec = &phases[at].spec;

	if (is_fio(&phases[at]))
		return &phases[at];
	size_t last = at + (size_t)(spec->steps - 1 - spec->step);
	if (spec->steps <= spec->step || last >= count || phases[last].repetition != phases[at].repetition ||
	    phases[last].spec.kind != spec->kind || phases[last].spec.step + 1 != spec->steps)
		return NULL;
	return &phases[last];
}

static const struct node_result *
find_node(const struct phase_result *phase, const char *name)
{
	for (size_t n = 0; n < phase->nodes_count; n++)
		if (strcmp(phase->nodes[n].node, name) == 0)
			return &phase->nodes[n];
	return NULL;
}

static void
fill_node(struct phase_result *phase, struct node_result *node, const struct results *doc, const struct tool_step *step)
{
	const struct phase_result *test;

	if (is_fio(phase)) {
		fio_rates(node, doc);
		return;
	}
	if (step->test == NULL) {
		node->bytes_per_s = node->ops_per_s = (double)NAN;
		all_tests(node, doc);
		return;
	}
	test = find_test(doc, step->test);
	if (test != NULL)
		test_rates(phase, node, test, step);
	else
		no_rates(phase, node, step);
}

static void
fill_phase(struct phase_result *phase, const struct phase_result *last, const struct tool_step *step)
{
	for (size_t n = 0; n < phase->nodes_count; n++) {
		struct node_result *node = &phase->nodes[n];
		const struct node_result *told = last != NULL ? find_node(last, node->node) : NULL;
		struct import_set set = { 0 };
		struct ls_err err;

		if (node->state != NODE_DONE)
			continue;
		if (told == NULL || !tool_output_whole(told)) {
			no_rates(phase, node, step);
			continue;
		}
		if (tool_output_read(told, &set, &err) == LS_OK)
			fill_node(phase, node, set.docs[0], step);
		import_set_free(&set);
	}
}

void
tool_figures_after(struct phase_result *phases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct tool_step step;

		if (!tool_step_of(&phases[i].spec, &step))
			continue;
		fill_phase(&phases[i], last_of(phases, count, i), &step);
		judge(&phases[i], &step);
	}
}
