/* How the nodes that are left got over the loss of others. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/side_table.h"

static const struct side_column columns[] = {
	{ "written", "recovery_written", "1" },
	{ "fsynced", "recovery_fsynced", "1" },
	{ "stall", "recovery_stall", "ns" },
	{ "began at", "recovery_stall_start", "ns" },
	{ "lost at", "recovery_lost_at", "ns" },
	{ "noticed", "recovery_noticed_after", "ns" },
	{ "returned", "recovery_returned", "bool" },
	{ "back", "recovery_back_after", "ns" },
};

static const struct side_column totals[] = {
	{ NULL, "recovery_lost", "1" },
	{ NULL, "recovery_expected", "1" },
	{ NULL, "recovery_loss_at", "ns" },
	{ NULL, "recovery_rate_before", "B/s" },
	{ NULL, "recovery_full_rate_after", "ns" },
};

static struct side_value
of_ns(int64_t ns)
{
	return (struct side_value){ ns != LS_UNKNOWN_I64, (double)ns };
}

static struct side_value
of_count(uint64_t count)
{
	return (struct side_value){ count != LS_UNKNOWN_U64, (double)count };
}

static struct side_row
row_of(const struct recovery_node *n)
{
	return (struct side_row){
		.node = n->node,
		.values = { of_count(n->written), of_count(n->fsynced), of_ns(n->stall_ns), of_ns(n->stall_start_ns),
		    of_ns(n->lost_at_ns), of_ns(n->noticed_after_ns), { n->lost, n->returned },
		    of_ns(n->back_after_ns) },
	};
}

static void
say(struct sink *out, const struct recovery *r)
{
	char text[48];

	sink_printf(out, "%" PRIu64 " node%s lost, %" PRIu64 " might be", r->lost, r->lost == 1 ? " was" : "s were",
	    r->expected);
	if (r->loss_ns != LS_UNKNOWN_I64)
		sink_printf(
		    out, "; last heard of %s after the start", units_format_duration(r->loss_ns, text, sizeof(text)));
	if (isfinite(r->rate_before))
		sink_printf(
		    out, "; the others wrote %s until then", units_format_rate(r->rate_before, text, sizeof(text)));
	if (r->full_rate_after_ns != LS_UNKNOWN_I64)
		sink_printf(out,
		    ", and had 90 %% of that again %s after the loss, behind all stalls of a second and more",
		    units_format_duration(r->full_rate_after_ns, text, sizeof(text)));
	else if (r->lost > 0)
		sink_printf(
		    out, "; time until full rate: n/a, %s", r->why_not != NULL ? r->why_not : "no reason given");
}

bool
side_recovery(const struct phase_result *phase, struct side_table *out)
{
	const struct recovery *r = phase->recovery;

	if (r == NULL)
		return false;
	*out = (struct side_table){
		.heading = "Loss of a node", .column_count = ARRAY_LEN(columns), .total_count = ARRAY_LEN(totals)
	};
	out->note = "fsynced: records that must be there. stall: the longest time in one write or fsync (of those that "
		    "ended after the loss), and when it began. lost at: last heard of; noticed, back: after that";
	memcpy(out->columns, columns, sizeof(columns));
	memcpy(out->totals, totals, sizeof(totals));
	out->total_values[0] = of_count(r->lost);
	out->total_values[1] = of_count(r->expected);
	out->total_values[2] = of_ns(r->loss_ns);
	out->total_values[3] = (struct side_value){ isfinite(r->rate_before), r->rate_before };
	out->total_values[4] = of_ns(r->full_rate_after_ns);
	say(&out->said, r);
	out->rows = ls_calloc(r->nodes_count + 1, sizeof(*out->rows));
	for (size_t n = 0; n < r->nodes_count; n++)
		out->rows[out->row_count++] = row_of(&r->nodes[n]);
	return true;
}
