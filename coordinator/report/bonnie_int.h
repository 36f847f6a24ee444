/*
 * What bonnie++ would have called the phases of a run; shared by its console table and its CSV. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_BONNIE_INT_H
#define LS_COORDINATOR_REPORT_BONNIE_INT_H

#include "coordinator/report/rows_int.h"

#define BONNIE_IO    6 /* columns of the I/O part; the last one is seeks */
#define BONNIE_FILES 6 /* columns of the small-file part */

/* Names of phase kinds by column; more than one candidate, separated by blanks: the first that was run counts. */
extern const char *const bonnie_io_kinds[BONNIE_IO];
extern const char *const bonnie_file_kinds[BONNIE_FILES];

/* The phase of a row for a column, or NULL. */
const struct phase_result *bonnie_phase(const struct report_row *row, const char *kinds);

/* The first phase of the columns that was run, or NULL: it tells sizes. */
const struct phase_result *bonnie_first(const struct report_row *row, const char *const *kinds, size_t count);

/*
 * The figures of a column, of a node or of all. Of bonnie++ itself its own CPU figure; where its versions on the nodes do not measure the
 * same in that column, all together have none: a sum of different things needs a mark, and these formats have no place for one.
 */
struct report_cell bonnie_cell(
    const struct results *results, const struct report_row *row, const char *kinds, size_t node);

/* What measured a node's line, or all: a version of bonnie++ ("1.03e") where that did it itself, else as report_version. */
const char *bonnie_version(const struct results *results, const struct report_row *row, size_t node);

/* bonnie++ prints plus signs for what took less than half a second. */
bool bonnie_too_short(const struct report_cell *cell);

/* The name of a node's line, or of all: "(all 3)", which no node can be called. buf: 80 bytes. A comma becomes "_". */
const char *bonnie_name(const struct results *results, size_t node, char *buf, size_t len);

/* "64M", "2G", "1536k" or "100" (bytes); buf: 32 bytes. */
const char *bonnie_size(uint64_t bytes, char *buf, size_t len);

/* Thousands of files as -n counts them (1 = 1024 files), "" for imports; buf: 32 bytes. */
const char *bonnie_files(
    const struct results *results, const struct phase_result *phase, size_t node, char *buf, size_t len);

/* A link's kind as CSV tells it in the place of the largest size ("-1", "-2"), or that size; "" when all files are empty. buf: 32 bytes. */
const char *bonnie_largest(const struct phase *spec, char *buf, size_t len);

/* "15706us", "332ms", "100s"; "" when not known. buf: 32 bytes. */
const char *bonnie_latency(int64_t ns, char *buf, size_t len);

#endif
