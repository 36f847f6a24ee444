/* The forms of a comparison, and what they share. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/units.h"
#include "coordinator/report/compare_int.h"
#include "proto/codec/json.h"

const struct compare_format compare_formats[] = {
	{ "text", "tables for people, at most 100 columns with two sides", compare_text },
	{ "markdown", "the same for a ticket or a wiki", compare_markdown },
	{ "html", "a page with bars, intervals and heat maps that needs no network", compare_html },
	{ "csv", "one ratio a row, for spreadsheets and data frames", compare_csv },
	{ "json", "all of it (schema lockstep-compare/1)", compare_json },
	{ 0 },
};

const struct compare_format *
compare_format_find(const char *name)
{
	for (size_t i = 0; compare_formats[i].name != NULL; i++)
		if (strcmp(compare_formats[i].name, name) == 0)
			return &compare_formats[i];
	return NULL;
}

void
compare_json(const struct comparison *c, struct sink *out)
{
	size_t len;
	char *text = json_encode_struct(&comparison_desc, c, true, &len);

	sink_add(out, text, len);
	sink_add(out, "\n", 1);
	free(text);
}

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

const char *
compare_percent(double ratio, char *buf, size_t len)
{
	if (isfinite(ratio))
		snprintf(buf, len, "%.0f%%", floor(100 * ratio + 0.5 + 1e-9)); /* halves go up, as by hand */
	else
		snprintf(buf, len, "n/a");
	return buf;
}

const char *
compare_ratio_title(const struct comparison *c, uint64_t of, uint64_t to, char *buf, size_t len)
{
	snprintf(buf, len, "%s/%s", c->groups[of].label, c->groups[to].label);
	return buf;
}

const char *
compare_verdict_text(int verdict)
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

double
compare_scale(const struct compare_row *row, const char **unit)
{
	if (strcmp(row->unit, "B/s") == 0) {
		*unit = units_mega_rate();
		return units_mega();
	}
	if (strcmp(row->unit, "ns") == 0) {
		*unit = "us";
		return 1e3;
	}
	*unit = row->unit;
	return 1;
}

size_t
compare_rows_of_test(const struct comparison *c, const char *test)
{
	size_t count = 0;

	for (size_t r = 0; r < c->rows_count; r++)
		count += strcmp(c->rows[r].test, test) == 0;
	return count;
}

bool
compare_is_first_of_test(const struct comparison *c, size_t r)
{
	for (size_t q = 0; q < r; q++)
		if (strcmp(c->rows[q].test, c->rows[r].test) == 0)
			return false;
	return true;
}

bool
compare_has_intervals(const struct comparison *c)
{
	for (size_t r = 0; r < c->rows_count; r++)
		for (size_t i = 0; i < c->rows[r].ratios_count; i++)
			if (isfinite(c->rows[r].ratios[i].low))
				return true;
	return false;
}

const char *
compare_size_title(const struct compare_row *row, char *buf, size_t len)
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
		snprintf(buf, len, "%s %s", row->name, compare_size_title(row, size, sizeof(size)));
	return buf;
}

const struct compare_mean *
compare_mean_of(const struct comparison *c, const char *test, size_t column)
{
	for (size_t m = 0; m < c->means_count; m++) {
		const char *own = c->means[m].test;

		if (test == NULL ? own != NULL : own == NULL || strcmp(own, test) != 0)
			continue;
		if (column-- == 0)
			return &c->means[m];
	}
	return NULL;
}

const char *
compare_footer(const struct comparison *c, char *buf, size_t len)
{
	const struct compare_metric *metric = compare_metric_find(c->metric);

	snprintf(buf, len, "%s: %s, %s is better. %s.%s", c->metric, metric == NULL ? "" : metric->help,
	    c->higher_is_better ? "more" : "less", units_mega_note(),
	    compare_has_intervals(c)
		? " Values are geometric means of the repeats; intervals by Welch's t on logarithms."
		: "");
	return buf;
}
