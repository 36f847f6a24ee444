#include "proto/model/aggregate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sat.h"
#include "common/base/units.h"
#include "common/stat/summary.h"
#include "proto/model/aggregate_int.h"

/* One worker's time and work; a node without a list of workers counts as one. */
struct stint {
	int64_t start_ns, end_ns, first_op_ns;
	uint64_t bytes, ops;
};

int64_t
span_between(int64_t a, int64_t b)
{
	int64_t d;

	if (__builtin_sub_overflow(a, b, &d))
		return a > b ? INT64_MAX : -INT64_MAX;
	return d;
}

bool
node_counts(const struct node_result *node)
{
	return node->state == NODE_DONE;
}

/* What documents and the wire hold ends at INT64_MAX. */
static uint64_t
add_total(uint64_t a, uint64_t b)
{
	return LS_MIN(sat_add(a, b), (uint64_t)INT64_MAX);
}

/* Per second; NAN without a length of time. */
static double
per_second(double amount, int64_t span_ns)
{
	if (span_ns <= 0)
		return (double)NAN;
	return amount * 1e9 / (double)span_ns;
}

/* A phase that moves no bytes has no byte rate, rather than one of 0; likewise operations. */
static struct rate
rate_of(double bytes, double ops, int64_t span_ns, bool has_bytes, bool has_ops)
{
	return (struct rate){
		.bytes_per_s = has_bytes ? per_second(bytes, span_ns) : (double)NAN,
		.ops_per_s = has_ops ? per_second(ops, span_ns) : (double)NAN,
	};
}

/* --- latency ------------------------------------------------------------------------------------------------------ */

static void
latency_replace(struct latency *latency, const struct hist *hist)
{
	struct latency fresh;

	field_struct_init(&latency_desc, &fresh);
	latency_from_hist(hist, &fresh);
	field_struct_fini(&latency_desc, latency);
	*latency = fresh;
}

static struct latency *
latency_new(const struct hist *hist)
{
	struct latency *l = ls_malloc(sizeof(*l));

	field_struct_init(&latency_desc, l);
	latency_from_hist(hist, l);
	return l;
}

static void
latency_drop(struct latency **latency)
{
	if (*latency == NULL)
		return;
	field_struct_fini(&latency_desc, *latency);
	free(*latency);
	*latency = NULL;
}

/* The only operation in by_op that has done something, or -1 when there is none or more than one. */
static int
only_op(const struct by_op *by_op)
{
	int found = -1;

	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(by_op, (enum op_kind)op);

		if (r == NULL || r->ops == 0)
			continue;
		if (found >= 0)
			return -1;
		found = op;
	}
	return found;
}

/* Derives an operation's figures; its latency only where the buckets can be read. */
static void
op_result_derive(struct op_result *r, int64_t span_ns, struct hist *hist)
{
	struct rate rate = rate_of((double)r->bytes, (double)r->ops, span_ns, r->bytes > 0, r->ops > 0);

	r->bytes_per_s = rate.bytes_per_s;
	r->ops_per_s = rate.ops_per_s;
	hist_reset(hist);
	if (latency_add_to_hist(&r->latency_ns, hist, NULL) == LS_OK)
		latency_replace(&r->latency_ns, hist);
}

static int64_t
node_span(const struct node_result *node)
{
	if (node->start_ns == LS_UNKNOWN_I64 || node->end_ns == LS_UNKNOWN_I64)
		return 0;
	return span_between(node->end_ns, node->start_ns);
}

void
node_result_derive(struct node_result *node)
{
	int64_t span_ns = node_span(node);
	struct rate rate = rate_of((double)node->bytes, (double)node->ops, span_ns, node->bytes > 0, node->ops > 0);
	struct hist *hist;

	/* an import that tells only rates: there is nothing to derive them from */
	if (node->bytes == LS_UNKNOWN_U64 || node->ops == LS_UNKNOWN_U64)
		return;
	hist = ls_malloc(sizeof(*hist));
	node->bytes_per_s = rate.bytes_per_s;
	node->ops_per_s = rate.ops_per_s;
	for (int op = 0; op < OP_COUNT; op++) {
		struct op_result *r = *by_op_slot(&node->by_op, (enum op_kind)op);

		if (r != NULL)
			op_result_derive(r, span_ns, hist);
	}
	latency_drop(&node->latency_ns);
	int op = only_op(&node->by_op);
	hist_reset(hist);
	if (op >= 0 && latency_add_to_hist(&by_op_get(&node->by_op, (enum op_kind)op)->latency_ns, hist, NULL) == LS_OK)
		node->latency_ns = latency_new(hist);
	free(hist);
}

