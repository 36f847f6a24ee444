/* The comparison as tables: values side by side, then ratios in percent, rounded. */
#include "coordinator/report/compare_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/text_int.h"

#define MIB 1048576.0

enum { W_FIRST = 22, W_UNIT = 6, W_VALUE = 11, W_RATIO = 9, W_INTERVAL = 15 };

const char *
compare_format(double value, const char *unit, char *buf, size_t len)
{
	char text[32];

	if (strcmp(unit, "B/s") == 0)
		snprintf(buf, len, "%s", units_format_rate(value, text, sizeof(text)));
	else if (strcmp(unit, "ns") == 0)
		snprintf(buf, len, "%s", units_format_duration((int64_t)value, text, sizeof(text)));
	else
		snprintf(buf, len, "%s %s", units_format_count(value, text, sizeof(text)), unit);
	return buf;
}

struct view {
	const struct comparison *c;
	struct sink *out;
	int value; /* width of the columns of values */
	int ratio; /* and of ratios */
};

/* "B/A" of a column. buf: 300 bytes. */
static const char *
ratio_title(const struct comparison *c, uint64_t of, uint64_t to, char *buf, size_t len)
{
	snprintf(buf, len, "%s/%s", c->groups[of].label, c->groups[to].label);
	return buf;
}

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

		v.ratio = width_of(v.ratio, strlen(ratio_title(c, r->of, r->to, title, sizeof(title))));
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

		text_cell_word(v->out, v->ratio, ratio_title(c, r->of, r->to, title, sizeof(title)));
	}
	sink_printf(v->out, "\n");
}

static void
cell_ratio(const struct view *v, double ratio)
{
	char text[32] = "n/a";

	if (isfinite(ratio))
		snprintf(text, sizeof(text), "%.0f%%", floor(100 * ratio + 0.5 + 1e-9)); /* halves go up, as by hand */
	text_cell_word(v->out, v->ratio, text);
}

/* Unit in which a row's values are printed, and what to divide them by. */
static double
scale_of(const struct compare_row *row, const char **unit)
{
	if (strcmp(row->unit, "B/s") == 0) {
		*unit = "MiB/s";
		return MIB;
	}
	if (strcmp(row->unit, "ns") == 0) {
		*unit = "us";
		return 1e3;
	}
	*unit = row->unit;
	return 1;
}

static void
row_line(const struct view *v, const struct compare_row *row, const char *first)
{
	const char *unit;
	double scale = scale_of(row, &unit);

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
	for (size_t m = 0; m < c->means_count; m++)
		if (test == NULL ? c->means[m].test == NULL
				 : c->means[m].test != NULL && strcmp(c->means[m].test, test) == 0)
			cell_ratio(v, c->means[m].ratio);
	sink_printf(v->out, "\n");
}

static size_t
rows_of_test(const struct comparison *c, const char *test)
{
	size_t count = 0;

	for (size_t r = 0; r < c->rows_count; r++)
		count += strcmp(c->rows[r].test, test) == 0;
	return count;
}

static bool
is_first_of_test(const struct comparison *c, size_t r)
{
	for (size_t q = 0; q < r; q++)
		if (strcmp(c->rows[q].test, c->rows[r].test) == 0)
			return false;
	return true;
}

static const char *
size_title(const struct compare_row *row, char *buf, size_t len)
{
	char file[32];
	char record[32];

	if (row->processes != LS_UNKNOWN_U64)
		snprintf(buf, len, "%zu process%s", (size_t)row->processes, row->processes == 1 ? "" : "es");
	else if (row->file_size == LS_UNKNOWN_U64)
		snprintf(buf, len, "%s", row->name);
	else if (row->record_size == LS_UNKNOWN_U64)
		snprintf(buf, len, "%s", units_format_size(row->file_size, file, sizeof(file)));
	else
		snprintf(buf, len, "%s by %s", units_format_size(row->file_size, file, sizeof(file)),
		    units_format_size(row->record_size, record, sizeof(record)));
	return buf;
}

const char *
compare_row_title(const struct compare_row *row, char *buf, size_t len)
{
	char size[80];

	if (row->file_size == LS_UNKNOWN_U64 && row->processes == LS_UNKNOWN_U64)
		snprintf(buf, len, "%s", row->name);
	else
		snprintf(buf, len, "%s %s", row->name, size_title(row, size, sizeof(size)));
	return buf;
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
			row_line(v, &v->c->rows[r], size_title(&v->c->rows[r], title, sizeof(title)));
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
		if (rows_of_test(c, c->rows[r].test) > 1) {
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
		if (is_first_of_test(c, r) && rows_of_test(c, c->rows[r].test) > 1)
			grid(v, c->rows[r].test);
	if (grids > 0) {
		sink_printf(v->out, "\nall tests\n");
		mean_line(v, NULL);
	}
}

static const char *
verdict_text(int verdict)
{
	static const char *const texts[COMPARE_VERDICT_COUNT] = {
		[COMPARE_UNKNOWN] = "no figure",
		[COMPARE_NOT_REPEATED] = "not repeated",
		[COMPARE_FASTER] = "faster",
		[COMPARE_SLOWER] = "slower",
		[COMPARE_NO_DIFFERENCE] = "no difference shown",
	};

	return texts[verdict];
}

static bool
has_intervals(const struct comparison *c)
{
	for (size_t r = 0; r < c->rows_count; r++)
		for (size_t i = 0; i < c->rows[r].ratios_count; i++)
			if (isfinite(c->rows[r].ratios[i].low))
				return true;
	return false;
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
	sink_printf(
	    v->out, "%-*s%*s", 2 * W_FIRST, first, v->ratio, ratio_title(v->c, r->of, r->to, title, sizeof(title)));
	cell_ratio(v, r->ratio);
	sink_printf(v->out, "%*s  %s\n", W_INTERVAL, interval, verdict_text(r->verdict));
}

static void
verdicts(const struct view *v)
{
	const struct comparison *c = v->c;

	if (!has_intervals(c)) {
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
	const struct compare_metric *metric = compare_metric_find(c->metric);

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
	text_wrap(out, "", "%s: %s, %s is better. MiB = 1048576 bytes.%s", c->metric,
	    metric == NULL ? "" : metric->help, c->higher_is_better ? "more" : "less",
	    has_intervals(c) ? " Values are geometric means of the repeats; intervals by Welch's t on logarithms."
			     : "");
}
