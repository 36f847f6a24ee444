/* Solo against together: for each phase that every node did alone, too, how much of it is left when all work at once. */
#include "coordinator/report/format.h"

#include <math.h>
#include <stdio.h>

#include "common/base/units.h"
#include "coordinator/report/scale_int.h"
#include "coordinator/report/text_int.h"

extern const struct report_format report_scale;

enum { W_VALUE = 12, W_LOSS = 10, W_BAR = 40 };

/* What is left of 100 %, as a bar; more than that fills it. */
static void
bar(struct sink *out, double share)
{
	int filled = isfinite(share) ? (int)lround(fmin(fmax(share, 0), 1) * W_BAR) : 0;

	sink_printf(out, "  |");
	sink_repeat(out, '#', (size_t)filled);
	sink_repeat(out, ' ', (size_t)(W_BAR - filled));
	sink_printf(out, "|\n");
}

static void
row(struct sink *out, const char *name, double alone, double together, double loss)
{
	char percent[32] = "n/a";

	sink_printf(out, " ");
	text_name(out, name);
	text_cell(out, W_VALUE, alone);
	text_cell(out, W_VALUE, together);
	if (isfinite(loss))
		snprintf(percent, sizeof(percent), "%.1f", 100 * loss);
	text_cell_word(out, W_LOSS, percent);
	bar(out, 1 - loss);
}

static const char *
percent_text(double share, char *buf, size_t len)
{
	if (isfinite(share))
		snprintf(buf, len, "%.1f %%", 100 * share);
	else
		snprintf(buf, len, "n/a");
	return buf;
}

static void
table(struct sink *out, const struct scale_table *t, size_t shown)
{
	char done[32];
	char active[32];

	sink_printf(out, "\n");
	text_wrap(out, "", "%s, %s, %zu nodes%s: efficiency %s by last done, %s by all active", t->phase->name, t->unit,
	    t->nodes_count, t->repetitions > 1 ? ", mean of the repetitions" : "",
	    percent_text(t->efficiency, done, sizeof(done)),
	    percent_text(t->efficiency_all_active, active, sizeof(active)));
	sink_printf(out, " ");
	text_name(out, "node");
	text_cell_word(out, W_VALUE, "alone");
	text_cell_word(out, W_VALUE, "together");
	text_cell_word(out, W_LOSS, "loss %");
	sink_printf(out, "  together, of alone\n");
	for (size_t n = 0; n < t->nodes_count && (shown == 0 || n < shown); n++)
		row(out, t->nodes[n].name, t->nodes[n].alone, t->nodes[n].together, t->nodes[n].loss);
	if (shown > 0 && t->nodes_count > shown)
		text_wrap(out, " ", "and %zu more that lose less; lockstep scale shows all", t->nodes_count - shown);
	row(out, "all (last done)", t->alone * (double)t->nodes_count, t->last_done, 1 - t->efficiency);
}

void
scale_text(struct sink *out, const struct results *results, size_t shown)
{
	struct scale_tables tables = scale_tables_of(results);

	if (tables.count > 0)
		sink_printf(out, "\nEach node alone and all together\n");
	for (size_t i = 0; i < tables.count; i++)
		table(out, &tables.items[i], shown);
	scale_tables_free(&tables);
}

static enum ls_rc
render_scale(const struct results *results, struct sink *out, struct ls_err *err)
{
	size_t before;

	(void)err;
	text_wrap(out, "run     ", "%s, %s", results->run.id, field_enum_name(run_state_names, results->run.state));
	text_wrap(out, "job     ", "%s", results->run.name);
	text_warnings(out, "", results->run.warnings, results->run.warnings_count);
	before = out->len;
	scale_text(out, results, 0);
	sink_printf(out, "\n");
	if (out->len == before + 1) {
		text_wrap(out, "",
		    "No phase was done by each node alone and by all together. Phases marked \"solo\" are, as in the "
		    "preset scale; those that mix reads and writes have no efficiency, as these are not added up.");
		return LS_OK;
	}
	text_wrap(out, "",
	    "%s. alone, together: the node's own rate; loss: 1 - together / alone, negative where it "
	    "was faster "
	    "together; all: the sum of the nodes alone against last done of all (all work over last end minus first "
	    "start); "
	    "efficiency: their ratio, X(n) / (n X(1)).",
	    units_mega_note());
	return LS_OK;
}

const struct report_format report_scale = {
	.name = "scale",
	.extension = "scale.txt",
	.for_people = true,
	.help = "each node alone against all together: efficiency, each node's loss, with bars",
	.render = render_scale,
};
