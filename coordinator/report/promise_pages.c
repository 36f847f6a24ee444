/* What nodes saw of each other, in Markdown and on the page. */
#include <inttypes.h>
#include <math.h>

#include "coordinator/report/html_int.h"
#include "coordinator/report/markdown_int.h"
#include "coordinator/report/promise_int.h"

static double
us(int64_t ns)
{
	return ns == LS_UNKNOWN_I64 ? (double)NAN : (double)ns / 1e3;
}

/* --- Markdown ------------------------------------------------------------------------------------------------------- */

void
promises_markdown(struct sink *out, const struct results *results)
{
	struct promise_lines rows = promise_lines_of(results);
	char note[256];

	if (rows.count > 0)
		sink_printf(out,
		    "\n## What nodes saw of each other\n\n"
		    "| what | outcome | promised | looked at | broken | figures | says |\n"
		    "| :--- | :--- | :--- | ---: | ---: | :--- | :--- |\n");
	for (size_t i = 0; i < rows.count; i++) {
		const struct promise_line *row = &rows.items[i];

		sink_printf(out, "| ");
		markdown_text(out, row->worst->what);
		sink_printf(out, " | %s | %s | %" PRIu64 " | %" PRIu64 " | ",
		    field_enum_name(promise_outcome_names, row->worst->outcome), row->worst->promised ? "yes" : "no",
		    row->looked, row->broken);
		markdown_text(out, promise_line_note(row, note, sizeof(note)));
		sink_printf(out, " | ");
		markdown_text(out, row->worst->source);
		sink_printf(out, " |\n");
	}
	promise_lines_free(&rows);
}

void
promise_pairs_markdown(struct sink *out, const struct phase_result *phase)
{
	const struct promise_result *r = phase->promise;
	char note[512];

	if (r == NULL || r->seen_after_count == 0)
		return;
	sink_printf(out,
	    "\n| made by | seen by | p50 us | p99 us | longest us | unseen | early |\n"
	    "| :--- | :--- | ---: | ---: | ---: | ---: | ---: |\n");
	for (size_t i = 0; i < r->seen_after_count; i++) {
		const struct seen_after *s = &r->seen_after[i];

		sink_printf(out, "| ");
		markdown_text(out, s->from);
		sink_printf(out, " | ");
		markdown_text(out, s->by);
		sink_printf(out, " |");
		markdown_cell(out, us(s->latency_ns.p50));
		markdown_cell(out, us(s->latency_ns.p99));
		markdown_cell(out, us(s->latency_ns.max));
		sink_printf(out, " %" PRIu64 " | %" PRIu64 " |\n", s->unseen, s->early);
	}
	sink_printf(out, "\n");
	markdown_text(out, promise_pairs_note(phase, note, sizeof(note)));
	sink_printf(out, "\n");
}

/* --- page ----------------------------------------------------------------------------------------------------------- */

void
promises_html(struct sink *out, const struct results *results)
{
	struct promise_lines rows = promise_lines_of(results);
	char note[256];

	if (rows.count > 0)
		sink_printf(out,
		    "<section class=card><h2>What machines saw of each other</h2>\n<div "
		    "class=scroll><table><tr><th>what</th>"
		    "<th class=text>outcome</th><th class=text>promised</th><th>looked at</th><th>broken</th>"
		    "<th class=text>figures</th><th class=text>says</th></tr>\n");
	for (size_t i = 0; i < rows.count; i++) {
		const struct promise_line *row = &rows.items[i];
		const char *outcome = field_enum_name(promise_outcome_names, row->worst->outcome);

		sink_printf(out, "<tr><td>");
		html_text(out, row->worst->what);
		sink_printf(out,
		    "</td><td class=text><span class='state%s'>%s</span></td><td class=text>%s</td><td>%" PRIu64
		    "</td><td>%" PRIu64 "</td><td class='text says'>",
		    row->worst->outcome == OUTCOME_VIOLATED ? " mismatch" : "", outcome,
		    row->worst->promised ? "yes" : "no", row->looked, row->broken);
		if (promise_line_note(row, note, sizeof(note))[0] != '\0')
			html_text(out, note);
		sink_printf(out, "</td><td class='text says'>");
		html_text(out, row->worst->source);
		sink_printf(out, "</td></tr>\n");
	}
	if (rows.count > 0)
		sink_printf(out, "</table></div></section>\n");
	promise_lines_free(&rows);
}

void
promise_pairs_html(struct sink *out, const struct phase_result *phase)
{
	const struct promise_result *r = phase->promise;
	char note[512];

	if (r == NULL || r->seen_after_count == 0)
		return;
	sink_printf(out,
	    "<h3>How long changes took until others saw them</h3>\n<div class=scroll><table><tr><th>made by</th>"
	    "<th class=text>seen by</th><th>p50 us</th><th>p99 us</th><th>longest "
	    "us</th><th>unseen</th><th>early</th></tr>\n");
	for (size_t i = 0; i < r->seen_after_count; i++) {
		const struct seen_after *s = &r->seen_after[i];

		sink_printf(out, "<tr><td>");
		html_text(out, s->from);
		sink_printf(out, "</td><td class=text>");
		html_text(out, s->by);
		sink_printf(out, "</td>");
		html_cell(out, us(s->latency_ns.p50));
		html_cell(out, us(s->latency_ns.p99));
		html_cell(out, us(s->latency_ns.max));
		sink_printf(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td></tr>\n", s->unseen, s->early);
	}
	sink_printf(out, "</table></div>\n<p class=soft>");
	html_text(out, promise_pairs_note(phase, note, sizeof(note)));
	sink_printf(out, "</p>\n");
}
