/* The comparison for a ticket or a wiki: what limits it on top, then a table for each test. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/report/compare_int.h"
#include "coordinator/report/markdown_int.h"
#include "coordinator/report/text_int.h"

static void
list(struct sink *out, const char *title, char *const *items, size_t count)
{
	if (count == 0)
		return;
	sink_printf(out, "\n> **%s**\n>\n", title);
	for (size_t i = 0; i < count; i++) {
		sink_printf(out, "> - ");
		markdown_text(out, items[i]);
		sink_printf(out, "\n");
	}
}

static void
head(struct sink *out, const struct comparison *c, const char *first, bool intervals)
{
	char title[300];

	sink_printf(out, "\n| %s | unit |", first);
	for (size_t g = 0; g < c->groups_count; g++) {
		sink_printf(out, " ");
		markdown_text(out, c->groups[g].label);
		sink_printf(out, " |");
	}
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_ratio *r = &c->rows[0].ratios[i];

		sink_printf(out, " ");
		markdown_text(out, compare_ratio_title(c, r->of, r->to, title, sizeof(title)));
		sink_printf(out, " |%s", intervals ? " 95 % interval | verdict |" : "");
	}
	sink_printf(out, "\n| :--- | :--- |");
	for (size_t g = 0; g < c->groups_count; g++)
		sink_printf(out, " ---: |");
	for (size_t i = 0; i < c->rows[0].ratios_count; i++)
		sink_printf(out, " ---: |%s", intervals ? " ---: | :--- |" : "");
	sink_printf(out, "\n");
}

static void
ratio_cells(struct sink *out, const struct compare_ratio *r, bool intervals)
{
	char text[32];

	sink_printf(out, " %s |", compare_percent(r->ratio, text, sizeof(text)));
	if (!intervals)
		return;
	if (isfinite(r->low))
		sink_printf(out, " %.1f-%.1f%% |", 100 * r->low, 100 * r->high);
	else
		sink_printf(out, " n/a |");
	sink_printf(out, " %s |", compare_verdict_text(r->verdict));
}

static void
row_line(struct sink *out, const struct compare_row *row, const char *first, bool intervals)
{
	const char *unit;
	double scale = compare_scale(row, &unit);
	char text[64];

	sink_printf(out, "| ");
	markdown_text(out, first);
	sink_printf(out, " | %s |", unit);
	for (size_t g = 0; g < row->values_count; g++)
		sink_printf(out, " %s |", text_number(row->values[g].value / scale, text, sizeof(text)));
	for (size_t i = 0; i < row->ratios_count; i++)
		ratio_cells(out, &row->ratios[i], intervals);
	sink_printf(out, "\n");
}

static void
mean_line(struct sink *out, const struct comparison *c, const char *test, bool intervals)
{
	char text[32];

	sink_printf(out, "| **geometric mean** | |");
	for (size_t g = 0; g < c->groups_count; g++)
		sink_printf(out, " |");
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_mean *mean = compare_mean_of(c, test, i);

		sink_printf(out, " **%s** |%s",
		    compare_percent(mean == NULL ? (double)NAN : mean->ratio, text, sizeof(text)),
		    intervals ? " | |" : "");
	}
	sink_printf(out, "\n");
}

static void
grid(struct sink *out, const struct comparison *c, const char *test, bool intervals)
{
	sink_printf(out, "\n## ");
	markdown_text(out, test);
	sink_printf(out, "\n");
	head(out, c, "file by record", intervals);
	for (size_t r = 0; r < c->rows_count; r++) {
		char title[80];

		if (strcmp(c->rows[r].test, test) == 0)
			row_line(out, &c->rows[r], compare_size_title(&c->rows[r], title, sizeof(title)), intervals);
	}
	mean_line(out, c, test, intervals);
}

static void
tables(struct sink *out, const struct comparison *c, bool intervals)
{
	bool any = false;

	for (size_t r = 0; r < c->rows_count; r++) {
		if (compare_rows_of_test(c, c->rows[r].test) > 1)
			continue;
		if (!any)
			head(out, c, "phase", intervals);
		any = true;
		row_line(out, &c->rows[r], c->rows[r].name, intervals);
	}
	for (size_t r = 0; r < c->rows_count; r++)
		if (compare_is_first_of_test(c, r) && compare_rows_of_test(c, c->rows[r].test) > 1)
			grid(out, c, c->rows[r].test, intervals);
	sink_printf(out, "\n## All tests\n");
	head(out, c, "", intervals);
	mean_line(out, c, NULL, intervals);
}

void
compare_markdown(const struct comparison *c, struct sink *out)
{
	char footer[512];

	sink_printf(out, "# Comparison\n\n");
	for (size_t g = 0; g < c->groups_count; g++) {
		const struct compare_group *group = &c->groups[g];

		sink_printf(out, "- **");
		markdown_text(out, group->label);
		sink_printf(out, "**: ");
		markdown_text(out, group->about);
		sink_printf(out, "; %zu node%s, %zu repeat%s\n", (size_t)group->nodes, group->nodes == 1 ? "" : "s",
		    (size_t)group->repeats, group->repeats == 1 ? "" : "s");
	}
	list(out, "Not the same: ratios below compare this too", c->differences, c->differences_count);
	list(out, "What else differs", c->facts, c->facts_count);
	list(out, "About the repeats", c->notes, c->notes_count);
	if (c->rows_count == 0) {
		sink_printf(out, "\nNo phase has a result.\n");
		return;
	}
	tables(out, c, compare_has_intervals(c));
	sink_printf(out, "\n");
	markdown_text(out, compare_footer(c, footer, sizeof(footer)));
	sink_printf(out, "\n");
}