/* --- over time ---------------------------------------------------------------------------------------------------- */

/* What of a counter step has happened until t: the step is only as long as the node was at work in it. */
static double
step_share(const struct node_result *node, const struct series *series, size_t step, int64_t t_ns)
{
	int64_t low = (int64_t)step * series->interval_ns;
	int64_t high = low + series->interval_ns;

	low = LS_MAX(low, node->start_ns);
	high = LS_MIN(high, node->end_ns);
	if (t_ns >= high)
		return 1;
	if (t_ns <= low || high <= low)
		return 0;
	return (double)(t_ns - low) / (double)(high - low);
}

static double
linear_share(const struct node_result *node, int64_t t_ns)
{
	int64_t span_ns = node_span(node);

	if (span_ns <= 0 || t_ns <= node->start_ns)
		return 0;
	return (double)span_between(t_ns, node->start_ns) / (double)span_ns;
}

static bool
is_told(const struct series *series)
{
	return series->interval_ns > 0 && series->ops_count > 0 &&
	    series->ops_count <= (size_t)(INT64_MAX / series->interval_ns) - 1;
}

static bool
has_series(const struct node_result *node)
{
	return is_told(&node->series);
}

void
node_series_done_at(
    const struct node_result *node, const struct series *series, int64_t t_ns, double *out_bytes, double *out_ops)
{
	*out_bytes = *out_ops = 0;
	for (size_t i = 0; is_told(series) && (i < series->ops_count || i < series->bytes_count); i++) {
		double share = step_share(node, series, i, t_ns);

		if (share <= 0)
			break;
		if (i < series->bytes_count)
			*out_bytes += share * (double)series->bytes[i];
		if (i < series->ops_count)
			*out_ops += share * (double)series->ops[i];
	}
}

void
node_result_done_at(const struct node_result *node, int64_t t_ns, double *out_bytes, double *out_ops)
{
	uint64_t all_bytes, all_ops;

	node_result_work(node, &all_bytes, &all_ops);
	if (node->end_ns == LS_UNKNOWN_I64 || node->start_ns == LS_UNKNOWN_I64 || t_ns >= node->end_ns) {
		*out_bytes = (double)all_bytes;
		*out_ops = (double)all_ops;
		return;
	}
	if (!has_series(node)) {
		*out_bytes = (double)all_bytes * linear_share(node, t_ns);
		*out_ops = (double)all_ops * linear_share(node, t_ns);
		return;
	}
	node_series_done_at(node, &node->series, t_ns, out_bytes, out_ops);
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

static size_t
stint_count(const struct node_result *node)
{
	return LS_MAX(node->workers_count, (size_t)1);
}

static struct stint
stint_get(const struct node_result *node, size_t i)
{
	if (node->workers_count == 0)
		return (struct stint){ node->start_ns, node->end_ns, node->start_ns, node->bytes, node->ops };

	const struct worker_result *w = &node->workers[i];
	int64_t first = w->first_op_ns == LS_UNKNOWN_I64 ? w->start_ns : w->first_op_ns;
	return (struct stint){ w->start_ns, w->end_ns, first, w->bytes, w->ops };
}

static void
span_add_stint(struct span *span, const struct stint *s)
{
	if (s->start_ns == LS_UNKNOWN_I64 || s->end_ns == LS_UNKNOWN_I64) {
		span->silent++;
		return;
	}
	if (span->workers++ == 0) {
		span->s0 = span->s1 = s->start_ns;
		span->e0 = span->e1 = s->end_ns;
	}
	span->s0 = LS_MIN(span->s0, s->start_ns);
	span->s1 = LS_MAX(span->s1, s->start_ns);
	span->e0 = LS_MIN(span->e0, s->end_ns);
	span->e1 = LS_MAX(span->e1, s->end_ns);
}

/* First operations tell the start skew; a worker that got no further than its warm-up has one too. */
static void
span_add_first(struct span *span, int64_t first_ns)
{
	if (first_ns == LS_UNKNOWN_I64)
		return;
	if (span->first0 == LS_UNKNOWN_I64) {
		span->first0 = span->first1 = first_ns;
		return;
	}
	span->first0 = LS_MIN(span->first0, first_ns);
	span->first1 = LS_MAX(span->first1, first_ns);
}

/* Does the node's series tell what it did? More than 1 % off its own totals is not good enough to subtract with. */
static bool
series_adds_up(const struct node_result *node)
{
	double sum = 0;

	if (node->ops == 0)
		return true;
	if (!has_series(node))
		return false;
	for (size_t i = 0; i < node->series.ops_count; i++)
		sum += (double)node->series.ops[i];
	return fabs(sum - (double)node->ops) <= 0.01 * (double)node->ops;
}

static struct span
span_gather(const struct phase_result *phase)
{
	struct span span = { .first0 = LS_UNKNOWN_I64, .first1 = LS_UNKNOWN_I64 };

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->state == NODE_FAILED || node->state == NODE_LOST)
			span.out++;
		if (!node_counts(node))
			continue;
		span.nodes++;
		span.step_ns = LS_MAX(span.step_ns, node->series.interval_ns);
		if (!series_adds_up(node))
			span.unsteady = node->node;
		for (size_t i = 0; i < stint_count(node); i++) {
			struct stint s = stint_get(node, i);

			span_add_stint(&span, &s);
			span_add_first(&span, s.first_op_ns);
		}
	}
	return span;
}

