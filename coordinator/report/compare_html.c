/* The comparison as a page that needs no network, no script and no other file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/compare_html_int.h"
#include "coordinator/report/html_int.h"

#define MANY_ROWS 60 /* from here a test's table is folded below its heat maps */

static void
title_of(const struct comparison *c, struct sink *out)
{
	for (size_t g = 0; g < c->groups_count; g++)
		sink_printf(out, "%s%s", g == 0 ? "" : g + 1 < c->groups_count ? ", " : " and ", c->groups[g].label);
}

static void
list(struct sink *out, const char *class, const char *title, char *const *items, size_t count)
{
	if (count == 0)
		return;
	sink_printf(out, "<section class='%s'><h2>%s</h2>\n<ul>\n", class, title);
	for (size_t i = 0; i < count; i++) {
		sink_printf(out, "<li>");
		html_text(out, items[i]);
		sink_printf(out, "</li>\n");
	}
	sink_printf(out, "</ul></section>\n");
}

static void
sides(struct sink *out, const struct comparison *c)
{
	sink_printf(out, "<dl class=facts>\n");
	for (size_t g = 0; g < c->groups_count; g++) {
		const struct compare_group *group = &c->groups[g];

		sink_printf(out, "<div><dt>");
		html_text(out, group->label);
		sink_printf(out, "</dt><dd>");
		html_text(out, group->about);
		sink_printf(out, "; %zu node%s, %zu repeat%s <span class=soft>run ", (size_t)group->nodes,
		    group->nodes == 1 ? "" : "s", (size_t)group->repeats, group->repeats == 1 ? "" : "s");
		html_text(out, group->runs[0]);
		sink_printf(out, "%s</span></dd></div>\n", group->runs_count > 1 ? " and others" : "");
	}
	sink_printf(out, "</dl>\n");
}

/* --- summary: one tile for each pair of sides ----------------------------------------------------------------------- */

static size_t
count_of(const struct comparison *c, size_t column, int verdict)
{
	size_t count = 0;

	for (size_t r = 0; r < c->rows_count; r++)
		count += (int)c->rows[r].ratios[column].verdict == verdict;
	return count;
}

static void
tile(struct sink *out, const struct comparison *c, size_t column)
{
	const struct compare_ratio *first = &c->rows[0].ratios[column];
	const struct compare_mean *mean = compare_mean_of(c, NULL, column);
	char title[300];
	char percent[32];

	sink_printf(out, "<div class=tile><div class=what>");
	html_text(out, compare_ratio_title(c, first->of, first->to, title, sizeof(title)));
	sink_printf(out, ", geometric mean</div><div class=value>%s</div><div class=more>",
	    compare_percent(mean == NULL ? (double)NAN : mean->ratio, percent, sizeof(percent)));
	if (compare_has_intervals(c))
		sink_printf(out, "faster in %zu, slower in %zu, no difference shown in %zu of %zu",
		    count_of(c, column, COMPARE_FASTER), count_of(c, column, COMPARE_SLOWER),
		    count_of(c, column, COMPARE_NO_DIFFERENCE), c->rows_count);
	else
		sink_printf(out, "over %zu of %zu rows; not repeated, so no verdict",
		    mean == NULL ? 0 : (size_t)mean->rows, c->rows_count);
	sink_printf(out, "</div></div>\n");
}

static void
summary(struct sink *out, const struct comparison *c)
{
	sink_printf(out, "<section class=card><h2>In short</h2><div class=tiles>\n");
	for (size_t i = 0; i < c->rows[0].ratios_count; i++)
		tile(out, c, i);
	sink_printf(out, "</div>\n");
	compare_html_ratios(out, c);
	sink_printf(out, "</section>\n");
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void
table_head(struct sink *out, const struct comparison *c, const char *first, bool intervals)
{
	char title[300];

	sink_printf(out, "<div class=scroll><table><tr><th>%s</th><th class=text>unit</th>", first);
	for (size_t g = 0; g < c->groups_count; g++) {
		sink_printf(out, "<th>");
		html_text(out, c->groups[g].label);
		sink_printf(out, "</th>");
	}
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_ratio *r = &c->rows[0].ratios[i];

		sink_printf(out, "<th>");
		html_text(out, compare_ratio_title(c, r->of, r->to, title, sizeof(title)));
		sink_printf(out, "</th>%s", intervals ? "<th>95 % interval</th><th class=text>verdict</th>" : "");
	}
	sink_printf(out, "</tr>\n");
}

