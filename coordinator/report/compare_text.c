/* The comparison as tables: values side by side, then ratios in percent, rounded. */
#include "coordinator/report/compare_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/text_int.h"

enum { W_FIRST = 22, W_UNIT = 6, W_VALUE = 11, W_RATIO = 9, W_INTERVAL = 15 };

struct view {
	const struct comparison *c;
	struct sink *out;
	int value; /* width of the columns of values */
	int ratio; /* and of ratios */
};

static int
width_of(int least, size_t text)
{
	return LS_MAX(least, (int)text + 2);
}

static struct view
view_of(const struct comparison *c, struct sink *out)
{
	struct view v = { c, out, W_VALUE, W_RATIO };
	char title[300];

	for (size_t g = 0; g < c->groups_count; g++)
		v.value = width_of(v.value, strlen(c->groups[g].label));
	for (size_t i = 0; c->rows_count > 0 && i < c->rows[0].ratios_count; i++) {
		const struct compare_ratio *r = &c->rows[0].ratios[i];

		v.ratio = width_of(v.ratio, strlen(compare_ratio_title(c, r->of, r->to, title, sizeof(title))));
	}
	return v;
}

static void
head(const struct view *v, const char *first)
{
	const struct comparison *c = v->c;
	char title[300];

	sink_printf(v->out, "%-*s%-*s", W_FIRST, first, W_UNIT, "unit");
	for (size_t g = 0; g < c->groups_count; g++)
		text_cell_word(v->out, v->value, c->groups[g].label);
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_ratio *r = &c->rows[0].ratios[i];

		text_cell_word(v->out, v->ratio, compare_ratio_title(c, r->of, r->to, title, sizeof(title)));
	}
	sink_printf(v->out, "\n");
}

static void
cell_ratio(const struct view *v, double ratio)
{
	char text[32];

	text_cell_word(v->out, v->ratio, compare_percent(ratio, text, sizeof(text)));
}

static void
row_line(const struct view *v, const struct compare_row *row, const char *first)
{
	const char *unit;
	double scale = compare_scale(row, &unit);

	sink_printf(v->out, "%-*.*s %-*s", W_FIRST - 1, W_FIRST - 1, first, W_UNIT, unit);
	for (size_t g = 0; g < row->values_count; g++)
		text_cell(v->out, v->value, row->values[g].value / scale);
	for (size_t i = 0; i < row->ratios_count; i++)
		cell_ratio(v, row->ratios[i].ratio);
	sink_printf(v->out, "\n");
}

static void
mean_line(const struct view *v, const char *test)
{
	const struct comparison *c = v->c;

	sink_printf(v->out, "%-*s", W_FIRST + W_UNIT, "geometric mean");
	sink_repeat(v->out, ' ', (size_t)v->value * c->groups_count);
	for (size_t i = 0; i < c->rows[0].ratios_count; i++) {
		const struct compare_mean *mean = compare_mean_of(c, test, i);

		cell_ratio(v, mean == NULL ? (double)NAN : mean->ratio);
	}
	sink_printf(v->out, "\n");
}

/* A test that was run at several sizes: a table of its own, file size by record size. */
static void
grid(const struct view *v, const char *test)
{
	sink_printf(v->out, "\n%s\n", test);
	head(v, "file by record");
	for (size_t r = 0; r < v->c->rows_count; r++) {
		char title[80];

		if (strcmp(v->c->rows[r].test, test) == 0)
			row_line(v, &v->c->rows[r], compare_size_title(&v->c->rows[r], title, sizeof(title)));
	}
	mean_line(v, test);
}

static void
tables(const struct view *v)
{
	const struct comparison *c = v->c;
	bool headed = false;
	size_t grids = 0;

	for (size_t r = 0; r < c->rows_count; r++) {
		if (compare_rows_of_test(c, c->rows[r].test) > 1) {
			grids++;
			continue;
		}
		if (!headed) {
			sink_printf(v->out, "\n");
			head(v, "phase");
		}
		headed = true;
		row_line(v, &c->rows[r], c->rows[r].name);
	}
	if (headed && grids == 0)
		mean_line(v, NULL);
	for (size_t r = 0; r < c->rows_count && grids > 0; r++)
		if (compare_is_first_of_test(c, r) && compare_rows_of_test(c, c->rows[r].test) > 1)
			grid(v, c->rows[r].test);
	if (grids > 0) {
		sink_printf(v->out, "\nall tests\n");
		mean_line(v, NULL);
	}
}

