/* What it costs that nodes share a file or a directory. */
#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "coordinator/report/rows_int.h"
#include "coordinator/report/side_table.h"

static struct side_value
value_of(double value)
{
	return (struct side_value){ isfinite(value), value };
}

bool
side_contention(const struct phase_result *phase, struct side_table *out)
{
	const struct contention *c = phase->aggregate.contention;
	const char *unit = report_in_bytes(phase) ? "B/s" : "op/s";
	struct side_column own = { "its own", "contention_own", unit },
			   shared = { "shared", "contention_shared", unit };
	struct side_column factor = { "factor", "contention_factor", "x" };
	char text[2][48];

	if (c == NULL)
		return false;
	*out = (struct side_table){ .heading = "What sharing costs", .total_count = 4, .column_count = 3 };
	out->note = "factor: its rate with a file or directory of its own over the one here: so many times slower";
	out->columns[0] = out->totals[0] = own;
	out->columns[1] = out->totals[1] = shared;
	out->columns[2] = out->totals[2] = factor;
	out->totals[3] = (struct side_column){ NULL, "contention_factor_all_active", "x" };
	out->total_values[0] = value_of(c->own);
	out->total_values[1] = value_of(c->shared);
	out->total_values[2] = value_of(c->factor);
	out->total_values[3] = value_of(c->factor_all_active);
	sink_printf(&out->said,
	    "by a factor of %s slower than \"%s\", where each has its own (last done; all active: %s)",
	    side_cell(&factor, &out->total_values[2], text[0], sizeof(text[0])), c->against,
	    side_cell(&factor, &out->total_values[3], text[1], sizeof(text[1])));
	out->rows = ls_calloc(c->nodes_count + 1, sizeof(*out->rows));
	for (size_t n = 0; n < c->nodes_count; n++)
		out->rows[out->row_count++] = (struct side_row){
			.node = c->nodes[n].node,
			.values = { value_of(c->nodes[n].own), value_of(c->nodes[n].shared),
			    value_of(c->nodes[n].factor) },
		};
	return true;
}