/* --- aggregates --------------------------------------------------------------------------------------------------- */

static void
done_at_all(const struct phase_result *phase, int64_t t_ns, double *out_bytes, double *out_ops)
{
	*out_bytes = *out_ops = 0;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		double bytes, ops;

		if (!node_counts(&phase->nodes[n]))
			continue;
		node_result_done_at(&phase->nodes[n], t_ns, &bytes, &ops);
		*out_bytes += bytes;
		*out_ops += ops;
	}
}

static void
fill_sum_of_rates(struct phase_result *phase)
{
	struct aggregate *a = &phase->aggregate;
	double bytes = 0;
	double ops = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		for (size_t i = 0; node_counts(node) && i < stint_count(node); i++) {
			struct stint s = stint_get(node, i);

			if (s.ops == 0 || s.start_ns == LS_UNKNOWN_I64 || s.end_ns == LS_UNKNOWN_I64)
				continue;
			bytes += per_second((double)s.bytes, span_between(s.end_ns, s.start_ns));
			ops += per_second((double)s.ops, span_between(s.end_ns, s.start_ns));
		}
	}
	/* one worker without a length of time and its NAN has spread to the sum, as it must */
	if (a->bytes > 0)
		a->sum_of_rates.bytes_per_s = bytes;
	a->sum_of_rates.ops_per_s = ops;
	if (isnan(ops))
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "sum of rates is n/a: a worker's time is too short to measure");
}

/* The reason why nothing can be said about the time when all were active, or NULL. */
static const char *
all_active_reason(const struct span *span, char *buf, size_t len)
{
	char d[32];
	char step[32];
	int64_t shared = span_between(span->e0, span->s1);
	uint64_t all = span->silent + span->workers;

	if (span->silent > 0)
		snprintf(buf, len, "%llu of %llu workers finished no counted operation",
		    (unsigned long long)span->silent, (unsigned long long)all);
	else if (shared <= 0)
		snprintf(buf, len, "at no time were all workers active, the first ended before the last one started");
	else if (span->unsteady != NULL)
		snprintf(buf, len, "the counters over time of %s are missing or do not add up", span->unsteady);
	else if (shared / AGGREGATE_MIN_STEPS < span->step_ns)
		snprintf(buf, len, "all workers were active together for %s, less than %d counter steps of %s",
		    units_format_duration(shared, d, sizeof(d)), AGGREGATE_MIN_STEPS,
		    units_format_duration(span->step_ns, step, sizeof(step)));
	else
		return NULL;
	return buf;
}

