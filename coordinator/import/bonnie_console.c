/*
 * Console tables of bonnie++ 1.02 to 2.00, and tables of the same columns as people paste them. A table begins with the line that
 * names its columns: "Machine Size K/sec %CP ...". The file part follows if there is one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/bonnie_int.h"

#define LINES_APART 6 /* between the parts of one table */
#define WIDER       2 /* characters by which a value may exceed its column */

/* "K/sec" or "/sec" */
static bool
is_rate_title(const struct import_words *w, size_t i)
{
	return import_word_is(w, i, "K/sec") || import_word_is(w, i, "/sec");
}

static bool
is_cpu_title(const struct import_words *w, size_t i)
{
	return import_word_is(w, i, "%CP") || import_word_is(w, i, "%CPU");
}

/* How many words stand before the first of pairs of rate and CPU; SIZE_MAX when the line has not pairs such titles. */
static size_t
titles_at(const struct import_words *w, size_t pairs)
{
	size_t at = 0;

	while (at < w->count && !is_rate_title(w, at))
		at++;
	if (w->count != at + 2 * pairs)
		return SIZE_MAX;
	for (size_t i = 0; i < pairs; i++)
		if (!is_rate_title(w, at + 2 * i) || !is_cpu_title(w, at + 2 * i + 1))
			return SIZE_MAX;
	return at;
}

/* A line of titles whose rest was folded away: it begins as one, and ends early. */
static bool
titles_folded(const struct import_words *w)
{
	return w->count > 3 && w->count < 14 && import_word_is(w, 0, "Machine") && import_word_is(w, 1, "Size") &&
	    is_rate_title(w, 2);
}

static bool
is_rate_word(const char *s)
{
	double value;
	const char *end;

	if (s[0] != '\0' && strspn(s, "+") == strlen(s))
		return true;
	return import_number_prefix(s, &value, &end) &&
	    (end[0] == '\0' || (strchr("kmg", end[0]) != NULL && end[1] == '\0'));
}

/*
 * Puts the words of row from index first on into columns: all are there (blanks may be collapsed), or each stands below the
 * end of its title, or a little to the right. Returns why not.
 */
static const char *
assign(const struct import_words *titles, size_t at, const struct import_words *row, size_t first, size_t columns,
    size_t *out)
{
	for (size_t k = 0; k < columns; k++)
		out[k] = SIZE_MAX;
	if (row->count - first == columns) {
		for (size_t k = 0; k < columns; k++)
			out[k] = first + k;
		return NULL;
	}
	/* a value wider than its column pushes all behind it to the right: the shift is carried on */
	long shift = 0;
	size_t c = 0;
	for (size_t i = first; i < row->count; i++, c++) {
		long end = (long)row->at[i].end - shift;

		while (c < columns && (long)titles->at[at + c].end < end - WIDER)
			c++;
		if (c == columns || (long)titles->at[at + c].end > end)
			return "its values do not stand below its titles (blanks collapsed, or lines folded)";
		out[c] = i;
		shift = (long)row->at[i].end - (long)titles->at[at + c].end;
	}
	for (c = 0; c < columns; c += 2)
		if ((out[c] == SIZE_MAX) != (out[c + 1] == SIZE_MAX))
			return "a rate stands without its CPU share";
	return NULL;
}

static const char *
take_values(
    const struct import_words *row, const size_t *columns, size_t tests, size_t first_test, struct bonnie_row *out)
{
	for (size_t t = 0; t < tests; t++) {
		if (columns[2 * t] == SIZE_MAX)
			continue;
		import_word_copy(row, columns[2 * t], out->rate[first_test + t], BONNIE_TEXT);
		import_word_copy(row, columns[2 * t + 1], out->cpu[first_test + t], BONNIE_TEXT);
		if (!is_rate_word(out->rate[first_test + t]))
			return "a rate is no number";
	}
	return NULL;
}

/* Latencies in order: one for each test that has a rate, or all six with or without. */
static bool
take_latencies(const char *line, size_t tests, size_t first_test, struct bonnie_row *out)
{
	struct import_words w;
	size_t with = 0;
	size_t next = 1;

	import_words_of(line, &w);
	if (!import_word_is(&w, 0, "Latency"))
		return false;
	for (size_t t = 0; t < tests; t++)
		with += out->rate[first_test + t][0] != '\0';
	for (size_t t = 0; t < tests && (w.count - 1 == with || w.count - 1 == tests); t++)
		if (w.count - 1 == tests || out->rate[first_test + t][0] != '\0')
			import_word_copy(&w, next++, out->latency[first_test + t], BONNIE_TEXT);
	return true;
}

static size_t
next_text(const struct import_text *text, size_t line)
{
	while (line < text->count && text->bare[line][0] == '\0')
		line++;
	return line;
}

