/* A test that was run at many sizes, as iozone's -a does: file size by record size, coloured by rate. */
#include "coordinator/report/html_int.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/grid_int.h"

enum { WIDTH = 560, HEIGHT = 230, LEFT = 64, RIGHT = 24, TOP = 8, BOTTOM = 24 };

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

/* --- lines: a line for each file size over the record size ----------------------------------------------------------- */

struct plot {
	const struct report_grid *grid;
	const struct report_grid_value *values;
	double scale; /* what a value is divided by */
	double top;   /* of the axis, in the unit shown */
};

static double
place_x(const struct plot *p, size_t record)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * (double)record / (double)(p->grid->records.count - 1);
}

static double
place_y(const struct plot *p, double value)
{
	return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / p->top;
}

/* The stronger the line, the larger the file. */
static double
opacity(const struct report_grid *grid, size_t file)
{
	return grid->files.count < 2 ? 1 : 0.25 + 0.75 * (double)file / (double)(grid->files.count - 1);
}

static void
axes(struct sink *out, const struct plot *p)
{
	double power = pow(10, floor(log10(p->top / 4)));
	double step = p->top / 4 / power > 5 ? 10 * power : p->top / 4 / power > 2 ? 5 * power : 2 * power;
	size_t every = 1 + (p->grid->records.count - 1) / 8;
	char text[32];

	for (int i = 0; i * step <= p->top; i++)
		sink_printf(out,
		    "<line class=grid x1=%d x2=%d y1=%.1f y2=%.1f></line><text text-anchor=end x=%d "
		    "y=%.1f>%.6g</text>\n",
		    LEFT, WIDTH - RIGHT, place_y(p, i * step), place_y(p, i * step), LEFT - 8, place_y(p, i * step) + 4,
		    i * step);
	for (size_t r = 0; r < p->grid->records.count; r += every)
		sink_printf(out, "<text text-anchor=middle x=%.1f y=%d>%s</text>\n", place_x(p, r), HEIGHT - 6,
		    units_format_size(p->grid->records.items[r], text, sizeof(text)));
}

static void
line(struct sink *out, const struct plot *p, size_t file)
{
	const struct report_grid_value *row = &p->values[file * p->grid->records.count];
	bool pen = false;

	sink_printf(out, "<path class='series accent' opacity=%.2f d='", opacity(p->grid, file));
	for (size_t r = 0; r < p->grid->records.count; r++) {
		if (isfinite(row[r].value))
			sink_printf(
			    out, "%s%.1f %.1f", pen ? "L" : "M", place_x(p, r), place_y(p, row[r].value / p->scale));
		pen = isfinite(row[r].value);
	}
	sink_printf(out, "'></path>\n");
}

static void
lines(struct sink *out, const struct plot *p, const char *unit)
{
	char text[32];

	if (p->grid->records.count < 2 || !(p->top > 0))
		return;
	sink_printf(out, "<div><h3>");
	html_text(out, p->grid->test);
	sink_printf(out,
	    " by record size, %s</h3><svg viewBox='0 0 %d %d' role=img aria-label='rates by record size'>\n", unit,
	    WIDTH, HEIGHT);
	axes(out, p);
	for (size_t f = 0; f < p->grid->files.count; f++)
		line(out, p, f);
	sink_printf(out, "</svg><div class=legend>file of ");
	for (size_t f = 0; f < p->grid->files.count; f++)
		sink_printf(out, "<span class=key style='--c:var(--accent);--o:%.2f'>%s</span>", opacity(p->grid, f),
		    units_format_size(p->grid->files.items[f], text, sizeof(text)));
	sink_printf(out, "</div></div>\n");
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
	sink_printf(out, "<div class=surfaces><div><h3>");
	html_text(out, grid->test);
	sink_printf(out, ", %s</h3><div class=scroll><table class=heat><tr><th>file by record</th>",
	    in_bytes ? units_mega_rate() : "op/s");
	for (size_t r = 0; r < columns; r++)
		sink_printf(out, "<th>%s</th>", units_format_size(grid->records.items[r], text, sizeof(text)));
	sink_printf(out, "</tr>\n");
	for (size_t i = 0; i < count; i++) {
		if (i % columns == 0)
			sink_printf(out, "<tr><td>%s</td>",
			    units_format_size(grid->files.items[i / columns], text, sizeof(text)));
		cell(out, in_bytes ? values[i].value / units_mega() : values[i].value,
		    in_bytes ? max / units_mega() : max, values[i].phase, values[i].phase < cards);
		if (i % columns == columns - 1)
			sink_printf(out, "</tr>\n");
	}
	sink_printf(out, "</table></div></div>\n");
	lines(out,
	    &(struct plot){ grid, values, in_bytes ? units_mega() : 1, 1.05 * (in_bytes ? max / units_mega() : max) },
	    in_bytes ? units_mega_rate() : "op/s");
	sink_printf(out, "</div>\n");
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
				    "<p class=soft>all machines together; the stronger the colour of a cell, the "
				    "faster; that of a line, the larger the file</p>\n");
			any = true;
			table(out, results, &grid, cards);
		}
		report_grid_free(&grid);
	}
	if (any)
		sink_printf(out, "</section>\n");
}
