/* A report to paste into a ticket or a wiki: GitHub's tables, the warnings on top, units in every header. */
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/by_op.h"
#include "coordinator/report/steady.h"
#include "coordinator/report/markdown_int.h"
#include "coordinator/report/promise_int.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/scale_int.h"
#include "coordinator/report/side_table.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_markdown;

void
markdown_text(struct sink *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f) {
			sink_add(out, " ", 1);
			continue;
		}
		if (strchr("\\`*_[]<>|#~&", *text) != NULL)
			sink_add(out, "\\", 1);
		sink_add(out, text, 1);
	}
}

static const char *
or_na(const char *text)
{
	return text == NULL || text[0] == '\0' ? "n/a" : text;
}

void
markdown_cell(struct sink *out, double value)
{
	char digits[64];

	sink_printf(out, " %s |", text_number(value, digits, sizeof(digits)));
}

static void
cell_ratio(struct sink *out, double value)
{
	if (isfinite(value))
		sink_printf(out, " %.3f |", value);
	else
		sink_printf(out, " n/a |");
}

static void
phase_name(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	markdown_text(out, phase->name);
	if (results->run.job.repeat > 1)
		sink_printf(out, " (%" PRIu64 " of %" PRIu64 ")", phase->repetition + 1, results->run.job.repeat);
	if (phase->state != PHASE_STATE_DONE)
		sink_printf(out, " -- %s", field_enum_name(phase_state_names, phase->state));
}

/* A line of the list of warnings; phase NULL: about the whole run. */
static void
warning(struct sink *out, const struct results *results, const struct phase_result *phase, const char *text)
{
	sink_printf(out, "> - ");
	if (phase != NULL) {
		sink_printf(out, "**");
		phase_name(out, results, phase);
		sink_printf(out, "**: ");
	}
	markdown_text(out, text);
	sink_printf(out, "\n");
}

static void
phase_warnings(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	for (size_t i = 0; i < phase->warnings_count; i++)
		warning(out, results, phase, phase->warnings[i]);
	for (size_t i = 0; i < phase->attempts_count; i++) {
		char text[1100];

		snprintf(text, sizeof(text), "attempt %" PRIu64 " was void: %s", phase->attempts[i].index + 1,
		    phase->attempts[i].reason);
		warning(out, results, phase, text);
	}
}

static void
all_warnings(struct sink *out, const struct results *results)
{
	size_t total = results->run.warnings_count;

	for (size_t p = 0; p < results->phases_count; p++)
		total += results->phases[p].warnings_count + results->phases[p].attempts_count;
	if (total == 0)
		return;
	sink_printf(out, "\n> **What limits the trust in these numbers**\n>\n");
	for (size_t i = 0; i < results->run.warnings_count; i++)
		warning(out, results, NULL, results->run.warnings[i]);
	for (size_t p = 0; p < results->phases_count; p++)
		phase_warnings(out, results, &results->phases[p]);
}

static void
labels(struct sink *out, const struct run_info *run)
{
	for (size_t i = 0; i < run->tags_count; i++) {
		sink_printf(out, i == 0 ? "\nTags: " : ", ");
		markdown_text(out, run->tags[i]);
	}
	if (run->tags_count > 0)
		sink_printf(out, ".\n");
	if (run->note != NULL && run->note[0] != '\0') {
		sink_printf(out, "\nNote: ");
		markdown_text(out, run->note);
		sink_printf(out, "\n");
	}
}

static void
facts(struct sink *out, const struct results *results)
{
	const struct run_info *run = &results->run;
	char took[32];

	sink_printf(out, "# ");
	markdown_text(out, run->name);
	sink_printf(out, "\n\nRun ");
	markdown_text(out, run->id);
	sink_printf(out, ", %s, started %s, took %s, on %zu node%s in ", field_enum_name(run_state_names, run->state),
	    or_na(run->started_at), text_duration(run->duration_ns, took, sizeof(took)), results->nodes_count,
	    results->nodes_count == 1 ? "" : "s");
	markdown_text(out, or_na(run->job.path));
	if (run->origin != NULL)
		sink_printf(out, "; measured by %s %s, imported.\n", run->origin->tool, report_version(results));
	else
		sink_printf(out, "; lockstep %s (%s).\n", or_na(run->lockstep.version), or_na(run->lockstep.build));
	labels(out, run);
	if (run->reason != NULL && run->reason[0] != '\0') {
		sink_printf(out, "\n**");
		markdown_text(out, run->reason);
		sink_printf(out, "**\n");
	}
}