static void
fill_all_active(struct phase_result *phase, const struct span *span)
{
	char reason[256];
	struct aggregate *a = &phase->aggregate;

	if (all_active_reason(span, reason, sizeof(reason)) != NULL) {
		warnings_add(&phase->warnings, &phase->warnings_count, "all active is n/a: %s", reason);
		return;
	}

	double b0, o0, b1, o1;
	done_at_all(phase, span->s1, &b0, &o0);
	done_at_all(phase, span->e0, &b1, &o1);
	a->all_active = rate_of(b1 - b0, o1 - o0, span_between(span->e0, span->s1), a->bytes > 0, true);
}

static void
fill_first_done(struct phase_result *phase, const struct span *span)
{
	struct aggregate *a = &phase->aggregate;
	int64_t first = span_between(span->e0, span->s0);
	bool exact = span->e0 == span->e1 && span->silent == 0;

	if (!exact && (span->unsteady != NULL || span->silent > 0 || first / AGGREGATE_MIN_STEPS < span->step_ns)) {
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "first done is n/a: too few counter steps until the first worker ended");
		return;
	}

	double bytes, ops;
	done_at_all(phase, span->e0, &bytes, &ops);
	a->first_done = rate_of(bytes, ops, first, a->bytes > 0, true);
}

/* A small cell of a grid, say: rates per node stand, but what all did together lies between two counter steps. */
bool
span_is_too_short(const struct span *span)
{
	return span->silent == 0 && span_between(span->e1, span->s0) / AGGREGATE_MIN_STEPS < span->step_ns;
}

static void
warn_too_short(struct phase_result *phase, const struct span *span)
{
	char d[32];
	char step[32];

	if ((phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_CLUSTER) != 0)
		return;
	warnings_add(&phase->warnings, &phase->warnings_count,
	    "the phase took only %s, less than %d counter steps of %s: all active and first done are n/a, last done is "
	    "rough",
	    units_format_duration(span_between(span->e1, span->s0), d, sizeof(d)), AGGREGATE_MIN_STEPS,
	    units_format_duration(span->step_ns, step, sizeof(step)));
}

static void
fill_rates(struct phase_result *phase, const struct span *span)
{
	struct aggregate *a = &phase->aggregate;
	int64_t whole = span_between(span->e1, span->s0);

	phase->duration_ns = LS_MAX(whole, (int64_t)0);
	fill_sum_of_rates(phase);
	if (whole <= 0) {
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "all aggregates are n/a: the whole phase is too short to measure");
		return;
	}

	int64_t shared = span->silent > 0 ? 0 : span_between(span->e0, span->s1);
	a->overlap = shared > 0 ? (double)shared / (double)whole : 0;
	a->last_done = rate_of((double)a->bytes, (double)a->ops, whole, a->bytes > 0, true);
	if (span_is_too_short(span)) {
		warn_too_short(phase, span);
		return;
	}
	fill_first_done(phase, span);
	fill_all_active(phase, span);
}

/* Jain and the slowest over nodes, in bytes where the phase moves bytes. A node that did nothing has a rate of 0. */
static void
fill_fairness(struct phase_result *phase)
{
	struct aggregate *a = &phase->aggregate;
	double *rates = ls_calloc(phase->nodes_count + 1, sizeof(*rates));
	size_t count = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];
		double rate = a->bytes > 0 ? node->bytes_per_s : node->ops_per_s;

		if (!node_counts(node) || (isnan(rate) && node->ops > 0 && node_span(node) <= 0))
			continue;
		rates[count++] = isnan(rate) ? 0 : rate;
	}

	struct summary s = summary_of(rates, count);
	a->fairness = summary_jain(rates, count);
	a->slowest_to_median = s.median > 0 ? s.min / s.median : (double)NAN;
	free(rates);
}

/* The service times of an operation over the nodes that count, where they were kept. */
static enum ls_rc
fill_service(
    const struct phase_result *phase, enum op_kind op, struct op_result *out, struct hist *hist, struct ls_err *err)
{
	enum ls_rc rc = LS_OK;
	bool any = false;

	hist_reset(hist);
	for (size_t n = 0; n < phase->nodes_count && rc == LS_OK; n++) {
		const struct op_result *from = by_op_get(&phase->nodes[n].by_op, op);

		if (from == NULL || from->service_ns == NULL || !node_counts(&phase->nodes[n]))
			continue;
		any = true;
		rc = latency_add_to_hist(from->service_ns, hist, err);
		if (rc != LS_OK)
			ls_err_wrap(err, "service time of %s of node %s", op_names[op], phase->nodes[n].node);
	}
	if (rc == LS_OK && any)
		out->service_ns = latency_new(hist);
	return rc;
}

