/* Does a phase go at one rate from its beginning to its end? */
#include "coordinator/report/compare_int.h"

#include <math.h>

#include "coordinator/report/by_op.h"
#include "coordinator/report/rows_int.h"
#include "proto/model/aggregate.h"

#define MIN_STEPS  30   /* counter steps within the span */
#define MUCH_DRIFT 0.25 /* change from the first to the last third that deserves a word */

/* The series of what a node did, or of one operation where the phase mixes them (op below 0: all); NULL: it does not count. */
static const struct series *
series_of(const struct node_result *node, int op)
{
	const struct op_result *r = op < 0 ? NULL : by_op_get(&node->by_op, (enum op_kind)op);
	const struct series *series = op < 0 ? &node->series : r != NULL ? r->series : NULL;

	if (node->state != NODE_DONE || node->start_ns == LS_UNKNOWN_I64 || node->end_ns == LS_UNKNOWN_I64 ||
	    series == NULL || series->interval_ns <= 0 || series->ops_count == 0)
		return NULL;
	return series;
}

/* What all nodes had done by t_ns, in the phase's own measure. */
static double
done_by(const struct phase_result *phase, int op, double t_ns)
{
	double sum = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct series *series = series_of(&phase->nodes[n], op);
		double bytes;
		double ops;

		if (series == NULL)
			continue;
		node_series_done_at(&phase->nodes[n], series, (int64_t)t_ns, &bytes, &ops);
		sum += report_in_bytes(phase) ? bytes : ops;
	}
	return sum;
}

static double
drift_of(const struct phase_result *phase, int op)
{
	double from = -(double)INFINITY;
	double to = (double)INFINITY;
	double step = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];
		const struct series *series = series_of(node, op);

		if (series == NULL)
			continue;
		from = fmax(from, (double)node->start_ns);
		to = fmin(to, (double)node->end_ns);
		step = fmax(step, (double)series->interval_ns);
	}
	if (!isfinite(from) || !isfinite(to) || !(to - from >= MIN_STEPS * step))
		return (double)NAN;
	double third = (to - from) / 3;
	double first = done_by(phase, op, from + third) - done_by(phase, op, from);
	double last = done_by(phase, op, to) - done_by(phase, op, to - third);
	return first > 0 ? last / first : (double)NAN;
}

double
compare_drift_of(const struct compare_part *part)
{
	const struct phase_result *phase = part->phase;
	double worst = (double)NAN;

	if (part->op >= 0 || !by_op_mixes(phase))
		return drift_of(phase, part->op);
	for (int op = 0; op < OP_COUNT; op++) {
		double drift = drift_of(phase, op);

		if (isfinite(drift) && !(fabs(worst - 1) >= fabs(drift - 1)))
			worst = drift;
	}
	return worst;
}

void
compare_note_drift(struct comparison *c, size_t group, const char *title, const struct compare_samples *samples)
{
	double worst = 1;
	size_t times = 0;

	for (size_t i = 0; i < samples->count; i++) {
		double drift = compare_drift_of(&samples->items[i].part);

		if (!(fabs(drift - 1) > MUCH_DRIFT))
			continue;
		times++;
		if (fabs(drift - 1) > fabs(worst - 1))
			worst = drift;
	}
	if (times == 0)
		return;
	warnings_add(&c->notes, &c->notes_count,
	    "%s, %s: the rate is not steady in %zu of %zu repeats: the last third of the phase has %.0f %% of the "
	    "first; %s",
	    title, c->groups[group].label, times, samples->count, 100 * worst,
	    worst > 1 ? "caches fill at the start: set warmup, or run longer"
		      : "buffers fill or something else throttles: run longer, so that the steady part weighs more");
}
