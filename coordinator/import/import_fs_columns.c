/*
 * Tables of iozone figures with a column for each of several systems under test, as studies print them: a document for each
 * column. Two forms: rows of sizes below "Writer Report", and, a cell a line, rows of tests below "No of threads". Columns of ratios
 * ("jfs/ext2") are no results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coordinator/import/iozone_int.h"

extern const struct importer import_fs_columns;

#define COLUMNS_MAX 16
#define CELL_MAX    64

struct cells {
	char at[COLUMNS_MAX][CELL_MAX];
	size_t count;
};

/* A table at hand: a document for each column. */
struct columns {
	const struct import_text *text;
	struct import_set *set;
	struct results *docs[COLUMNS_MAX];
	char names[COLUMNS_MAX][CELL_MAX];
	size_t count;
	size_t last; /* line of the last value */
};

static void
trim_copy(char *to, const char *text, size_t len)
{
	while (len > 0 && (text[0] == ' ' || text[0] == '\t')) {
		text++;
		len--;
	}
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	import_copy(to, CELL_MAX, text, len);
}

/* "| 64 | 7674 | 6768 |": its cells, those at the end that are empty left out. False for other lines. */
static bool
row_cells(const char *line, struct cells *out)
{
	line += strspn(line, " \t");
	out->count = 0;
	if (line[0] != '|')
		return false;
	for (line++; *line != '\0' && out->count < COLUMNS_MAX; line++) {
		size_t len = strcspn(line, "|");

		trim_copy(out->at[out->count++], line, len);
		line += len;
		if (*line == '\0')
			break;
	}
	while (out->count > 0 && out->at[out->count - 1][0] == '\0')
		out->count--;
	return out->count > 0;
}

/* "138,010" or "138010" */
static bool
figure(const char *cell, double *out)
{
	char digits[CELL_MAX];
	size_t n = 0;

	for (size_t i = 0; cell[i] != '\0'; i++) {
		if (cell[i] != ',') {
			digits[n++] = cell[i];
			continue;
		}
		if (i == 0 || strspn(cell + i + 1, "0123456789") != 3)
			return false;
	}
	digits[n] = '\0';
	return import_number(digits, n, out) && *out >= 0;
}

/* "Writer Report", with or without more words: its test. */
static enum iozone_test
report_of(const char *cell)
{
	for (int t = 0; t < IOZONE_TESTS; t++) {
		const char *report = import_iozone_tests[t].report;

		if (report != NULL && strncasecmp(cell, report, strlen(report)) == 0 &&
		    strcasecmp(cell + strlen(report), " report") == 0)
			return (enum iozone_test)t;
	}
	return IOZONE_TESTS;
}

static enum iozone_test
total_of(const char *cell)
{
	for (int t = 0; t < IOZONE_TESTS; t++)
		if (import_iozone_tests[t].total != NULL && strcasecmp(import_iozone_tests[t].total, cell) == 0)
			return (enum iozone_test)t;
	return IOZONE_TESTS;
}

static bool
is_ratio(const char *cell)
{
	size_t len = strlen(cell);

	return strchr(cell, '/') != NULL || strcasecmp(cell, "ratio") == 0 || (len > 0 && cell[len - 1] == '%');
}

static void
finish(struct columns *c)
{
	for (size_t i = 0; i < c->count; i++)
		import_finish(c->docs[i], c->text, c->last);
	c->count = 0;
}

static struct results *
column_doc(struct columns *c, const char *name, size_t line)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->names[i], name) == 0)
			return c->docs[i];
	if (c->count == COLUMNS_MAX)
		return NULL;
	struct results *doc = import_doc(c->set, "iozone", NULL, "iozone, columns of systems", line);
	import_title(doc, name);
	import_setting(doc, "column", "%s", name);
	import_warn(doc, "the table names no unit: its values are read as KiB/s, iozone's default");
	snprintf(c->names[c->count], CELL_MAX, "%s", name);
	c->docs[c->count++] = doc;
	return doc;
}

static void
add_value(struct results *doc, enum iozone_test test, double kib, double value, size_t line)
{
	struct phase_result *phase =
	    import_phase(doc, import_iozone_tests[test].kind, import_iozone_tests[test].test, line);

	import_phase_sizes(phase, kib > 0 ? import_to_u64(kib * 1024) : LS_UNKNOWN_U64, LS_UNKNOWN_U64);
	import_node(doc, phase, IMPORT_UNNAMED)->bytes_per_s = value * 1024;
}

/* --- rows of sizes ------------------------------------------------------------------------------------------------ */

static enum ls_rc
size_rows(struct columns *c, enum iozone_test test, size_t *line, struct ls_err *err)
{
	struct cells names, row;
	size_t i = *line + 1;
	size_t rows = 0;
	size_t used;

	if (i >= c->text->count || !row_cells(c->text->lines[i], &names) || strcasecmp(names.at[0], "file size") != 0)
		return import_error(
		    err, *line, "below \"%s report\" no line names the columns", import_iozone_tests[test].report);
	for (used = 1; used < names.count && !is_ratio(names.at[used]); used++)
		;
	for (i++; i < c->text->count && row_cells(c->text->lines[i], &row); i++) {
		double kib, value;

		if (!figure(row.at[0], &kib))
			break;
		if (row.count < used)
			return import_error(err, i, "this row has %zu values for %zu columns", row.count - 1, used - 1);
		for (size_t k = 1; k < used; k++) {
			struct results *doc = column_doc(c, names.at[k], *line);

			if (!figure(row.at[k], &value) || doc == NULL)
				return import_error(
				    err, i, "value %zu of this row, \"%s\", is no number", k, row.at[k]);
			add_value(doc, test, kib, value, i);
		}
		rows++;
		c->last = i;
	}
	*line = i - 1;
	return rows > 0
	    ? LS_OK
	    : import_error(err, *line, "below \"%s report\" there are no rows", import_iozone_tests[test].report);
}

