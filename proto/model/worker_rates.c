/*
 * The figures of iozone's throughput mode. There a flag stops all children when the first has done its share; here all go on to their
 * end, and what each had done at that moment is read from the counters: E0, the first end of all workers.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"
#include "proto/model/aggregate_int.h"

/* What of one interval of a worker's series has happened until t: it is only as long as the worker was at work in it. */
static double
interval_share(const struct worker_result *w, size_t i, int64_t t_ns)
{
	int64_t low = LS_MAX((int64_t)i * w->series->interval_ns, w->start_ns);
	int64_t high = LS_MIN((int64_t)(i + 1) * w->series->interval_ns, w->end_ns);

	if (t_ns >= high)
		return 1;
	if (t_ns <= low)
		return 0;
	return (double)(t_ns - low) / (double)(high - low);
}

static bool
has_series(const struct worker_result *w)
{
	return w->series != NULL && w->series->interval_ns > 0 &&
	    w->series->bytes_count < (size_t)(INT64_MAX / w->series->interval_ns);
}

/* Bytes of worker w of a node until t: from its own series, or the node's if it is alone there, else as if it had worked evenly. */
static double
bytes_until(const struct node_result *node, const struct worker_result *w, int64_t t_ns)
{
	double bytes = 0;
	double ops;

	if (t_ns >= w->end_ns)
		return (double)w->bytes;
	if (t_ns <= w->start_ns)
		return 0;
	if (!has_series(w) && node->workers_count == 1) {
		node_result_done_at(node, t_ns, &bytes, &ops);
		return bytes;
	}
	if (!has_series(w))
		return (double)w->bytes * (double)span_between(t_ns, w->start_ns) /
		    (double)span_between(w->end_ns, w->start_ns);
	for (size_t i = 0; i < w->series->bytes_count; i++)
		bytes += interval_share(w, i, t_ns) * (double)w->series->bytes[i];
	return bytes;
}

/* Sums while the workers are gone through. */
struct rates {
	double bytes, children, min, max, least;
	uint64_t workers;
	bool broken; /* a worker's time is too short to measure */
};

static void
add_worker(struct rates *r, double bytes, int64_t time_ns)
{
	double rate = time_ns > 0 ? bytes * 1e9 / (double)time_ns : (double)NAN;

	if (bytes > 0 && time_ns <= 0)
		r->broken = true;
	if (isnan(rate))
		rate = 0;
	r->bytes += bytes;
	r->children += rate;
	r->min = r->workers == 0 ? rate : fmin(r->min, rate);
	r->max = r->workers == 0 ? rate : fmax(r->max, rate);
	r->least = r->workers == 0 ? bytes : fmin(r->least, bytes);
	r->workers++;
}

/* wall: only until E0. A record under way at that moment does not count, as there. */
static void
add_node(struct rates *r, const struct phase_result *phase, const struct node_result *node, const struct span *span,
    bool wall)
{
	double record = (double)LS_MAX(phase->spec.record_size, (uint64_t)1);

	for (size_t i = 0; i < node->workers_count; i++) {
		const struct worker_result *w = &node->workers[i];
		bool known = w->start_ns != LS_UNKNOWN_I64 && w->end_ns != LS_UNKNOWN_I64;
		int64_t end = known && wall ? LS_MIN(w->end_ns, span->e0) : w->end_ns;
		double bytes = known ? bytes_until(node, w, end) : 0;

		if (known && end < w->end_ns)
			bytes = floor(bytes / record + 1e-9) * record;
		add_worker(r, bytes, known ? span_between(end, w->start_ns) : 0);
	}
}

/* These three go on to the end of their files when iozone's flag stops their count, and the parent waits for them. */
static bool
finishes_its_file(int kind)
{
	return kind == PHASE_WRITE || kind == PHASE_PWRITE || kind == PHASE_RANDOM_WRITE;
}

static struct worker_rates *
make(const struct phase_result *phase, const struct span *span, bool wall)
{
	struct rates r = { 0 };
	struct worker_rates *out;
	bool short_wait = wall && !finishes_its_file(phase->kind);
	int64_t waits = span_between(short_wait ? span->e0 : span->e1, span->s0);

	for (size_t n = 0; n < phase->nodes_count; n++)
		if (node_counts(&phase->nodes[n]))
			add_node(&r, phase, &phase->nodes[n], span, wall);
	if (r.workers == 0 || r.broken)
		return NULL;
	out = ls_malloc(sizeof(*out));
	field_struct_init(&worker_rates_desc, out);
	out->children = r.children;
	if (waits > 0)
		out->parent = r.bytes * 1e9 / (double)waits;
	out->min = r.min;
	out->max = r.max;
	out->mean = r.children / (double)r.workers;
	out->least_bytes = (uint64_t)r.least;
	return out;
}

void
phase_fill_worker_rates(struct phase_result *phase, const struct span *span)
{
	const struct phase_kind_info *info = phase_kind_info((enum phase_kind)phase->kind);

	if ((info->groups & PHASE_DATA) == 0 || info->unit != PHASE_BYTES || phase->imported != NULL)
		return;
	phase->aggregate.to_end = make(phase, span, false);
	if (phase->spec.time == 0)
		phase->aggregate.stonewalled = make(phase, span, true);
}