/* Sums one operation over the nodes that count. */
static enum ls_rc
fill_op(struct phase_result *phase, enum op_kind op, struct hist *hist, struct ls_err *err)
{
	struct op_result **slot = by_op_slot(&phase->aggregate.by_op, op);

	hist_reset(hist);
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct op_result *from = by_op_get(&phase->nodes[n].by_op, op);

		if (from == NULL || !node_counts(&phase->nodes[n]))
			continue;
		if (*slot == NULL) {
			*slot = ls_malloc(sizeof(**slot));
			field_struct_init(&op_result_desc, *slot);
		}
		(*slot)->bytes = add_total((*slot)->bytes, from->bytes);
		(*slot)->ops = add_total((*slot)->ops, from->ops);
		enum ls_rc rc = latency_add_to_hist(&from->latency_ns, hist, err);
		if (rc != LS_OK) {
			ls_err_wrap(err, "%s of node %s", op_names[op], phase->nodes[n].node);
			return LS_E_INVALID;
		}
	}
	if (*slot == NULL)
		return LS_OK;

	struct rate rate = rate_of((double)(*slot)->bytes, (double)(*slot)->ops,
	    phase->duration_ns == LS_UNKNOWN_I64 ? 0 : phase->duration_ns, (*slot)->bytes > 0, (*slot)->ops > 0);
	(*slot)->bytes_per_s = rate.bytes_per_s;
	(*slot)->ops_per_s = rate.ops_per_s;
	latency_replace(&(*slot)->latency_ns, hist);
	return fill_service(phase, op, *slot, hist, err);
}

static enum ls_rc
fill_latency(struct phase_result *phase, struct ls_err *err)
{
	struct hist *hist = ls_malloc(sizeof(*hist));
	enum ls_rc rc = LS_OK;

	for (int op = 0; op < OP_COUNT && rc == LS_OK; op++)
		rc = fill_op(phase, (enum op_kind)op, hist, err);

	int op = only_op(&phase->aggregate.by_op);
	hist_reset(hist);
	if (rc == LS_OK && op >= 0) {
		rc = latency_add_to_hist(&by_op_get(&phase->aggregate.by_op, (enum op_kind)op)->latency_ns, hist, err);
		if (rc == LS_OK)
			phase->aggregate.latency_ns = latency_new(hist);
	}
	free(hist);
	return rc;
}

/* Sums that hold whatever the times were. Of a lost node nothing is known, so that the sums are not known either. */
static void
fill_totals(struct phase_result *phase, bool partial)
{
	struct aggregate *a = &phase->aggregate;
	bool known = true;

	a->bytes = a->ops = 0;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		a->errors = add_total(a->errors, node->errors);
		if ((node->state == NODE_LOST && !partial) || node->bytes == LS_UNKNOWN_U64 ||
		    node->ops == LS_UNKNOWN_U64)
			known = false;
		if (!node_counts(node) && (partial || node->state != NODE_FAILED))
			continue;
		a->bytes = add_total(a->bytes, node->bytes);
		a->ops = add_total(a->ops, node->ops);
	}
	if (!known)
		a->bytes = a->ops = LS_UNKNOWN_U64;
}

static bool
is_page_cache(const struct phase_result *phase)
{
	/* of an external program's phase the kind is the nearest of ours, while its spec is the program's */
	const struct phase *spec = &phase->spec;
	enum op_kind op = phase_kind_info((enum phase_kind)phase->kind)->op;

	if (spec->kind == PHASE_RECOVERY) /* it fsyncs as it goes, and its other steps read */
		return false;
	return (op == OP_WRITE || op == OP_UPDATE) && !phase_is_durable(spec) && spec->engine != ENGINE_NULL;
}

