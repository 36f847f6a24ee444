/* The table of automatic mode: a row for each size of file and record, a column for each test. */
#include <stdio.h>
#include <string.h>

#include "coordinator/import/iozone_int.h"

#define COLUMNS IOZONE_MIXED /* tests that have a column */

static bool
is_title(const struct import_words *w)
{
	return w->count > 2 && import_word_like(w, 0, "KB") && import_word_is(w, 1, "reclen");
}

bool
import_iozone_table_title(const char *line)
{
	struct import_words w;

	import_words_of(line, &w);
	return is_title(&w);
}

/* Columns that the title names. Words such as "random" may stand in the line above, or before each name as in pasted tables. */
static enum ls_rc
count_columns(const struct import_words *w, size_t line, size_t *out, struct ls_err *err)
{
	static const char *const kinds[] = { "rand", "random", "bkwd", "record", "stride" };

	*out = 0;
	for (size_t i = 2; i < w->count; i++) {
		bool kind = false;

		for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
			kind |= import_word_is(w, i, kinds[k]);
		if (kind)
			continue;
		if (*out >= COLUMNS)
			return import_error(err, line, "the title of iozone's table names more than %d tests", COLUMNS);
		const char *want = import_iozone_tests[*out].column;
		if (want != NULL && !import_word_is(w, i, want)) {
			char got[64];

			return import_error(err, line,
			    "column %zu of iozone's table should be %s (%s), but its title says \"%s\"", *out + 1, want,
			    import_iozone_tests[*out].test, import_word_copy(w, i, got, sizeof(got)));
		}
		(*out)++;
	}
	return LS_OK;
}

/* Tests that options -i of the command select, as a mask of numbers; 0 when it has none. */
static unsigned
selected_options(const char *command)
{
	struct import_words w;
	unsigned mask = 0;

	if (command == NULL)
		return 0;
	import_words_of(command, &w);
	for (size_t i = 0; i < w.count; i++) {
		const char *word = command + w.at[i].start;
		size_t len = w.at[i].end - w.at[i].start;
		uint64_t number;

		if (len < 2 || word[0] != '-' || word[1] != 'i')
			continue;
		if (len == 2 && i + 1 < w.count) {
			i++;
			word = command + w.at[i].start - 2;
			len = w.at[i].end - w.at[i].start + 2;
		}
		if (import_integer(word + 2, len - 2, &number) && number < 32)
			mask |= 1U << number;
	}
	return mask;
}

/* Columns of the tests that were run, in order. Returns how many. */
static size_t
selected_columns(const struct iozone *z, size_t named, enum iozone_test *out)
{
	unsigned mask = selected_options(z->command);
	size_t count = 0;

	for (size_t c = 0; c < named; c++)
		if (mask == 0 || (mask & (1U << import_iozone_tests[c].option)))
			out[count++] = (enum iozone_test)c;
	return count;
}

/* A row is numbers only. */
static bool
is_row(const struct import_words *w)
{
	double value;

	for (size_t i = 0; i < w->count; i++)
		if (!import_word_number(w, i, &value))
			return false;
	return w->count > 0;
}

static void
add_cell(struct iozone *z, enum iozone_test test, const struct import_words *w, size_t word, size_t line)
{
	double kib = 0, record = 0, value = 0;

	import_word_number(w, 0, &kib);
	import_word_number(w, 1, &record);
	import_word_number(w, word, &value);
	if (value <= 0)
		return; /* -+n: the second pass was not made */
	struct phase_result *phase =
	    import_iozone_phase(z, test, import_to_u64(kib * 1024), import_to_u64(record * 1024), line);
	import_iozone_value(z, import_node(z->doc, phase, import_iozone_node(z)), value);
}

static enum ls_rc
add_row(struct iozone *z, const struct import_words *w, size_t named, size_t line, struct ls_err *err)
{
	enum iozone_test columns[COLUMNS];
	size_t values = w->count - LS_MIN(w->count, (size_t)2);
	size_t count = selected_columns(z, named, columns);
	double kib, record;

	if (values == named) {
		for (size_t c = 0; c < named; c++)
			columns[c] = (enum iozone_test)c;
		count = named;
	}
	if (values == 0 || values != count)
		return import_error(err, line,
		    "this row of iozone has %zu values for %zu tests (%s): which is which cannot be told", values,
		    z->command != NULL ? count : named,
		    z->command != NULL ? "by its command line" : "no command line tells which were run");
	if (!import_word_number(w, 0, &kib) || !import_word_number(w, 1, &record) || kib < 1 || record < 1 ||
	    kib > 9e15 || record > kib)
		return import_error(err, line, "this row of iozone does not begin with the sizes of file and record");
	for (size_t c = 0; c < count; c++)
		add_cell(z, columns[c], w, c + 2, line);
	return LS_OK;
}

enum ls_rc
import_iozone_table(struct iozone *z, size_t *line, bool *took, struct ls_err *err)
{
	struct import_words w;
	size_t named;
	size_t rows = 0;

	import_words_of(z->text->bare[*line], &w);
	*took = is_title(&w);
	if (!*took)
		return LS_OK;
	enum ls_rc rc = count_columns(&w, *line, &named, err);
	if (rc != LS_OK)
		return rc;
	size_t i = *line + 1;
	for (; i < z->text->count; i++) {
		import_words_of(z->text->bare[i], &w);
		if (w.count == 0)
			continue;
		if (!is_row(&w))
			break;
		import_iozone_doc(z, "iozone table", *line);
		rc = add_row(z, &w, named, i, err);
		if (rc != LS_OK)
			return rc;
		rows++;
		z->end = i;
	}
	if (rows == 0)
		return import_error(err, *line, "iozone's table has a title and no row");
	z->table = true;
	*line = i - 1;
	return LS_OK;
}