static void
ratio_cells(struct sink *out, const struct comparison *c, const struct compare_ratio *r, bool intervals)
{
	const char *class = compare_html_class(c, r);
	char percent[32];

	sink_printf(out, "<td class='%s'>%s</td>", class, compare_percent(r->ratio, percent, sizeof(percent)));
	if (!intervals)
		return;
	if (isfinite(r->low))
		sink_printf(out, "<td>%.1f-%.1f%%</td>", 100 * r->low, 100 * r->high);
	else
		sink_printf(out, "<td>n/a</td>");
	sink_printf(out, "<td class='text %s'>%s</td>", class, compare_verdict_text(r->verdict));
}

static void
table_row(
    struct sink *out, const struct comparison *c, const struct compare_row *row, const char *first, bool intervals)
{
	const char *unit;
	double scale = compare_scale(row, &unit);

	sink_printf(out, "<tr><td>");
	html_text(out, first);
	sink_printf(out, "</td><td class=text>%s</td>", unit);
	for (size_t g = 0; g < row->values_count; g++)
		html_cell(out, row->values[g].value / scale);
	for (size_t i = 0; i < row->ratios_count; i++)
		ratio_cells(out, c, &row->ratios[i], intervals);
	sink_printf(out, "</tr>\n");
}

static void
mean_row(struct sink *out, const struct comparison *c, const char *test, bool intervals)
{
	char percent[32];

	sink_printf(out, "<tr class=all><td>geometric mean</td><td colspan=%zu></td>", c->groups_count + 1);
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_mean *mean = compare_mean_of(c, test, i);

		sink_printf(out, "<td>%s</td>%s",
		    compare_percent(mean == NULL ? (double)NAN : mean->ratio, percent, sizeof(percent)),
		    intervals ? "<td colspan=2></td>" : "");
	}
	sink_printf(out, "</tr></table></div>\n");
}

static void
single_phases(struct sink *out, const struct comparison *c, bool intervals)
{
	size_t singles = 0;

	for (size_t r = 0; r < c->rows_count; r++)
		singles += compare_rows_of_test(c, c->rows[r].test) == 1;
	if (singles == 0)
		return;
	sink_printf(out, "<section class=card><h2>By phase</h2>\n");
	compare_html_bars(out, c);
	table_head(out, c, "phase", intervals);
	for (size_t r = 0; r < c->rows_count; r++)
		if (compare_rows_of_test(c, c->rows[r].test) == 1)
			table_row(out, c, &c->rows[r], c->rows[r].name, intervals);
	if (singles == c->rows_count)
		mean_row(out, c, NULL, intervals);
	else
		sink_printf(out, "</table></div>\n");
	sink_printf(out, "</section>\n");
}

static void
test_card(struct sink *out, const struct comparison *c, const char *test, bool intervals)
{
	bool folded;

	sink_printf(out, "<section class=card><h2>");
	html_text(out, test);
	sink_printf(out, "</h2>\n");
	folded = compare_html_surfaces(out, c, test) && compare_rows_of_test(c, test) > MANY_ROWS;
	if (folded)
		sink_printf(out, "<details><summary>all sizes</summary>\n");
	table_head(out, c, "file by record", intervals);
	for (size_t r = 0; r < c->rows_count; r++) {
		char title[80];

		if (strcmp(c->rows[r].test, test) == 0)
			table_row(
			    out, c, &c->rows[r], compare_size_title(&c->rows[r], title, sizeof(title)), intervals);
	}
	mean_row(out, c, test, intervals);
	sink_printf(out, "%s</section>\n", folded ? "</details>" : "");
}

void
compare_html(const struct comparison *c, struct sink *out)
{
	bool intervals = compare_has_intervals(c);
	struct sink title = { 0 };
	char footer[512];

	title_of(c, &title);
	html_page_head(out, title.text);
	sink_printf(out, "<header><h1>");
	html_text(out, title.text);
	sink_free(&title);
	sink_printf(out, " <span class=soft>compared</span></h1>\n");
	sides(out, c);
	sink_printf(out, "</header><main>\n");
	list(out, "warnings", "Not the same: the ratios below compare this too", c->differences, c->differences_count);
	list(out, "warnings", "About the repeats", c->notes, c->notes_count);
	if (c->rows_count == 0)
		sink_printf(out, "<p>No phase has a result.</p>\n");
	else
		summary(out, c);
	if (c->rows_count > 0)
		single_phases(out, c, intervals);
	for (size_t r = 0; r < c->rows_count; r++)
		if (compare_is_first_of_test(c, r) && compare_rows_of_test(c, c->rows[r].test) > 1)
			test_card(out, c, c->rows[r].test, intervals);
	list(out, "card", "What else differs", c->facts, c->facts_count);
	sink_printf(out, "</main>\n<footer><p>");
	html_text(out, compare_footer(c, footer, sizeof(footer)));
	sink_printf(out, "</p></footer>\n</body></html>\n");
}
