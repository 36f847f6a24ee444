/*
 * Results documents on their way in and out of the command line, and plain tables.
 */
#ifndef LS_COORDINATOR_CLI_OUTPUT_H
#define LS_COORDINATOR_CLI_OUTPUT_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/base/sink.h"
#include "coordinator/report/format.h"
#include "proto/model/results.h"

/* Decodes a document; out is ended with field_struct_fini(&results_desc, out). what: its name for errors. */
enum ls_rc results_parse(
    const char *text, size_t len, const char *what, struct results *out, struct ls_err *err) LS_MUST_CHECK;

/* Renders into a file; NULL or "-": standard output. */
enum ls_rc results_write(const struct results *results, const struct report_format *format, const char *path,
    struct ls_err *err) LS_MUST_CHECK;

/* The format of that name. Errors: LS_E_INVALID, the sentence lists all. */
enum ls_rc output_format(const char *name, const struct report_format **out, struct ls_err *err) LS_MUST_CHECK;

/* A table of texts whose columns are as wide as they need; the first row is the heading. */
struct table {
	size_t columns;
	char **cells; /* owned, row by row */
	size_t count;
};

/* Adds a cell (copied; NULL is "-"). */
void table_add(struct table *table, const char *text);
void table_addf(struct table *table, const char *fmt, ...) LS_PRINTF(2, 3);

/* Prints to standard output and empties the table. */
void table_print(struct table *table);

/* Empties it without printing. */
void table_drop(struct table *table);

#endif