static void
node_table(struct sink *out, const struct results *results)
{
	sink_printf(out,
	    "\n## Nodes\n\n| node | kernel | CPUs | memory | file system | clock |\n"
	    "| :--- | :--- | ---: | ---: | :--- | ---: |\n");
	for (size_t n = 0; n < results->nodes_count; n++) {
		const struct node_facts *f = &results->nodes[n].facts;
		char memory[32] = "n/a";
		char clock[32];

		if (f->memory_bytes != LS_UNKNOWN_U64)
			units_format_size(f->memory_bytes, memory, sizeof(memory));
		sink_printf(out, "| ");
		markdown_text(out, results->nodes[n].name);
		sink_printf(out, " | ");
		markdown_text(out, or_na(f->kernel));
		if (f->cpus != LS_UNKNOWN_U64)
			sink_printf(out, " | %" PRIu64 " | %s | ", f->cpus, memory);
		else
			sink_printf(out, " | n/a | %s | ", memory);
		markdown_text(out, or_na(f->volume == NULL ? NULL : f->volume->fs_type));
		sink_printf(
		    out, " | +/- %s |\n", text_duration(results->nodes[n].clock.uncertainty_ns, clock, sizeof(clock)));
	}
}

static void
cell_latency(struct sink *out, const struct latency *l, bool tail)
{
	int64_t ns = l == NULL ? LS_UNKNOWN_I64 : tail ? l->p99 : l->p50;

	markdown_cell(out, ns == LS_UNKNOWN_I64 ? (double)NAN : (double)ns / 1e3);
}

/* Rates of all together; of one operation there is only last done. */
static void
summary_rates(struct sink *out, const struct phase_result *phase, const struct op_result *op)
{
	const struct aggregate *a = &phase->aggregate;
	const struct rate *rates[] = { &a->last_done, &a->all_active, &a->sum_of_rates };

	if (!text_has_rates(phase)) {
		sink_printf(out, " - | - | - |");
		return;
	}
	if (op != NULL) {
		markdown_cell(out, report_in_bytes(phase) ? op->bytes_per_s / units_mega() : op->ops_per_s);
		sink_printf(out, " - | - |");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(rates); i++)
		markdown_cell(out, report_in_bytes(phase) ? rates[i]->bytes_per_s / units_mega() : rates[i]->ops_per_s);
}

/* name NULL: of all that the phase did; else of the operation of that name. */
static void
summary_row(struct sink *out, const struct results *results, const struct phase_result *phase, const char *name,
    const struct op_result *op)
{
	const struct aggregate *a = &phase->aggregate;
	const struct latency *l = op != NULL ? &op->latency_ns : a->latency_ns;
	char skew[32];
	char unsure[32];

	sink_printf(out, "| ");
	phase_name(out, results, phase);
	sink_printf(out, "%s%s | %s%s |", name != NULL ? ", " : "", name != NULL ? name : "",
	    report_in_bytes(phase) ? units_mega_rate() : "op/s", a->page_cache ? " into the page cache" : "");
	summary_rates(out, phase, op);
	cell_latency(out, l, false);
	cell_latency(out, l, true);
	cell_ratio(out, a->overlap);
	cell_ratio(out, a->fairness);
	sink_printf(out, " %s +/- %s |\n", text_duration(phase->start_skew_ns, skew, sizeof(skew)),
	    text_duration(phase->start_skew_uncertainty_ns, unsure, sizeof(unsure)));
}

/* Phases that mix reads and writes have a row for each. */
static void
summary_rows(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	size_t rows = 0;

	for (int op = 0; op < OP_COUNT && by_op_mixes(phase); op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		if (r == NULL)
			continue;
		summary_row(out, results, phase, op_names[op], r);
		rows++;
	}
	if (rows == 0)
		summary_row(out, results, phase, NULL, NULL);
}

