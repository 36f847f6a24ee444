/*
 * The phases of a run put into rows, as the tools whose formats we write put them: a row has one phase of each kind. What
 * one node or all did in such a phase is a cell. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_ROWS_INT_H
#define LS_COORDINATOR_REPORT_ROWS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/model/results.h"

/* The name of what was measured: a phase's kind (bonnie++'s with random names apart), or an import's test, by which formats find it. Borrowed from the phase. */
const char *report_test(const struct phase_result *phase);

/* Sizes of a phase with data; LS_UNKNOWN_U64 when not known. */
uint64_t report_file_size(const struct phase_result *phase);
uint64_t report_record_size(const struct phase_result *phase);

/*
 * The rate of all nodes: last done; of imports the tool's own figure of all, else their labelled sum, else that of the only
 * node.
 */
struct rate report_rate(const struct phase_result *phase);

/* Is a phase told in bytes first? Of imports: does its tool tell bytes? */
bool report_in_bytes(const struct phase_result *phase);

/* Processes of an import, where its tool tells rates by their number; else LS_UNKNOWN_U64. */
uint64_t report_processes(const struct phase_result *phase);

/* Borrows its phases from the results. */
struct report_row {
	uint64_t repetition;
	const struct phase_result **phases; /* owned array, in the order they ran; at least one */
	size_t count;
};

struct report_rows {
	struct report_row *items;
	size_t count;
};

/*
 * Rows of all phases whose kind has one of these groups (PHASE_DATA, PHASE_META), in the order they ran. A new row begins with a
 * new repetition and when a test comes again; by_size: also when file size, record size or another parameter that changes
 * what is measured differs from the row's other phases.
 */
struct report_rows report_rows_of(const struct results *results, unsigned groups, bool by_size);
void report_rows_free(struct report_rows *rows);

/* The first phase of a row. */
const struct phase_result *report_row_first(const struct report_row *row);

/* The phase of that test, NULL when it was not run. */
const struct phase_result *report_row_find(const struct report_row *row, const char *test);

#define REPORT_ALL SIZE_MAX /* in place of a node's number */

/* What a node (its number in results->nodes) or all did in a phase. */
struct report_cell {
	bool measured;             /* false: no such phase, or the node was idle or lost in it */
	double bytes_per_s;        /* all: last done, of imports the sum of rates; NAN: not known */
	double ops_per_s;          /* likewise */
	double cpu_percent;        /* of one CPU, NAN: not known */
	int64_t elapsed_ns;        /* LS_UNKNOWN_I64: not known */
	int64_t latency_max_ns;    /* longest operation; LS_UNKNOWN_I64: not known */
	const struct rate *active; /* all active; NULL for a node */
};

/* phase may be NULL. */
struct report_cell report_cell_of(const struct results *results, const struct phase_result *phase, size_t node);

/* The same of a node's result. */
struct report_cell report_cell_of_node(const struct node_result *node);

/* The result of results->nodes[node] in a phase, or NULL. */
const struct node_result *report_node_find(
    const struct results *results, const struct phase_result *phase, size_t node);

/* Streams (workers) of all nodes that took part in a phase, and the nodes. */
uint64_t report_streams(const struct results *results, const struct phase_result *phase, size_t *out_nodes);

/* Bytes of the files that a node, or all, worked on. */
uint64_t report_bytes_of_files(const struct results *results, const struct phase_result *phase, size_t node);

/* Version of what measured: lockstep, or the tool of an import; "" when not known. */
const char *report_version(const struct results *results);

#endif