/* Names the nodes that do not count because they failed or were lost, and what that means for the aggregate. */
static void
warn_missing_nodes(struct phase_result *phase, bool partial, uint64_t rest)
{
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->state != NODE_FAILED && node->state != NODE_LOST)
			continue;
		const char *what = node->state == NODE_LOST ? "was lost" : "failed";
		if (partial)
			warnings_add(&phase->warnings, &phase->warnings_count,
			    "node %s %s: the aggregate is over the other %llu nodes", node->node, what,
			    (unsigned long long)rest);
		else
			warnings_add(&phase->warnings, &phase->warnings_count,
			    "node %s %s: there is no aggregate, each other node stands for itself", node->node, what);
	}
}

/* --- as bonnie++ ---------------------------------------------------------------------------------------------------- */

static void
rate_forget(struct rate *rate)
{
	*rate = (struct rate){ (double)NAN, (double)NAN };
}

static void
by_op_forget(struct by_op *by_op)
{
	for (int op = 0; op < OP_COUNT; op++) {
		struct op_result *r = *by_op_slot(by_op, (enum op_kind)op);

		if (r != NULL)
			r->bytes_per_s = r->ops_per_s = (double)NAN;
	}
}

/* bonnie++ tells no rate of what took less than half a second: it prints plus signs. Bytes, operations and times stay. */
static void
forget_too_fast(struct phase_result *phase)
{
	struct aggregate *a = &phase->aggregate;
	struct rate *rates[] = { &a->last_done, &a->all_active, &a->first_done, &a->sum_of_rates };
	bool any = false;

	if ((phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_BONNIE) == 0)
		return;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		struct node_result *node = &phase->nodes[n];

		if (node->ops == 0 || node_span(node) >= AGGREGATE_BONNIE_MIN_NS)
			continue;
		any = true;
		node->bytes_per_s = node->ops_per_s = (double)NAN;
		by_op_forget(&node->by_op);
	}
	if (phase->duration_ns != LS_UNKNOWN_I64 && phase->duration_ns < AGGREGATE_BONNIE_MIN_NS) {
		by_op_forget(&a->by_op);
		for (size_t i = 0; i < ARRAY_LEN(rates); i++)
			rate_forget(rates[i]);
	}
	if (any)
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "rates of what took less than half a second are n/a, as bonnie++ has it (+++++)");
}

static enum ls_rc
aggregate_sums(struct phase_result *phase, const struct job *job, struct ls_err *err)
{
	bool partial = job->on_node_loss == ON_LOSS_CONTINUE;

	field_struct_fini(&aggregate_desc, &phase->aggregate);
	field_struct_init(&aggregate_desc, &phase->aggregate);
	for (size_t n = 0; n < phase->nodes_count; n++)
		node_result_derive(&phase->nodes[n]);

	phase_judge_verification(phase);
	struct span span = span_gather(phase);
	fill_totals(phase, partial);
	phase->aggregate.page_cache = is_page_cache(phase);
	phase->start_skew_ns = LS_UNKNOWN_I64;
	phase->duration_ns = LS_UNKNOWN_I64;
	/* A step of coherence or visibility has nodes that begin later, or not at all, by what it is about. */
	if (span.first0 != LS_UNKNOWN_I64 && phase->kind != PHASE_COHERENCE && phase->kind != PHASE_VISIBILITY)
		phase->start_skew_ns = LS_MAX(span_between(span.first1, span.first0), (int64_t)0);
	if (span.out > 0)
		warn_missing_nodes(phase, partial, span.nodes);
	if (span.out > 0 && !partial)
		return LS_OK;
	/* Steps in which nodes look at what others did are not there for their rates. */
	bool looks = (phase_kind_info((enum phase_kind)phase->kind)->groups & PHASE_CLUSTER) != 0;
	if (span.workers == 0 && looks)
		return LS_OK;
	if (span.workers == 0) {
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "no counted operation on any node: rates and latencies are n/a");
		return LS_OK;
	}

	fill_rates(phase, &span);
	fill_fairness(phase);
	phase_fill_worker_rates(phase, &span);
	if (!looks)
		phase_add_quality_warnings(phase, job, &span);
	enum ls_rc rc = fill_latency(phase, err);
	forget_too_fast(phase);
	return rc;
}

enum ls_rc
phase_result_aggregate(struct phase_result *phase, const struct job *job, struct ls_err *err)
{
	enum ls_rc rc;

	phase_add_up(phase);
	rc = aggregate_sums(phase, job, err);
	phase_keep_apart(phase);
	return rc;
}
