/*
 * A page that needs no network and no other file: what limits the trust on top, then all phases in one table, then a card for each.
 * Texts come from peers: all are escaped, and the page's policy allows nothing but what stands in it.
 */
#include "coordinator/report/by_op.h"
#include "coordinator/report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/html_int.h"
#include "coordinator/report/promise_int.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/scale_int.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_html;

#define MANY_WARNINGS 6  /* from here they are folded */
#define MANY_NODES    40 /* likewise */
#define MANY_PHASES   60 /* likewise */
#define MAX_CARDS     200

static void
fact(struct sink *out, const char *name, const char *text)
{
	sink_printf(out, "<div><dt>%s</dt><dd>", name);
	html_text(out, text);
	sink_printf(out, "</dd></div>\n");
}

static const struct volume_facts *
volume_of(const struct results *results)
{
	for (size_t n = 0; n < results->nodes_count; n++)
		if (results->nodes[n].facts.volume != NULL)
			return results->nodes[n].facts.volume;
	return NULL;
}

static void
volume_fact(struct sink *out, const struct results *results)
{
	const struct volume_facts *v = volume_of(results);
	char text[512];
	char total[32] = "n/a";
	char left[32] = "n/a";

	if (v == NULL) {
		fact(out, "volume", NULL);
		return;
	}
	if (v->total_bytes != LS_UNKNOWN_U64)
		units_format_size(v->total_bytes, total, sizeof(total));
	if (v->free_bytes != LS_UNKNOWN_U64)
		units_format_size(v->free_bytes, left, sizeof(left));
	snprintf(text, sizeof(text), "%.64s %.200s, %s, %s free", v->fs_type == NULL ? "" : v->fs_type,
	    v->source == NULL ? "" : v->source, total, left);
	fact(out, "volume", text);
}

static void
skew_fact(struct sink *out, const struct results *results)
{
	const struct phase_result *worst = NULL;
	char skew[32];
	char unsure[32];
	char text[128];

	for (size_t p = 0; p < results->phases_count; p++)
		if (results->phases[p].start_skew_ns != LS_UNKNOWN_I64 &&
		    (worst == NULL || results->phases[p].start_skew_ns > worst->start_skew_ns))
			worst = &results->phases[p];
	if (worst == NULL) {
		fact(out, "worst start skew", NULL);
		return;
	}
	snprintf(text, sizeof(text), "%s +/- %s", text_duration(worst->start_skew_ns, skew, sizeof(skew)),
	    text_duration(worst->start_skew_uncertainty_ns, unsure, sizeof(unsure)));
	fact(out, "worst start skew", text);
}

static void
label_facts(struct sink *out, const struct run_info *run)
{
	struct sink tags = { 0 };

	if (run->note != NULL && run->note[0] != '\0')
		fact(out, "note", run->note);
	for (size_t i = 0; i < run->tags_count; i++)
		sink_printf(&tags, "%s%s", i > 0 ? ", " : "", run->tags[i]);
	if (tags.text != NULL)
		fact(out, "tags", tags.text);
	sink_free(&tags);
}

static void
head(struct sink *out, const struct results *results)
{
	const struct run_info *run = &results->run;
	char text[160];
	char took[32];

	sink_printf(out, "<header><h1>");
	html_text(out, run->name);
	sink_printf(out, " <span class='state %s'>%s</span></h1>\n<p class=soft>run ",
	    field_enum_name(run_state_names, run->state), field_enum_name(run_state_names, run->state));
	html_text(out, run->id);
	sink_printf(out, "</p>\n");
	if (run->reason != NULL && run->reason[0] != '\0') {
		sink_printf(out, "<p class=warnings>");
		html_text(out, run->reason);
		sink_printf(out, "</p>\n");
	}
	sink_printf(out, "<dl class=facts>\n");
	label_facts(out, run);
	text_duration(run->duration_ns, took, sizeof(took));
	if (run->started_at != NULL && strlen(run->started_at) >= strlen("2026-11-30T15:04:05Z"))
		snprintf(text, sizeof(text), "%.10s %.8s UTC, took %s", run->started_at, run->started_at + 11, took);
	else
		snprintf(text, sizeof(text), "%.40s, took %s", run->started_at == NULL ? "n/a" : run->started_at, took);
	fact(out, "started", text);
	snprintf(text, sizeof(text), "%zu", results->nodes_count);
	fact(out, "machines", text);
	fact(out, "path", run->job.path);
	volume_fact(out, results);
	skew_fact(out, results);
	if (run->origin != NULL)
		snprintf(text, sizeof(text), "%.32s %.64s, imported by lockstep", run->origin->tool,
		    report_version(results));
	else
		snprintf(text, sizeof(text), "lockstep %.64s (%.64s)", run->lockstep.version, run->lockstep.build);
	fact(out, "measured by", text);
	sink_printf(out, "</dl></header>\n");
}

