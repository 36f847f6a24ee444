/*
 * Tests that were run at several file sizes and record sizes, as iozone's -a does: file size by record size. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_GRID_INT_H
#define LS_COORDINATOR_REPORT_GRID_INT_H

#include "coordinator/report/rows_int.h"

struct report_sizes {
	uint64_t *items; /* ascending, each once */
	size_t count;
};

void report_sizes_add(struct report_sizes *sizes, uint64_t value);

/* The sizes at which a test was run. */
struct report_grid {
	const char *test; /* borrowed */
	struct report_sizes files, records;
};

struct report_grid report_grid_of(const struct results *results, const char *test);
void report_grid_free(struct report_grid *grid);

/* Is it a grid that deserves a table, or just a few sizes? */
bool report_grid_is_large(const struct report_grid *grid);

/* Is number p the first phase of its test? Then that is where to show the grid. */
bool report_is_first_of_test(const struct results *results, size_t p);

/* Mean over the repetitions of what a node or all (REPORT_ALL) did at one size. */
struct report_grid_value {
	double value; /* bytes/s or operations/s; NAN: not measured there */
	bool in_bytes;
	size_t phase; /* the first phase in it */
};

struct report_grid_value report_grid_value(
    const struct results *results, const struct report_grid *grid, size_t file, size_t record, size_t node);

#endif
