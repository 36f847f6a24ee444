/* CSV lines of bonnie++: 27 fields (1.03), 48 or 47 (1.96, 1.97), 50 (1.98 format: 1.98 and 2.00). */
#include <stdlib.h>
#include <string.h>

#include "coordinator/import/bonnie_int.h"

/* Places of the fields by generation; 0: it has none. */
struct layout {
	const char *format;
	size_t fields;
	size_t name, concurrency, seed, size, chunk, seeks, seekers, io, files, file_max, file_min, dirs, file, latency;
};

/* The number of directories stands in the place of the chunk size of files: all versions that have both swap them. */
static const struct layout old_layout = {
	.format = "bonnie++ CSV 1.03", .fields = 27, .name = 0, .size = 1, .io = 2, .files = 14, .file = 15
};
static const struct layout layout_1_96 = { "bonnie++ CSV 1.96", 48, 2, 3, 4, 5, 6, 0, 0, 7, 19, 20, 21, 23, 24, 36 };
/* 1.96 with -s 0 prints one field less before the number of files */
static const struct layout layout_1_96_no_io = { "bonnie++ CSV 1.96", 47, 2, 3, 4, 5, 6, 0, 0, 0, 18, 19, 20, 22, 23,
	35 };
static const struct layout layout_1_98 = { "bonnie++ CSV 1.98", 50, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23, 25, 26, 38 };

/* "1.96", "1.03e", "2.00a" */
static bool
is_version(const char *s)
{
	if (s[0] < '0' || s[0] > '9' || s[1] != '.' || s[2] < '0' || s[2] > '9' || s[3] < '0' || s[3] > '9')
		return false;
	return s[4] == '\0' || (s[4] >= 'a' && s[4] <= 'z' && s[5] == '\0');
}

/* lockstep's own, "0.1.0": it writes such lines, too */
static bool
is_lockstep_version(const char *s)
{
	size_t points = 0, digits = 0;

	for (; *s != '\0'; s++) {
		if (*s == '.' && digits == 0)
			return false;
		points += *s == '.';
		digits = *s == '.' ? 0 : digits + (*s >= '0' && *s <= '9');
		if (*s != '.' && (*s < '0' || *s > '9'))
			return false;
	}
	return points == 2 && digits > 0;
}

/* The line for all machines together. What was imported are the machines; their sum is made anew. */
static bool
is_sum(const char *name)
{
	return strncmp(name, "(all ", 5) == 0 || strncmp(name, "(sum ", 5) == 0;
}

static bool
is_value(const char *s)
{
	double value;

	return s[0] == '\0' || strspn(s, "+") == strlen(s) || import_number(s, strlen(s), &value);
}

static bool
is_latency(const char *s)
{
	double value;
	const char *unit;

	if (s[0] == '\0')
		return true;
	return import_number_prefix(s, &value, &unit) &&
	    (strcmp(unit, "us") == 0 || strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0);
}

/* "16G", "480M:16k", "7664M"; "" when the part was not run */
static bool
is_data_size(const char *s)
{
	uint64_t bytes;
	const char *colon = strchr(s, ':');
	size_t len = colon != NULL ? (size_t)(colon - s) : strlen(s);

	return len == 0 || import_size(s, len, 1 << 20, &bytes);
}

/* The first field that is none of its kind, or 0. Not for the name, which is first or third. */
static size_t
first_wrong(char **f, const struct layout *l)
{
	if (!is_data_size(f[l->size]))
		return l->size;
	for (size_t i = 0; l->io != 0 && i < BONNIE_IO * 2; i++)
		if (!is_value(f[l->io + i]))
			return l->io + i;
	for (size_t i = 0; i < (BONNIE_TESTS - BONNIE_IO) * 2; i++)
		if (!is_value(f[l->file + i]))
			return l->file + i;
	for (size_t i = 0; l->latency != 0 && i < BONNIE_TESTS; i++)
		if (!is_latency(f[l->latency + i]))
			return l->latency + i;
	return 0;
}

