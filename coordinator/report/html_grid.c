/* A test that was run at many sizes, as iozone's -a does: file size by record size, coloured by rate. */
#include "coordinator/report/html_int.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/grid_int.h"

static void
cell(struct sink *out, double value, double max, size_t phase, bool linked)
{
	if (!isfinite(value)) {
		sink_printf(out, "<td></td>");
		return;
	}
	sink_printf(out, "<td style='background:rgba(58,125,226,%.2f)'>", max > 0 ? 0.6 * value / max : 0);
	if (linked)
		sink_printf(out, "<a href='#p%zu'>", phase);
	html_number(out, value);
	sink_printf(out, "%s</td>", linked ? "</a>" : "");
}

/* All cells, row by row; the caller frees them. */
static struct report_grid_value *
values_of(const struct results *results, const struct report_grid *grid)
{
	struct report_grid_value *values = ls_calloc(grid->files.count * grid->records.count, sizeof(*values));

	for (size_t f = 0; f < grid->files.count; f++)
		for (size_t r = 0; r < grid->records.count; r++)
			values[f * grid->records.count + r] = report_grid_value(results, grid, f, r, REPORT_ALL);
	return values;
}

static void
table(struct sink *out, const struct results *results, const struct report_grid *grid, size_t cards)
{
	size_t columns = grid->records.count;
	size_t count = grid->files.count * columns;
	struct report_grid_value *values = values_of(results, grid);
	bool in_bytes = true;
	double max = 0;
	char text[32];

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(values[i].value))
			continue;
		max = fmax(max, values[i].value);
		in_bytes = values[i].in_bytes;
	}
	sink_printf(out, "<h3>");
	html_text(out, grid->test);
	sink_printf(out, ", %s</h3><div class=scroll><table class=heat><tr><th>file by record</th>",
	    in_bytes ? "MiB/s" : "op/s");
	for (size_t r = 0; r < columns; r++)
		sink_printf(out, "<th>%s</th>", units_format_size(grid->records.items[r], text, sizeof(text)));
	sink_printf(out, "</tr>\n");
	for (size_t i = 0; i < count; i++) {
		if (i % columns == 0)
			sink_printf(out, "<tr><td>%s</td>",
			    units_format_size(grid->files.items[i / columns], text, sizeof(text)));
		cell(out, in_bytes ? values[i].value / HTML_MIB : values[i].value, in_bytes ? max / HTML_MIB : max,
		    values[i].phase, values[i].phase < cards);
		if (i % columns == columns - 1)
			sink_printf(out, "</tr>\n");
	}
	sink_printf(out, "</table></div>\n");
	free(values);
}

void
html_grids(struct sink *out, const struct results *results, size_t cards)
{
	bool any = false;

	for (size_t p = 0; p < results->phases_count; p++) {
		if (!report_is_first_of_test(results, p))
			continue;
		struct report_grid grid = report_grid_of(results, report_test(&results->phases[p]));
		if (report_grid_is_large(&grid)) {
			if (!any)
				sink_printf(out,
				    "<section class=card><h2>By file size and record size</h2>\n"
				    "<p class=soft>all machines together; the darker, the faster</p>\n");
			any = true;
			table(out, results, &grid, cards);
		}
		report_grid_free(&grid);
	}
	if (any)
		sink_printf(out, "</section>\n");
}