static void
summary(struct sink *out, const struct results *results)
{
	sink_printf(out,
	    "\n## All machines together\n\n"
	    "| phase | unit | last done | all active | sum of rates | p50 us | p99 us | overlap | fairness | start "
	    "skew |\n"
	    "| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
	for (size_t p = 0; p < results->phases_count; p++)
		summary_rows(out, results, &results->phases[p]);
}

static void
steady_line(struct sink *out, const struct phase_result *phase)
{
	struct sink said = { 0 };

	if (phase->steady == NULL)
		return;
	steady_sentence(&said, phase);
	sink_printf(out, "\n");
	markdown_text(out, said.text);
	sink_printf(out, "\n");
	sink_free(&said);
}

static void
side_table(void *arg, const struct side_table *t)
{
	struct sink *out = arg;
	char cell[48];

	sink_printf(out, "\n");
	markdown_text(out, t->said.text);
	sink_printf(out, "\n\n| node |");
	for (size_t c = 0; c < t->column_count; c++)
		sink_printf(out, " %s |", t->columns[c].title);
	sink_printf(out, "\n| :--- |");
	for (size_t c = 0; c < t->column_count; c++)
		sink_printf(out, " ---: |");
	for (size_t n = 0; n < t->row_count; n++) {
		sink_printf(out, "\n| ");
		markdown_text(out, t->rows[n].node);
		for (size_t c = 0; c < t->column_count; c++)
			sink_printf(out, " | %s", side_cell(&t->columns[c], &t->rows[n].values[c], cell, sizeof(cell)));
		sink_printf(out, " |");
	}
	sink_printf(out, "\n");
	if (t->note != NULL) {
		sink_printf(out, "\n");
		markdown_text(out, t->note);
		sink_printf(out, "\n");
	}
}

static void
phase_table(struct sink *out, const struct results *results, const struct phase_result *phase)
{
	sink_printf(out, "\n### ");
	phase_name(out, results, phase);
	sink_printf(out,
	    "\n\n| node | %s | op/s | p50 us | p99 us | CPU %% | time s | errors |\n"
	    "| :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
	    units_mega_rate());
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		sink_printf(out, "| ");
		markdown_text(out, node->node);
		if (node->state == NODE_IDLE || node->state == NODE_LOST) {
			sink_printf(out, " | %s | | | | | | |\n", field_enum_name(node_state_names, node->state));
			continue;
		}
		struct report_cell c = report_cell_of_node(node);
		sink_printf(out, " |");
		markdown_cell(out, by_op_mixes(phase) ? (double)NAN : c.bytes_per_s / units_mega());
		markdown_cell(out, by_op_mixes(phase) ? (double)NAN : c.ops_per_s);
		cell_latency(out, node->latency_ns, false);
		cell_latency(out, node->latency_ns, true);
		markdown_cell(out, c.cpu_percent);
		if (c.elapsed_ns == LS_UNKNOWN_I64)
			sink_printf(out, " n/a |");
		else
			sink_printf(out, " %.3f |", (double)c.elapsed_ns / 1e9);
		sink_printf(out, " %" PRIu64 " |\n", node->errors);
	}
	by_op_markdown(out, phase);
	promise_pairs_markdown(out, phase);
	steady_line(out, phase);
	side_tables_each(phase, side_table, out);
}

static enum ls_rc
render_markdown(const struct results *results, struct sink *out, struct ls_err *err)
{
	(void)err;
	facts(out, results);
	all_warnings(out, results);
	if (results->phases_count == 0)
		sink_printf(out, "\nNo phase has a result.\n");
	else
		summary(out, results);
	promises_markdown(out, results);
	scale_markdown(out, results);
	if (results->nodes_count > 0)
		node_table(out, results);
	if (results->phases_count > 0)
		sink_printf(out, "\n## Each machine\n");
	for (size_t p = 0; p < results->phases_count; p++)
		phase_table(out, results, &results->phases[p]);
	sink_printf(out,
	    "\n%s; CPU %%: of one CPU. last done: all work over last end minus first start. all "
	    "active: the "
	    "rate while every worker was active. sum of rates: each worker's own average, added. n/a: not known.\n",
	    units_mega_note());
	return LS_OK;
}

const struct report_format report_markdown = {
	.name = "markdown",
	.extension = "md",
	.for_people = true,
	.help = "tables for a ticket or a wiki, warnings on top",
	.render = render_markdown,
};
