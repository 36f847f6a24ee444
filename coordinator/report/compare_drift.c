/* Does a phase go at one rate from its beginning to its end? */
#include "coordinator/report/compare_int.h"

#include <math.h>

#include "coordinator/report/rows_int.h"
#include "proto/model/aggregate.h"

#define MIN_STEPS  30   /* counter steps within the span */
#define MUCH_DRIFT 0.25 /* change from the first to the last third that deserves a word */

static bool
counts(const struct node_result *node)
{
	return node->state == NODE_DONE && node->start_ns != LS_UNKNOWN_I64 && node->end_ns != LS_UNKNOWN_I64 &&
	    node->series.interval_ns > 0;
}

/* What all nodes had done by t_ns, in the phase's own measure. */
static double
done_by(const struct phase_result *phase, double t_ns)
{
	double sum = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		double bytes;
		double ops;

		if (!counts(&phase->nodes[n]))
			continue;
		node_result_done_at(&phase->nodes[n], (int64_t)t_ns, &bytes, &ops);
		sum += report_in_bytes(phase) ? bytes : ops;
	}
	return sum;
}

double
compare_drift_of(const struct phase_result *phase)
{
	double from = -(double)INFINITY;
	double to = (double)INFINITY;
	double step = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (!counts(node))
			continue;
		from = fmax(from, (double)node->start_ns);
		to = fmin(to, (double)node->end_ns);
		step = fmax(step, (double)node->series.interval_ns);
	}
	if (!isfinite(from) || !isfinite(to) || !(to - from >= MIN_STEPS * step))
		return (double)NAN;
	double third = (to - from) / 3;
	double first = done_by(phase, from + third) - done_by(phase, from);
	double last = done_by(phase, to) - done_by(phase, to - third);
	return first > 0 ? last / first : (double)NAN;
}

void
compare_note_drift(struct comparison *c, size_t group, const char *title, const struct compare_samples *samples)
{
	double worst = 1;
	size_t times = 0;

	for (size_t i = 0; i < samples->count; i++) {
		double drift = compare_drift_of(samples->items[i].phase);

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
