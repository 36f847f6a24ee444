#include "coordinator/cli/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/cli/files.h"
#include "proto/codec/json.h"

#define RESULTS_SCHEMA "lockstep-results/1"

enum ls_rc
results_parse(const char *text, size_t len, const char *what, struct results *out, struct ls_err *err)
{
	enum ls_rc rc = json_decode_struct(&results_desc, text, len, JSON_UNKNOWN_IGNORED, what, out, err);

	if (rc != LS_OK)
		return rc;
	if (strcmp(out->schema, RESULTS_SCHEMA) == 0)
		return LS_OK;
	rc = ls_err_set(err, LS_E_INVALID, "%s: schema is \"%s\", not \"%s\"", what, out->schema, RESULTS_SCHEMA);
	field_struct_fini(&results_desc, out);
	return rc;
}

enum ls_rc
results_write(const struct results *results, const struct report_format *format, const char *path, struct ls_err *err)
{
	struct sink out = { 0 };
	enum ls_rc rc;

	if (format->is_binary && (path == NULL || strcmp(path, "-") == 0) && isatty(STDOUT_FILENO))
		return ls_err_set(err, LS_E_INVALID, "%s is nothing for a terminal: add --output FILE", format->name);
	if (!format->for_people)
		units_use(UNITS_BINARY);
	rc = format->render(results, &out, err);
	if (rc == LS_OK)
		rc = file_write(path == NULL ? "-" : path, out.text, out.len, err);
	sink_free(&out);
	return rc;
}

enum ls_rc
output_format(const char *name, const struct report_format **out, struct ls_err *err)
{
	struct sink names = { 0 };

	*out = report_format_find(name);
	if (*out != NULL)
		return LS_OK;
	for (size_t i = 0; report_formats[i] != NULL; i++)
		sink_printf(&names, "%s%s", i > 0 ? ", " : "", report_formats[i]->name);
	ls_err_set(err, LS_E_INVALID, "--format: \"%s\" is not known; formats: %s", name, names.text);
	sink_free(&names);
	return LS_E_INVALID;
}

void
table_add(struct table *table, const char *text)
{
	char *copy = ls_strdup(text == NULL || text[0] == '\0' ? "-" : text);

	for (char *p = copy; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
	table->cells = ls_grow(table->cells, table->count, sizeof(*table->cells));
	table->cells[table->count++] = copy;
}

void
table_addf(struct table *table, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_add(table, text);
}

static size_t
column_width(const struct table *table, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < table->count; i += table->columns)
		width = LS_MAX(width, strlen(table->cells[i]));
	return width;
}

void
table_print(struct table *table)
{
	size_t *widths = ls_calloc(table->columns + 1, sizeof(*widths));

	for (size_t c = 0; c < table->columns; c++)
		widths[c] = column_width(table, c);
	for (size_t i = 0, c = 0; i < table->count; i++) {
		if (c + 1 < table->columns) {
			printf("%-*s  ", (int)widths[c++], table->cells[i]);
		} else {
			printf("%s\n", table->cells[i]);
			c = 0;
		}
	}
	free(widths);
	table_drop(table);
}

void
table_drop(struct table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
	table->count = 0;
}
