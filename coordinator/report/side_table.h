/*
 * What a phase has beside its rates: a heading, a sentence, figures of all nodes together and a row of figures for each node. What is in
 * them stands in one place; text, Markdown, page and CSV print what they are given.
 */
#ifndef LS_COORDINATOR_REPORT_SIDE_TABLE_H
#define LS_COORDINATOR_REPORT_SIDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/sink.h"
#include "proto/model/results.h"

#define SIDE_COLUMNS 8
#define SIDE_TOTALS  6

struct side_value {
	bool known;
	double value;
};

struct side_column {
	const char *title;  /* for people, at most 9 columns; NULL: told in the sentence */
	const char *metric; /* in tables of single values */
	const char *unit;   /* ns, 1, bool, B/s, op/s or x (a factor) */
};

struct side_row {
	const char *node; /* borrowed from the results */
	struct side_value values[SIDE_COLUMNS];
};

struct side_table {
	const char *heading;
	const char *note; /* what the columns mean, NULL: nothing to say */
	struct sink said; /* a sentence without its full stop; plain text, whoever prints it escapes it */
	struct side_column totals[SIDE_TOTALS];
	struct side_value total_values[SIDE_TOTALS];
	size_t total_count;
	struct side_column columns[SIDE_COLUMNS];
	size_t column_count;
	struct side_row *rows; /* owned */
	size_t row_count;
};

/* How the nodes that are left got over the loss of others: of phases in which a node was expected to be lost; false for others. */
bool side_recovery(const struct phase_result *phase, struct side_table *out);

/* By which factor sharing a file or directory is slower than one's own; false where that is not known. */
bool side_contention(const struct phase_result *phase, struct side_table *out);

/* One kind of such tables: false where the phase has none. */
typedef bool (*side_table_fn)(const struct phase_result *phase, struct side_table *out);

#define SIDE_TABLES 2
extern const side_table_fn side_tables[SIDE_TABLES];

/* Frees what is in it. */
void side_table_fini(struct side_table *table);

/* Each that the phase has, one after the other. */
void side_tables_each(
    const struct phase_result *phase, void (*put)(void *arg, const struct side_table *table), void *arg);

/* A cell for people: "12.3 s", "4711", "yes", "85.1 MiB/s", "3.20"; "-" where there is none. buf: 48 bytes. Returns buf. */
const char *side_cell(const struct side_column *column, const struct side_value *value, char *buf, size_t len);

#endif