static void
verdict_line(const struct view *v, const struct compare_row *row, const struct compare_ratio *r)
{
	char title[300];
	char first[400];
	char interval[64] = "n/a";

	compare_row_title(row, first, sizeof(first));
	if (isfinite(r->low))
		snprintf(interval, sizeof(interval), "%.1f-%.1f%%", 100 * r->low, 100 * r->high);
	sink_printf(v->out, "%-*s%*s", 2 * W_FIRST, first, v->ratio,
	    compare_ratio_title(v->c, r->of, r->to, title, sizeof(title)));
	cell_ratio(v, r->ratio);
	sink_printf(v->out, "%*s  %s\n", W_INTERVAL, interval, compare_verdict_text(r->verdict));
}

static void
verdicts(const struct view *v)
{
	const struct comparison *c = v->c;

	if (!compare_has_intervals(c)) {
		sink_printf(v->out, "\n");
		text_wrap(v->out, "",
		    "No verdict: a side with one measurement does not show how much it varies. Repeats (repeat in the "
		    "job, "
		    "or A1,A2,A3 in place of A) give an interval.");
		return;
	}
	sink_printf(v->out, "\n%-*s%*s%*s%*s  %s\n", 2 * W_FIRST, "with repeats", v->ratio, "", v->ratio, "ratio",
	    W_INTERVAL, "95 % interval", "verdict");
	for (size_t r = 0; r < c->rows_count; r++)
		for (size_t i = 0; i < c->rows[r].ratios_count; i++)
			verdict_line(v, &c->rows[r], &c->rows[r].ratios[i]);
}

/* What people say of a side's first run, under it. */
static void
side_labels(const struct compare_group *group, struct sink *out)
{
	struct sink text = { 0 };

	for (size_t i = 0; i < group->tags_count; i++)
		sink_printf(&text, "%s%s", i == 0 ? "tags " : ", ", group->tags[i]);
	if (group->note != NULL && group->note[0] != '\0')
		sink_printf(&text, "%snote: %s", text.len > 0 ? "; " : "", group->note);
	if (text.text != NULL)
		text_wrap(out, "        ", "%s", text.text);
	sink_free(&text);
}

static void
sides(const struct comparison *c, struct sink *out)
{
	for (size_t g = 0; g < c->groups_count; g++) {
		const struct compare_group *group = &c->groups[g];
		char prefix[160];

		snprintf(prefix, sizeof(prefix), "%-7s ", group->label);
		text_wrap(out, prefix, "%s; %zu node%s, %zu repeat%s; run %s%s", group->about, (size_t)group->nodes,
		    group->nodes == 1 ? "" : "s", (size_t)group->repeats, group->repeats == 1 ? "" : "s",
		    group->runs[0], group->runs_count > 1 ? " and others" : "");
		side_labels(group, out);
	}
}

static void
list(struct sink *out, const char *title, const char *prefix, char *const *items, size_t count)
{
	if (count == 0)
		return;
	sink_printf(out, "\n%s\n", title);
	for (size_t i = 0; i < count; i++)
		text_wrap(out, prefix, "%s", items[i]);
}

void
compare_text(const struct comparison *c, struct sink *out)
{
	struct view v = view_of(c, out);
	char footer[512];

	sides(c, out);
	list(out, "Not the same: ratios below compare this too", "! ", c->differences, c->differences_count);
	list(out, "What else differs", "  ", c->facts, c->facts_count);
	if (c->rows_count == 0) {
		sink_printf(out, "\nNo phase has a result.\n");
		return;
	}
	tables(&v);
	verdicts(&v);
	list(out, "About the repeats", "! ", c->notes, c->notes_count);
	sink_printf(out, "\n");
	text_wrap(out, "", "%s", compare_footer(c, footer, sizeof(footer)));
}
