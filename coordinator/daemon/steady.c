#include "coordinator/daemon/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/defs.h"
#include "common/base/mem.h"

void
steady_figures_of(const struct steady_rule *rule, const double rates[STEADY_INTERVALS], struct steady_figures *out)
{
	const double middle = (STEADY_INTERVALS - 1) / 2.0;
	double sum = 0, least = rates[0], most = rates[0], covariance = 0, variance = 0;

	for (size_t i = 0; i < STEADY_INTERVALS; i++) {
		double x = (double)i - middle;

		sum += rates[i];
		least = fmin(least, rates[i]);
		most = fmax(most, rates[i]);
		covariance += x * rates[i];
		variance += x * x;
	}
	memcpy(out->rates, rates, sizeof(out->rates));
	out->mean = sum / STEADY_INTERVALS;
	out->range_percent = out->slope_percent = (double)NAN;
	out->steady = false;
	if (out->mean <= 0)
		return;
	out->range_percent = 100 * (most - least) / out->mean;
	out->slope_percent = 100 * (STEADY_INTERVALS - 1) * (covariance / variance) / out->mean;
	out->steady = out->range_percent <= rule->range_percent && fabs(out->slope_percent) <= rule->slope_percent;
}

void
steady_begin(struct steady_watch *w, const struct steady_rule *rule, const bool *counts, size_t n)
{
	steady_end(w);
	w->rule = *rule;
	w->n = n;
	w->nodes = ls_calloc(n + 1, sizeof(*w->nodes));
	for (size_t i = 0; i < n; i++) {
		w->nodes[i].counts = counts[i];
		w->nodes[i].at_ns = rule->from_ns;
	}
}

void
steady_end(struct steady_watch *w)
{
	free(w->nodes);
	*w = (struct steady_watch){ 0 };
}

bool
steady_watches(const struct steady_watch *w)
{
	return w->nodes != NULL;
}

static int64_t
boundary_ns(const struct steady_watch *w, int64_t number)
{
	return w->rule.from_ns + number * w->rule.interval_ns;
}

static uint64_t
between(const struct steady_node *n, int64_t at_ns, uint64_t done, int64_t when_ns)
{
	double share = (double)(when_ns - n->at_ns) / (double)(at_ns - n->at_ns);

	return n->done + (uint64_t)llround(share * (double)(done - n->done));
}

void
steady_sample(struct steady_watch *w, size_t i, int64_t at_ns, uint64_t done)
{
	struct steady_node *n = i < w->n ? &w->nodes[i] : NULL;

	if (n == NULL || at_ns <= n->at_ns || done < n->done)
		return;
	int64_t reached = (LS_MIN(at_ns, w->rule.until_ns) - w->rule.from_ns) / w->rule.interval_ns;

	/* After a long silence the oldest would only be written over. */
	n->known = LS_MAX(n->known, reached - STEADY_RING);
	while (n->known < reached) {
		n->known++;
		n->ring[n->known % STEADY_RING] = between(n, at_ns, done, boundary_ns(w, n->known));
	}
	n->at_ns = at_ns;
	n->done = done;
}

void
steady_drop(struct steady_watch *w, size_t i)
{
	if (i < w->n)
		w->nodes[i].counts = false;
}

/* The last boundary that all know; false when nobody counts, or one is so far ahead of another that it has forgotten the window. */
static bool
common_boundary(const struct steady_watch *w, int64_t *out)
{
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (!w->nodes[i].counts)
			continue;
		first = LS_MIN(first, w->nodes[i].known);
		last = LS_MAX(last, w->nodes[i].known);
	}
	*out = first;
	return first != INT64_MAX && last - first < STEADY_RING - STEADY_INTERVALS;
}

static double
rate_of(const struct steady_watch *w, int64_t to)
{
	uint64_t done = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct steady_node *n = &w->nodes[i];

		if (n->counts)
			done += n->ring[to % STEADY_RING] - n->ring[(to - 1) % STEADY_RING];
	}
	return (double)done * 1e9 / (double)w->rule.interval_ns;
}

bool
steady_judge(struct steady_watch *w)
{
	double rates[STEADY_INTERVALS];
	int64_t end;

	if (!common_boundary(w, &end) || end < STEADY_INTERVALS || end <= w->judged)
		return false;
	for (int64_t i = 0; i < STEADY_INTERVALS; i++)
		rates[i] = rate_of(w, end - STEADY_INTERVALS + 1 + i);
	steady_figures_of(&w->rule, rates, &w->last);
	w->last.end_ns = boundary_ns(w, end);
	w->judged = end;
	w->windows++;
	return true;
}