static void
take(char *to, char **fields, size_t at)
{
	if (at != 0)
		import_copy(to, BONNIE_TEXT, fields[at], strlen(fields[at]));
}

static void
fill(struct bonnie_row *row, char **f, const struct layout *l)
{
	row->format = l->format;
	import_copy(row->name, sizeof(row->name), f[l->name], strlen(f[l->name]));
	take(row->size, f, l->size);
	take(row->chunk, f, l->chunk);
	take(row->concurrency, f, l->concurrency);
	take(row->seed, f, l->seed);
	take(row->seeks, f, l->seeks);
	take(row->seekers, f, l->seekers);
	take(row->files, f, l->files);
	take(row->file_max, f, l->file_max);
	take(row->file_min, f, l->file_min);
	take(row->dirs, f, l->dirs);
	for (size_t i = 0; i < BONNIE_TESTS; i++) {
		size_t at = i < BONNIE_IO ? (l->io != 0 ? l->io + 2 * i : 0) : l->file + 2 * (i - BONNIE_IO);

		if (at != 0) {
			take(row->rate[i], f, at);
			take(row->cpu[i], f, at + 1);
		}
		if (l->latency != 0)
			take(row->latency[i], f, l->latency + i);
	}
}

/* 1.03 has no version: what must be there is a size with its unit, and at least one rate. */
static bool
is_old_row(char **f)
{
	size_t rates = 0;
	size_t len = strcspn(f[1], ":");

	if (first_wrong(f, &old_layout) != 0 || (len > 0 && strchr("KMGT", f[1][len - 1]) == NULL))
		return false;
	for (size_t i = 2; i < old_layout.fields; i++)
		rates += f[i][0] != '\0';
	return rates > 1;
}

/* Which generation has such a line? NULL: none. new_form: it begins with two versions. */
static const struct layout *
layout_of(char **f, size_t count, bool new_form)
{
	if (new_form)
		return count == 50 ? &layout_1_98
		    : count == 48  ? &layout_1_96
		    : count == 47  ? &layout_1_96_no_io
				   : NULL;
	return count == old_layout.fields && is_old_row(f) ? &old_layout : NULL;
}

/* Fields to a row, or what is wrong with them. */
static enum ls_rc
take_fields(char **f, size_t count, size_t line, bool *is, struct bonnie_row *out, struct ls_err *err)
{
	bool own = count == layout_1_98.fields && strcmp(f[0], "1.98") == 0 && is_lockstep_version(f[1]);
	bool new_form = own || (count >= 3 && is_version(f[0]) && is_version(f[1]));
	const struct layout *layout = layout_of(f, count, new_form);

	if (layout == NULL && new_form)
		return import_error(
		    err, line, "a CSV line of bonnie++ %s has %zu fields; whole ones have 47, 48 or 50", f[1], count);
	if (layout == NULL)
		return LS_OK;
	if (own && is_sum(f[layout->name]))
		return LS_OK;
	size_t wrong = first_wrong(f, layout);
	if (wrong != 0)
		return import_error(err, line,
		    "field %zu of the CSV line of bonnie++, \"%.40s\", is not what stands there", wrong + 1, f[wrong]);
	*out = (struct bonnie_row){ .line = line, .last = line };
	fill(out, f, layout);
	out->own = own;
	if (new_form)
		import_copy(out->version, sizeof(out->version), f[1], strlen(f[1]));
	*is = true;
	return LS_OK;
}

enum ls_rc
import_bonnie_csv_row(const struct import_text *text, size_t line, bool *is, struct bonnie_row *out, struct ls_err *err)
{
	const char *bare = text->bare[line] + strspn(text->bare[line], " \t");
	size_t count;

	*is = false;
	if (strchr(bare, ',') == NULL)
		return LS_OK;
	char **f = import_csv_fields(bare, &count);
	enum ls_rc rc = take_fields(f, count, line, is, out, err);
	free(f);
	return rc;
}
