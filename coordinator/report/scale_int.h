/*
 * Each node alone against all together, as all reports show it: one table per phase, means over the repetitions. Not for other folders.
 */
#ifndef LS_COORDINATOR_REPORT_SCALE_INT_H
#define LS_COORDINATOR_REPORT_SCALE_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/sink.h"
#include "proto/model/results.h"

/* Rates in MiB/s or op/s. NAN: not known. */
struct scale_node {
	const char *name; /* borrowed from the results */
	double alone, together, loss;
	size_t count; /* repetitions that the means are of */
};

struct scale_table {
	const struct phase_result *phase; /* its first repetition; borrowed */
	const char *unit;
	size_t repetitions;
	double alone, last_done, efficiency, all_active, efficiency_all_active;
	struct scale_node *nodes; /* owned, those that lose most first */
	size_t nodes_count;
};

struct scale_tables {
	struct scale_table *items;
	size_t count;
};

/* A table for each phase of the job with a scaling. */
struct scale_tables scale_tables_of(const struct results *results);
void scale_tables_free(struct scale_tables *tables);

/* Appended to the text report and to the Markdown; nothing where no phase has a scaling. shown: nodes a phase, 0 for all. */
void scale_text(struct sink *out, const struct results *results, size_t shown);
void scale_markdown(struct sink *out, const struct results *results);

/* A card of the page with a table and bars. */
void scale_html(struct sink *out, const struct results *results);

#endif