/* The name of a phase, a link where it has a card. */
static void
phase_link(struct sink *out, const struct results *results, size_t p)
{
	if (p < MAX_CARDS)
		sink_printf(out, "<a href='#p%zu'>", p);
	html_phase_name(out, results, &results->phases[p]);
	if (p < MAX_CARDS)
		sink_printf(out, "</a>");
}

static void
warnings(struct sink *out, const struct results *results)
{
	const struct run_info *run = &results->run;
	size_t phases = 0;
	bool folded;

	for (size_t p = 0; p < results->phases_count; p++)
		phases += results->phases[p].warnings_count + results->phases[p].attempts_count > 0;
	if (run->warnings_count + phases == 0)
		return;
	folded = phases > MANY_WARNINGS;
	sink_printf(out, "<section class=warnings><h2>What limits the trust in these numbers</h2>\n<ul>\n");
	for (size_t i = 0; i < run->warnings_count; i++) {
		sink_printf(out, "<li>");
		html_text(out, run->warnings[i]);
		sink_printf(out, "</li>\n");
	}
	sink_printf(out, "</ul>\n");
	if (folded)
		sink_printf(out, "<details><summary>%zu phases have warnings of their own</summary>", phases);
	sink_printf(out, "<ul>\n");
	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];
		size_t count = phase->warnings_count + phase->attempts_count;

		if (count == 0)
			continue;
		sink_printf(out, "<li>");
		phase_link(out, results, p);
		sink_printf(out, ": ");
		html_text(out, phase->warnings_count > 0 ? phase->warnings[0] : "void attempts");
		if (count > 1)
			sink_printf(out, " <span class=soft>(and %zu more)</span>", count - 1);
		sink_printf(out, "</li>\n");
	}
	sink_printf(out, "</ul>%s</section>\n", folded ? "</details>" : "");
}

/* Rates of all together; of one operation there is only last done. */
static void
summary_rates(struct sink *out, const struct phase_result *phase, const struct op_result *op)
{
	const struct aggregate *a = &phase->aggregate;

	if (!text_has_rates(phase)) {
		sink_printf(out, "<td>-</td><td>-</td><td>-</td>");
	} else if (op != NULL) {
		html_cell(out, html_rate(phase, op->bytes_per_s, op->ops_per_s));
		sink_printf(out, "<td>-</td><td>-</td>");
	} else {
		html_cell(out, html_rate(phase, a->last_done.bytes_per_s, a->last_done.ops_per_s));
		html_cell(out, html_rate(phase, a->all_active.bytes_per_s, a->all_active.ops_per_s));
		html_cell(out, html_rate(phase, a->sum_of_rates.bytes_per_s, a->sum_of_rates.ops_per_s));
	}
}

/* name NULL: of all that the phase did; else of the operation of that name. */
static void
summary_row(struct sink *out, const struct results *results, size_t p, const char *name, const struct op_result *op)
{
	const struct phase_result *phase = &results->phases[p];
	const struct aggregate *a = &phase->aggregate;
	const struct latency *l = op != NULL ? &op->latency_ns : a->latency_ns;
	char text[32];

	sink_printf(out, "<tr><td>");
	phase_link(out, results, p);
	if (name != NULL)
		sink_printf(out, ", %s", name);
	if (phase->state != PHASE_STATE_DONE)
		sink_printf(out, " <span class='state %s'>%s</span>", field_enum_name(phase_state_names, phase->state),
		    field_enum_name(phase_state_names, phase->state));
	sink_printf(out, "</td><td class=text>%s%s</td>", html_unit(phase), a->page_cache ? " (page cache)" : "");
	summary_rates(out, phase, op);
	sink_printf(out, "<td>%s</td>", text_duration(l == NULL ? LS_UNKNOWN_I64 : l->p50, text, sizeof(text)));
	sink_printf(out, "<td>%s</td>", text_duration(l == NULL ? LS_UNKNOWN_I64 : l->p99, text, sizeof(text)));
	if (isfinite(a->overlap))
		sink_printf(out, "<td>%.3f</td>", a->overlap);
	else
		sink_printf(out, "<td>n/a</td>");
	sink_printf(out, "<td>%s</td></tr>\n", text_duration(phase->start_skew_ns, text, sizeof(text)));
}

/* Phases that mix reads and writes have a row for each. */
static void
summary_rows(struct sink *out, const struct results *results, size_t p)
{
	const struct phase_result *phase = &results->phases[p];
	size_t rows = 0;

	for (int op = 0; op < OP_COUNT && by_op_mixes(phase); op++) {
		const struct op_result *r = by_op_get(&phase->aggregate.by_op, (enum op_kind)op);

		if (r == NULL)
			continue;
		summary_row(out, results, p, op_names[op], r);
		rows++;
	}
	if (rows == 0)
		summary_row(out, results, p, NULL, NULL);
}

