/* Solo against together in Markdown and on the page. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "coordinator/report/html_int.h"
#include "coordinator/report/markdown_int.h"
#include "coordinator/report/scale_int.h"

#define SHOWN 40 /* nodes of a phase; csv and json have all */

/* --- Markdown ------------------------------------------------------------------------------------------------------- */

static void
percent_cell(struct sink *out, double share)
{
	if (isfinite(share))
		sink_printf(out, " %.1f |", 100 * share);
	else
		sink_printf(out, " n/a |");
}

static void
markdown_nodes(struct sink *out, const struct scale_table *t)
{
	for (size_t n = 0; n < t->nodes_count && n < SHOWN; n++) {
		sink_printf(out, "| ");
		markdown_text(out, t->phase->name);
		sink_printf(out, " | ");
		markdown_text(out, t->nodes[n].name);
		sink_printf(out, " | %s |", t->unit);
		markdown_cell(out, t->nodes[n].alone);
		markdown_cell(out, t->nodes[n].together);
		percent_cell(out, t->nodes[n].loss);
		sink_printf(out, "\n");
	}
}

void
scale_markdown(struct sink *out, const struct results *results)
{
	struct scale_tables tables = scale_tables_of(results);

	if (tables.count > 0)
		sink_printf(out,
		    "\n## Each node alone and all together\n\n"
		    "| phase | unit | nodes | alone, mean | last done | efficiency %% | all active | its efficiency %% "
		    "|\n"
		    "| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
	for (size_t i = 0; i < tables.count; i++) {
		const struct scale_table *t = &tables.items[i];

		sink_printf(out, "| ");
		markdown_text(out, t->phase->name);
		sink_printf(out, " | %s | %zu |", t->unit, t->nodes_count);
		markdown_cell(out, t->alone);
		markdown_cell(out, t->last_done);
		percent_cell(out, t->efficiency);
		markdown_cell(out, t->all_active);
		percent_cell(out, t->efficiency_all_active);
		sink_printf(out, "\n");
	}
	if (tables.count > 0)
		sink_printf(out,
		    "\n| phase | node | unit | alone | together | loss %% |\n| :--- | :--- | :--- | ---: | ---: | ---: "
		    "|\n");
	for (size_t i = 0; i < tables.count; i++)
		markdown_nodes(out, &tables.items[i]);
	scale_tables_free(&tables);
}

/* --- page ----------------------------------------------------------------------------------------------------------- */

enum { SVG_WIDTH = 700, SVG_LABEL = 150, SVG_BAR = 14, SVG_ROW = 20, SVG_TOP = 18 };

static void
svg_name(struct sink *out, const char *name, int y)
{
	sink_printf(out, "<text x=%d y=%d text-anchor=end>", SVG_LABEL - 8, y + SVG_BAR - 3);
	html_text(out, name);
	sink_printf(out, "</text>");
}

/* A node's rate together over its rate alone; the frame is 100 %, a node that gained is cut there. */
static void
svg_row(struct sink *out, const char *name, double share, int row)
{
	int width = SVG_WIDTH - SVG_LABEL - 60;
	int y = SVG_TOP + row * SVG_ROW;

	svg_name(out, name, y);
	sink_printf(out, "<rect class=whole x=%d y=%d width=%d height=%d />", SVG_LABEL, y, width, SVG_BAR);
	if (!isfinite(share)) {
		sink_printf(out, "<text x=%d y=%d>n/a</text>\n", SVG_LABEL + width + 6, y + SVG_BAR - 3);
		return;
	}
	sink_printf(out, "<rect class=part x=%d y=%d width=%.1f height=%d />", SVG_LABEL, y,
	    fmin(fmax(share, 0), 1) * width, SVG_BAR);
	sink_printf(out, "<text x=%d y=%d>%.1f %%</text>\n", SVG_LABEL + width + 6, y + SVG_BAR - 3, 100 * share);
}

static void
chart(struct sink *out, const struct scale_table *t)
{
	size_t shown = LS_MIN(t->nodes_count, (size_t)SHOWN);

	sink_printf(out,
	    "<div class=scroll><svg viewBox='0 0 %d %zu' role=img><title>what is left of each machine's own "
	    "rate</title>\n",
	    SVG_WIDTH, SVG_TOP + (shown + 1) * SVG_ROW);
	sink_printf(out, "<text x=%d y=12>together, of alone</text>\n", SVG_LABEL);
	svg_row(out, "all (efficiency)", t->efficiency, 0);
	for (size_t n = 0; n < shown; n++)
		svg_row(out, t->nodes[n].name, 1 - t->nodes[n].loss, (int)n + 1);
	sink_printf(out, "</svg></div>\n");
}

static void
html_percent(struct sink *out, double share)
{
	if (isfinite(share))
		sink_printf(out, "<td>%.1f</td>", 100 * share);
	else
		sink_printf(out, "<td>n/a</td>");
}

static void
summary_row(struct sink *out, const struct scale_table *t)
{
	sink_printf(out, "<tr><td>");
	html_text(out, t->phase->name);
	sink_printf(out, "</td><td class=text>%s</td><td>%zu</td>", t->unit, t->nodes_count);
	html_cell(out, t->alone);
	html_cell(out, t->last_done);
	html_percent(out, t->efficiency);
	html_cell(out, t->all_active);
	html_percent(out, t->efficiency_all_active);
	sink_printf(out, "</tr>\n");
}

static void
node_rows(struct sink *out, const struct scale_table *t)
{
	sink_printf(
	    out, "<div class=scroll><table><tr><th>machine</th><th>alone</th><th>together</th><th>loss %%</th></tr>\n");
	for (size_t n = 0; n < t->nodes_count; n++) {
		sink_printf(out, "<tr><td>");
		html_text(out, t->nodes[n].name);
		sink_printf(out, "</td>");
		html_cell(out, t->nodes[n].alone);
		html_cell(out, t->nodes[n].together);
		html_percent(out, t->nodes[n].loss);
		sink_printf(out, "</tr>\n");
	}
	sink_printf(out, "</table></div>\n");
}

static void
phase_part(struct sink *out, const struct scale_table *t)
{
	sink_printf(out, "<h3>");
	html_text(out, t->phase->name);
	sink_printf(out, ", %s</h3>\n", t->unit);
	chart(out, t);
	sink_printf(out, "<details><summary>%zu machines in figures</summary>\n", t->nodes_count);
	node_rows(out, t);
	sink_printf(out, "</details>\n");
}

void
scale_html(struct sink *out, const struct results *results)
{
	struct scale_tables tables = scale_tables_of(results);

	if (tables.count > 0) {
		sink_printf(out,
		    "<section class=card><h2>Each machine alone and all together</h2>\n"
		    "<p class=soft>efficiency: last done of all over the sum of the machines' rates alone</p>\n"
		    "<div class=scroll><table><tr><th>phase</th><th class=text>unit</th><th>machines</th><th>alone, "
		    "mean</th>"
		    "<th>last done</th><th>efficiency %%</th><th>all active</th><th>its efficiency %%</th></tr>\n");
		for (size_t i = 0; i < tables.count; i++)
			summary_row(out, &tables.items[i]);
		sink_printf(out, "</table></div>\n");
		for (size_t i = 0; i < tables.count; i++)
			phase_part(out, &tables.items[i]);
		sink_printf(out, "</section>\n");
	}
	scale_tables_free(&tables);
}
