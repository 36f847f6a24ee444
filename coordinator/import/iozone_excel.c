/* The reports of -R: one for each test, a line of record sizes, a line for each size of file. They repeat what the tables tell. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "coordinator/import/iozone_int.h"

#define SIZES_MAX 64

/* "\"Writer report\"": its test; IOZONE_TESTS: not such a title. */
static enum iozone_test
title_of(const char *line)
{
	static const char tail[] = " report\"";
	line += strspn(line, " \t");
	size_t len = strlen(line);
	if (line[0] != '"' || len < sizeof(tail) || strcmp(line + len - (sizeof(tail) - 1), tail) != 0)
		return IOZONE_TESTS;
	len -= sizeof(tail);
	for (int t = 0; t < IOZONE_TESTS; t++) {
		const char *report = import_iozone_tests[t].report;

		if (report != NULL && strlen(report) == len && strncasecmp(report, line + 1, len) == 0)
			return (enum iozone_test)t;
	}
	return IOZONE_TESTS;
}

/* "\"64\"" in KiB */
static bool
quoted_size(const struct import_words *w, size_t i, uint64_t *out)
{
	if (i >= w->count)
		return false;
	const char *word = w->line + w->at[i].start;
	size_t len = w->at[i].end - w->at[i].start;

	return len > 2 && word[0] == '"' && word[len - 1] == '"' && import_integer(word + 1, len - 2, out) &&
	    *out > 0 && *out < 1ULL << 50;
}

static enum ls_rc
take_row(struct iozone *z, enum iozone_test test, const struct import_words *w, const uint64_t *records, size_t count,
    size_t line, struct ls_err *err)
{
	uint64_t file;
	double value;

	if (!quoted_size(w, 0, &file) || w->count < 2)
		return import_error(
		    err, line, "this line of iozone's %s report has no values", import_iozone_tests[test].report);
	if (w->count - 1 > count)
		return import_error(err, line,
		    "this line of iozone's %s report has %zu values for %zu sizes of records",
		    import_iozone_tests[test].report, w->count - 1, count);
	for (size_t i = 1; i < w->count; i++) {
		if (!import_word_number(w, i, &value))
			return import_error(err, line, "value %zu of iozone's %s report is no number", i,
			    import_iozone_tests[test].report);
		if (value <= 0)
			continue; /* not run */
		struct phase_result *phase = import_iozone_phase(z, test, file * 1024, records[i - 1] * 1024, line);
		import_iozone_value(z, import_node(z->doc, phase, import_iozone_node(z)), value);
	}
	return LS_OK;
}

static enum ls_rc
take_report(struct iozone *z, enum iozone_test test, size_t *line, struct ls_err *err)
{
	struct import_words w;
	uint64_t records[SIZES_MAX];
	size_t count = 0;
	size_t rows = 0;
	size_t i = *line + 1;

	while (i < z->text->count && z->text->bare[i][0] == '\0')
		i++;
	import_words_of(i < z->text->count ? z->text->bare[i] : "", &w);
	while (count < SIZES_MAX && count < w.count && quoted_size(&w, count, &records[count]))
		count++;
	if (count == 0 || count != w.count)
		return import_error(
		    err, *line, "iozone's %s report has no line of record sizes", import_iozone_tests[test].report);
	for (i++; i < z->text->count; i++) {
		uint64_t file;

		import_words_of(z->text->bare[i], &w);
		if (!quoted_size(&w, 0, &file))
			break;
		if (!z->table) {
			import_iozone_doc(z, "iozone -R report", *line);
			enum ls_rc rc = take_row(z, test, &w, records, count, i, err);
			if (rc != LS_OK)
				return rc;
		}
		rows++;
	}
	if (rows == 0)
		return import_error(
		    err, *line, "iozone's %s report has no line of values", import_iozone_tests[test].report);
	z->excel = true;
	z->end = *line = i - 1;
	return LS_OK;
}

/* "   Initial write " 3647896.16: a line of the throughput report. IOZONE_TESTS: none. */
static enum iozone_test
total_of(const char *line, const char **values)
{
	line += strspn(line, " \t");
	if (line[0] != '"')
		return IOZONE_TESTS;
	line++;
	line += strspn(line, " ");
	const char *end = strchr(line, '"');
	if (end == NULL)
		return IOZONE_TESTS;
	size_t len = (size_t)(end - line);
	while (len > 0 && line[len - 1] == ' ')
		len--;
	*values = end + 1;
	for (int t = 0; t < IOZONE_TESTS; t++) {
		const char *total = import_iozone_tests[t].total;

		if (total != NULL && strlen(total) == len && strncasecmp(total, line, len) == 0)
			return (enum iozone_test)t;
	}
	return IOZONE_TESTS;
}

static void
take_totals(struct iozone *z, enum iozone_test test, const char *values, size_t line)
{
	struct import_words w;
	double value;

	import_words_of(values, &w);
	for (size_t i = 0; i < w.count && import_word_number(&w, i, &value); i++) {
		import_iozone_doc(z, "iozone -R report", line);
		struct phase_result *phase = import_iozone_phase(z, test, LS_UNKNOWN_U64, LS_UNKNOWN_U64, line);
		import_phase_metric(phase, "place in the range of processes", (double)i + 1, "");
		if (z->unit == IOZONE_OPS_S)
			phase->aggregate.sum_of_rates.ops_per_s = value;
		else
			phase->aggregate.sum_of_rates.bytes_per_s = value * 1024;
	}
}

/* Skipped where the blocks above told the same. */
static void
take_throughput_report(struct iozone *z, size_t *line)
{
	for (size_t i = *line + 1; i < z->text->count; i++) {
		const char *l = z->text->bare[i] + strspn(z->text->bare[i], " \t");
		const char *values = "";
		enum iozone_test test = total_of(l, &values);

		if (l[0] == '\0')
			continue;
		if (l[0] != '"')
			break;
		if (test != IOZONE_TESTS && !z->throughput)
			take_totals(z, test, values, i);
		*line = i;
	}
	z->excel = true;
	z->end = *line;
}

enum ls_rc
import_iozone_excel(struct iozone *z, size_t *line, bool *took, struct ls_err *err)
{
	const char *l = z->text->bare[*line] + strspn(z->text->bare[*line], " \t");
	enum iozone_test test = title_of(l);

	*took = test != IOZONE_TESTS || strncmp(l, "\"Throughput report", 18) == 0;
	if (!*took)
		return LS_OK;
	if (test != IOZONE_TESTS) {
		if (z->reports & (1U << test))
			import_iozone_begin(z, *line);
		z->reports |= 1U << test;
		return take_report(z, test, line, err);
	}
	take_throughput_report(z, line);
	return LS_OK;
}