static void
summary(struct sink *out, const struct results *results)
{
	if (results->phases_count == 0) {
		sink_printf(out, "<p>No phase has a result.</p>\n");
		return;
	}
	bool folded = results->phases_count > MANY_PHASES;

	sink_printf(out, "<section class=card><h2>All machines together</h2>");
	if (folded)
		sink_printf(out, "<details><summary>all %zu phases</summary>", results->phases_count);
	sink_printf(out,
	    "<div class=scroll><table><tr><th>phase</th><th class=text>unit</th><th>last done</th>"
	    "<th>all active</th><th>sum of rates</th><th>p50</th><th>p99</th><th>overlap</th>"
	    "<th>start skew</th></tr>\n");
	for (size_t p = 0; p < results->phases_count; p++)
		summary_rows(out, results, p);
	sink_printf(out, "</table></div>%s</section>\n", folded ? "</details>" : "");
}

static void
node_row(struct sink *out, const struct run_node *node)
{
	const struct node_facts *f = &node->facts;
	char text[32] = "n/a";

	sink_printf(out, "<tr><td>");
	html_text(out, node->name);
	sink_printf(out, "</td><td class=text>");
	html_text(out, node->address);
	sink_printf(out, "</td><td class=text>");
	html_text(out, f->kernel);
	if (f->cpus != LS_UNKNOWN_U64)
		snprintf(text, sizeof(text), "%" PRIu64, f->cpus);
	sink_printf(out, "</td><td>%s</td>", text);
	snprintf(text, sizeof(text), "n/a");
	if (f->memory_bytes != LS_UNKNOWN_U64)
		units_format_size(f->memory_bytes, text, sizeof(text));
	sink_printf(out, "<td>%s</td><td class=text>", text);
	html_text(out, f->volume == NULL ? NULL : f->volume->fs_type);
	sink_printf(out, "</td><td>+/- %s</td></tr>\n", text_duration(node->clock.uncertainty_ns, text, sizeof(text)));
}

static void
nodes(struct sink *out, const struct results *results)
{
	bool folded = results->nodes_count > MANY_NODES;

	if (results->nodes_count == 0)
		return;
	sink_printf(out,
	    "<section class=card><h2>Machines</h2>%s<div class=scroll><table><tr><th>machine</th><th "
	    "class=text>address</th>"
	    "<th class=text>kernel</th><th>CPUs</th><th>memory</th><th class=text>file "
	    "system</th><th>clock</th></tr>\n",
	    folded ? "<details><summary>show all</summary>" : "");
	for (size_t n = 0; n < results->nodes_count; n++)
		node_row(out, &results->nodes[n]);
	sink_printf(out, "</table></div>%s</section>\n", folded ? "</details>" : "");
}

static void
foot(struct sink *out)
{
	sink_printf(out,
	    "<footer><p>%s. CPU %%: of one CPU. last done: all work over last end minus first start. "
	    "all active: "
	    "the rate while every worker was active. sum of rates: each worker's own average, added. overlap: "
	    "all-active time over "
	    "whole time. fairness: Jain's index over the machines' rates, 1 when all are equal. start skew: last minus "
	    "first start of all "
	    "workers. n/a: not known, a warning says why.</p></footer>\n",
	    units_mega_note());
}

/* The rest does not depend on the run but for the data. */
static void
scripts(struct sink *out, const struct results *results)
{
	sink_printf(out, "<script type=application/json id=data>");
	html_chart_data(out, results, LS_MIN(results->phases_count, (size_t)MAX_CARDS));
	sink_printf(out, "</script>\n<!-- programs -->\n<script>");
	sink_add(out, html_dygraph_js, strlen(html_dygraph_js));
	sink_printf(out, "</script>\n<script>\n");
	sink_add(out, html_page_js, strlen(html_page_js));
	sink_printf(out, "</script>\n</body></html>\n");
}

static enum ls_rc
render_html(const struct results *results, struct sink *out, struct ls_err *err)
{
	(void)err;
	html_page_head(out, results->run.name);
	head(out, results);
	sink_printf(out, "<main>\n");
	warnings(out, results);
	summary(out, results);
	promises_html(out, results);
	scale_html(out, results);
	html_grids(out, results, MAX_CARDS);
	for (size_t p = 0; p < results->phases_count && p < MAX_CARDS; p++)
		html_phase(out, results, p);
	if (results->phases_count > MAX_CARDS)
		sink_printf(out, "<p>The first %d of %zu phases have a card; the tables above have all.</p>\n",
		    MAX_CARDS, results->phases_count);
	nodes(out, results);
	sink_printf(out, "</main>\n");
	foot(out);
	scripts(out, results);
	return LS_OK;
}

const char *
report_page_css(void)
{
	return html_page_css;
}

const char *
report_dygraphs(void)
{
	return html_dygraph_js;
}

const struct report_format report_html = {
	.name = "html",
	.extension = "html",
	.for_people = true,
	.help = "a page with charts that needs no network, for browsers, phones and paper",
	.render = render_html,
};
