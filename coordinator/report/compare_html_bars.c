/* Values side by side: bars for single phases, heat maps for tests at many sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/compare_html_int.h"
#include "coordinator/report/grid_int.h"
#include "coordinator/report/html_int.h"

#define DEEPEST 0.6 /* of a colour over the page */

/* --- bars --------------------------------------------------------------------------------------------------------- */

static double
largest(const struct compare_row *row)
{
	double max = 0;

	for (size_t g = 0; g < row->values_count; g++)
		if (isfinite(row->values[g].value))
			max = fmax(max, row->values[g].value);
	return max;
}

static void
bar(struct sink *out, const struct comparison *c, const struct compare_row *row, size_t group, double max)
{
	const struct compare_value *v = &row->values[group];
	const char *unit;
	double scale = compare_scale(row, &unit);

	sink_printf(out, "<div class=side>");
	html_text(out, c->groups[group].label);
	sink_printf(out, "</div><div class=track><i class=c%zu style='width:%.1f%%'></i></div><div class=figure>",
	    group % 6, isfinite(v->value) && max > 0 ? 100 * v->value / max : 0);
	html_number(out, v->value / scale);
	sink_printf(out, " <span class=unit>%s</span></div>\n", unit);
}

void
compare_html_bars(struct sink *out, const struct comparison *c)
{
	for (size_t r = 0; r < c->rows_count; r++) {
		const struct compare_row *row = &c->rows[r];
		char title[400];

		if (compare_rows_of_test(c, row->test) > 1)
			continue;
		sink_printf(out, "<h3>");
		html_text(out, compare_row_title(row, title, sizeof(title)));
		sink_printf(out, "</h3>\n<div class=bars>\n");
		for (size_t g = 0; g < row->values_count; g++)
			bar(out, c, row, g, largest(row));
		sink_printf(out, "</div>\n");
	}
}

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

struct surface {
	const struct comparison *c;
	struct report_sizes files, records;
	const struct compare_row **rows; /* files by records; NULL: not measured */
	double max;
};

static size_t
find(const struct report_sizes *sizes, uint64_t value)
{
	size_t at = 0;

	while (at < sizes->count && sizes->items[at] != value)
		at++;
	return at;
}

static bool
has_sizes(const struct compare_row *row, const char *test)
{
	return strcmp(row->test, test) == 0 && row->file_size != LS_UNKNOWN_U64 && row->record_size != LS_UNKNOWN_U64 &&
	    row->processes == LS_UNKNOWN_U64;
}

static struct surface
surface_of(const struct comparison *c, const char *test)
{
	struct surface s = { .c = c };

	for (size_t r = 0; r < c->rows_count; r++) {
		if (!has_sizes(&c->rows[r], test))
			continue;
		report_sizes_add(&s.files, c->rows[r].file_size);
		report_sizes_add(&s.records, c->rows[r].record_size);
	}
	s.rows = ls_calloc(s.files.count * s.records.count + 1, sizeof(const struct compare_row *));
	for (size_t r = 0; r < c->rows_count; r++) {
		if (!has_sizes(&c->rows[r], test))
			continue;
		s.rows[find(&s.files, c->rows[r].file_size) * s.records.count +
		    find(&s.records, c->rows[r].record_size)] = &c->rows[r];
		s.max = fmax(s.max, largest(&c->rows[r]));
	}
	return s;
}

static void
value_cell(struct sink *out, const struct surface *s, const struct compare_row *row, size_t group)
{
	const char *unit;
	double value = row->values[group].value;

	if (!isfinite(value)) {
		sink_printf(out, "<td></td>");
		return;
	}
	sink_printf(out, "<td style='background:rgba(58,125,226,%.2f)'>", s->max > 0 ? DEEPEST * value / s->max : 0);
	html_number(out, value / compare_scale(row, &unit));
	sink_printf(out, "</td>");
}

/* Twice as fast or half as fast has the deepest colour. */
static void
ratio_cell(struct sink *out, const struct comparison *c, const struct compare_row *row, size_t column)
{
	double ratio = row->ratios[column].ratio;
	char text[32];

	if (!isfinite(ratio) || ratio <= 0) {
		sink_printf(out, "<td></td>");
		return;
	}
	double depth = fmin(1, fabs(log2(ratio)));
	bool good = (ratio >= 1) == c->higher_is_better;
	sink_printf(out, "<td style='background:rgba(%s,%.2f)'>%s</td>", good ? "27,127,59" : "179,38,30",
	    DEEPEST * depth, compare_percent(ratio, text, sizeof(text)));
}

/* group: whose values; SIZE_MAX: the ratios of the column. */
static void
heat_map(struct sink *out, const struct surface *s, const char *title, size_t group, size_t column)
{
	char text[32];

	sink_printf(out, "<div><h3>");
	html_text(out, title);
	sink_printf(out, "</h3><div class=scroll><table class=heat><tr><th>file by record</th>");
	for (size_t r = 0; r < s->records.count; r++)
		sink_printf(out, "<th>%s</th>", units_format_size(s->records.items[r], text, sizeof(text)));
	sink_printf(out, "</tr>\n");
	for (size_t f = 0; f < s->files.count; f++) {
		sink_printf(out, "<tr><td>%s</td>", units_format_size(s->files.items[f], text, sizeof(text)));
		for (size_t r = 0; r < s->records.count; r++) {
			const struct compare_row *row = s->rows[f * s->records.count + r];

			if (row == NULL)
				sink_printf(out, "<td></td>");
			else if (group == SIZE_MAX)
				ratio_cell(out, s->c, row, column);
			else
				value_cell(out, s, row, group);
		}
		sink_printf(out, "</tr>\n");
	}
	sink_printf(out, "</table></div></div>\n");
}

static void
heat_maps(struct sink *out, const struct surface *s)
{
	const struct comparison *c = s->c;
	const char *unit = "";
	char title[320];
	char ratio[300];

	for (size_t i = 0; i < s->files.count * s->records.count; i++)
		if (s->rows[i] != NULL)
			compare_scale(s->rows[i], &unit);
	sink_printf(out, "<div class=surfaces>\n");
	for (size_t g = 0; g < c->groups_count; g++) {
		snprintf(title, sizeof(title), "%s, %s", c->groups[g].label, unit);
		heat_map(out, s, title, g, 0);
	}
	for (size_t i = 0; i < c->groups_count - 1; i++) {
		const struct compare_ratio *r = &c->rows[0].ratios[i];

		snprintf(title, sizeof(title), "%s", compare_ratio_title(c, r->of, r->to, ratio, sizeof(ratio)));
		heat_map(out, s, title, SIZE_MAX, i);
	}
	sink_printf(out, "</div>\n");
}

bool
compare_html_surfaces(struct sink *out, const struct comparison *c, const char *test)
{
	struct surface s = surface_of(c, test);
	bool is_grid = s.files.count > 1 && s.records.count > 1;

	if (is_grid)
		heat_maps(out, &s);
	free(s.rows);
	free(s.files.items);
	free(s.records.items);
	return is_grid;
}