/* The file part: its titles within a few lines below, unless another table begins before. Moves row->last. */
static void
take_files(const struct import_text *text, struct bonnie_row *row)
{
	struct import_words titles, w;
	size_t columns[2 * BONNIE_IO];

	for (size_t i = row->last + 1; i < text->count && i <= row->last + LINES_APART; i++) {
		import_words_of(text->bare[i], &titles);
		if (titles_at(&titles, BONNIE_IO) == SIZE_MAX)
			continue;
		if (!import_word_is(&titles, 0, "files"))
			return;
		size_t data = next_text(text, i + 1);
		if (data >= text->count) {
			row->bad = "the row of its file part is missing";
			return;
		}
		import_words_of(text->bare[data], &w);
		const char *why = w.count < 1 ? "the row of its file part is empty"
					      : assign(&titles, 1, &w, 1, 2 * BONNIE_IO, columns);
		if (why == NULL)
			why = take_values(&w, columns, BONNIE_TESTS - BONNIE_IO, BONNIE_IO, row);
		if (why != NULL) {
			row->bad = why;
			return;
		}
		import_word_copy(&w, 0, row->files, BONNIE_TEXT);
		row->last = data;
		if (data + 1 < text->count &&
		    take_latencies(text->bare[data + 1], BONNIE_TESTS - BONNIE_IO, BONNIE_IO, row))
			row->last = data + 1;
		return;
	}
}

/* Version and concurrency stand in the lines above; in pasted tables a heading says "... bonnie++ version 1.96". */
static void
take_version(const struct import_text *text, struct bonnie_row *row)
{
	for (size_t i = row->line; i > 0 && row->line - i < LINES_APART; i--) {
		struct import_words w;
		const char *line = text->bare[i - 1];
		const char *version = import_after(line, "Version");
		const char *told = strstr(line, "bonnie++ version ");

		import_words_of(line, &w);
		if (import_word_is(&w, 0, "Concurrency") && w.count > 1)
			import_word_copy(&w, 1, row->concurrency, BONNIE_TEXT);
		if (version == NULL && told != NULL)
			version = told + strlen("bonnie++ version ");
		if (version == NULL || version[0] < '0' || version[0] > '9')
			continue;
		size_t len = strspn(version, "0123456789.abcdefghijklmnopqrstuvwxyz");
		while (len > 0 && version[len - 1] == '.')
			len--;
		import_copy(row->version, BONNIE_TEXT, version, len);
		row->line = i - 1;
		if (told != NULL && row->name[0] == '\0')
			import_copy(row->name, sizeof(row->name), line, strcspn(line, "(,:"));
		break;
	}
	for (size_t len = strlen(row->name); len > 0 && row->name[len - 1] == ' '; len--)
		row->name[len - 1] = '\0';
}

/* "Machine Size" and "Name:Size etc" lead the row with a name and a size, "Size" with a size alone. */
static size_t
take_lead(const struct import_words *titles, const struct import_words *w, struct bonnie_row *row)
{
	uint64_t bytes;
	size_t size_at = import_word_is(titles, 0, "Size") ? 0 : 1;

	if (w->count <= size_at)
		return SIZE_MAX;
	if (size_at == 1)
		import_word_copy(w, 0, row->name, sizeof(row->name));
	import_word_copy(w, size_at, row->size, BONNIE_TEXT);
	char *colon = strchr(row->size, ':');
	if (colon != NULL) {
		import_copy(row->chunk, BONNIE_TEXT, colon + 1, strlen(colon + 1));
		*colon = '\0';
	}
	return import_size(row->size, strlen(row->size), 1 << 20, &bytes) ? size_at + 1 : SIZE_MAX;
}

static void
read_table(
    const struct import_text *text, size_t line, const struct import_words *titles, size_t at, struct bonnie_row *row)
{
	struct import_words w;
	size_t columns[2 * BONNIE_IO];
	size_t data = next_text(text, line + 1);

	*row = (struct bonnie_row){ .line = line, .last = line, .console = true, .format = "bonnie++ console" };
	if (at == SIZE_MAX) {
		row->bad = "its lines are folded";
		take_version(text, row);
		return;
	}
	if (data >= text->count) {
		row->bad = "its row is missing";
		take_version(text, row);
		return;
	}
	import_words_of(text->bare[data], &w);
	row->last = data;
	size_t first = take_lead(titles, &w, row);
	row->bad = first == SIZE_MAX ? "its row does not begin with a name and a size"
				     : assign(titles, at, &w, first, 2 * BONNIE_IO, columns);
	if (row->bad == NULL)
		row->bad = take_values(&w, columns, BONNIE_IO, 0, row);
	take_version(text, row);
	if (row->bad != NULL)
		return;
	if (data + 1 < text->count && take_latencies(text->bare[data + 1], BONNIE_IO, 0, row))
		row->last = data + 1;
	take_files(text, row);
}

void
import_bonnie_console_rows(const struct import_text *text, struct bonnie_rows *out)
{
	struct import_words titles;

	for (size_t i = 0; i < text->count; i++) {
		import_words_of(text->bare[i], &titles);
		size_t at = titles_at(&titles, BONNIE_IO);
		bool io = at != SIZE_MAX &&
		    ((at == 2 && import_word_is(&titles, 0, "Machine")) ||
			(at == 2 && import_word_is(&titles, 0, "Name:Size")) ||
			(at == 1 && import_word_is(&titles, 0, "Size")));

		if (!io && !titles_folded(&titles))
			continue;
		out->rows = ls_grow(out->rows, out->count, sizeof(*out->rows));
		read_table(text, i, &titles, io ? at : SIZE_MAX, &out->rows[out->count]);
		i = out->rows[out->count++].last;
	}
}
