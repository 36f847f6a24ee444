/* What repetitions of the same phase agree on. */
#include "coordinator/report/by_op.h"
#include "coordinator/report/text_int.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/stat/summary.h"
#include "common/base/units.h"

enum {
	W_FIGURE = 13,
	W_UNIT = 7,
	W_N = 5,
	W_VALUE = 11,
};

static bool
in_bytes(const struct phase_result *phase)
{
	return phase_kind_info((enum phase_kind)phase->kind)->unit == PHASE_BYTES;
}

/* What a row is about: an aggregate, or one operation of a phase that mixes them. */
enum figure {
	LAST_DONE = 0,
	ALL_ACTIVE,
	READS,
	WRITES,
};

static const char *const figure_names[] = { "last done", "all active", "reads", "writes" };

static double
figure(const struct phase_result *phase, enum figure what)
{
	const struct rate *r = what == ALL_ACTIVE ? &phase->aggregate.all_active : &phase->aggregate.last_done;

	if (what == READS || what == WRITES) {
		const struct op_result *op = by_op_get(&phase->aggregate.by_op, what == READS ? OP_READ : OP_WRITE);

		return op != NULL ? op->bytes_per_s / units_mega() : (double)NAN;
	}
	return in_bytes(phase) ? r->bytes_per_s / units_mega() : r->ops_per_s;
}

/* A row for one figure of the phase at that place in the job, over all repetitions that know it. */
static void
repeat_row(struct sink *out, const struct results *results, const struct phase_result *first, enum figure what)
{
	double *values = ls_calloc(results->phases_count + 1, sizeof(*values));
	size_t count = 0;

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *phase = &results->phases[p];

		if (phase->index != first->index || phase->state != PHASE_STATE_DONE)
			continue;
		double value = figure(phase, what);
		if (isfinite(value))
			values[count++] = value;
	}

	struct summary s = summary_of(values, count);
	sink_printf(out, " ");
	text_name(out, first->name);
	text_cell_word(out, W_FIGURE, figure_names[what]);
	text_cell_word(out, W_UNIT, in_bytes(first) ? units_mega_rate() : "op/s");
	sink_printf(out, "%*zu", W_N, count);
	text_cell(out, W_VALUE, s.mean);
	text_cell(out, W_VALUE, s.ci95);
	text_cell(out, W_VALUE, s.sd);
	text_cell(out, W_VALUE, s.median);
	text_cell(out, W_VALUE, s.mean > 0 ? 100 * s.sd / s.mean : (double)NAN);
	sink_printf(out, "\n");
	free(values);
}

void
text_repetitions(struct sink *out, const struct results *results)
{
	if (results->run.job.repeat < 2)
		return;
	sink_printf(out, "\nOver the repetitions (mean +/- half of the 95 %% interval)\n ");
	text_name(out, "phase");
	text_cell_word(out, W_FIGURE, "figure");
	text_cell_word(out, W_UNIT, "unit");
	text_cell_word(out, W_N, "runs");
	text_cell_word(out, W_VALUE, "mean");
	text_cell_word(out, W_VALUE, "+/- 95 %");
	text_cell_word(out, W_VALUE, "std dev");
	text_cell_word(out, W_VALUE, "median");
	text_cell_word(out, W_VALUE, "std dev %");
	sink_printf(out, "\n");
	for (size_t p = 0; p < results->phases_count; p++) {
		if (results->phases[p].repetition != 0)
			continue;
		bool mixes = by_op_mixes(&results->phases[p]);

		repeat_row(out, results, &results->phases[p], mixes ? READS : LAST_DONE);
		repeat_row(out, results, &results->phases[p], mixes ? WRITES : ALL_ACTIVE);
	}
}