/* --- a cell a line ------------------------------------------------------------------------------------------------ */

/* The cells of one row, each on a line of its own, up to a line of bars alone. *line becomes its last. */
static void
line_cells(const struct import_text *text, size_t *line, struct cells *out)
{
	out->count = 0;
	for (; *line < text->count && out->count < COLUMNS_MAX; (*line)++) {
		const char *l = text->lines[*line];

		if (l[strspn(l, "| \t")] == '\0')
			break;
		trim_copy(out->at[out->count++], l, strcspn(l, "|"));
	}
}

/* "ext2-4t" with 4 threads is "ext2". */
static void
plain_name(const char *cell, const char *threads, char *out)
{
	char tail[CELL_MAX + 4];
	size_t len = strlen(cell);

	snprintf(tail, sizeof(tail), "-%st", threads);
	if (len > strlen(tail) && strcmp(cell + len - strlen(tail), tail) == 0)
		len -= strlen(tail);
	import_copy(out, CELL_MAX, cell, len);
}

static enum ls_rc
thread_row(struct columns *c, const struct cells *head, const struct cells *row, size_t line, struct ls_err *err)
{
	enum iozone_test test = total_of(row->at[0]);
	double threads = 0, value;

	if (row->count - 1 < head->count - 2)
		return import_error(err, line, "the row \"%s\" has %zu values for %zu columns", row->at[0],
		    row->count - 1, head->count - 2);
	(void)figure(head->at[1], &threads);
	for (size_t k = 2; k < head->count; k++) {
		char name[CELL_MAX];

		plain_name(head->at[k], head->at[1], name);
		struct results *doc = column_doc(c, name, line);
		if (!figure(row->at[k - 1], &value) || doc == NULL)
			return import_error(err, line, "value %zu of the row \"%s\", \"%s\", is no number", k - 1,
			    row->at[0], row->at[k - 1]);
		struct phase_result *phase =
		    import_phase(doc, import_iozone_tests[test].kind, import_iozone_tests[test].test, line);
		import_phase_metric(phase, "processes", threads, "");
		phase->aggregate.sum_of_rates.bytes_per_s = value * 1024;
	}
	return LS_OK;
}

static enum ls_rc
thread_rows(struct columns *c, size_t *line, struct ls_err *err)
{
	struct cells head, row;
	double threads;
	enum ls_rc rc = LS_OK;

	line_cells(c->text, line, &head);
	if (head.count < 3 || !figure(head.at[1], &threads))
		return import_error(err, *line, "\"No of threads\" is not followed by a number and names");
	size_t i = *line;
	while (i < c->text->count && rc == LS_OK) {
		size_t begin = i;

		if (c->text->lines[i][strspn(c->text->lines[i], "| \t")] == '\0') {
			i++;
			continue;
		}
		line_cells(c->text, &i, &row);
		if (row.count == 0 || total_of(row.at[0]) == IOZONE_TESTS) {
			i = begin;
			break;
		}
		rc = thread_row(c, &head, &row, begin, err);
		c->last = i > begin ? i - 1 : begin;
	}
	*line = i - 1;
	return rc;
}

static bool
is_thread_head(const char *line)
{
	char cell[CELL_MAX];

	trim_copy(cell, line, strcspn(line, "|"));
	return line[strcspn(line, "|")] == '|' && strcasecmp(cell, "No of threads") == 0;
}

static bool
fs_columns_sees(const struct import_text *text)
{
	struct cells row;

	for (size_t i = 0; i < text->count; i++)
		if (is_thread_head(text->lines[i]) ||
		    (row_cells(text->lines[i], &row) && report_of(row.at[0]) != IOZONE_TESTS))
			return true;
	return false;
}

static enum ls_rc
fs_columns_read(const struct import_text *text, struct import_set *set, struct ls_err *err)
{
	struct columns c = { .text = text, .set = set };
	bool threads = false;
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < text->count && rc == LS_OK; i++) {
		struct cells row;
		enum iozone_test test = row_cells(text->lines[i], &row) ? report_of(row.at[0]) : IOZONE_TESTS;
		bool head = is_thread_head(text->lines[i]);

		if (test == IOZONE_TESTS && !head)
			continue;
		if (c.count > 0 && (threads != head || test == IOZONE_WRITE))
			finish(&c);
		threads = head;
		rc = head ? thread_rows(&c, &i, err) : size_rows(&c, test, &i, err);
	}
	if (rc == LS_OK)
		finish(&c);
	return rc;
}

const struct importer import_fs_columns = {
	.name = "columns of iozone",
	.help = "published tables of iozone figures, a column for each system",
	.sees = fs_columns_sees,
	.read = fs_columns_read,
};
