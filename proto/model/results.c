#include "proto/model/results.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

const char *const run_state_names[RUN_STATE_COUNT + 1] = {
	[RUN_QUEUED] = "queued",
	[RUN_PREPARING] = "preparing",
	[RUN_ARMING] = "arming",
	[RUN_SETTING] = "setting",
	[RUN_RUNNING] = "running",
	[RUN_COLLECTING] = "collecting",
	[RUN_FINISHING] = "finishing",
	[RUN_FINISHED] = "finished",
	[RUN_FAILED] = "failed",
	[RUN_ABORTED] = "aborted",
	[RUN_REFUSED] = "refused",
};

const char *const phase_state_names[PHASE_STATE_COUNT + 1] = {
	[PHASE_STATE_DONE] = "done",
	[PHASE_STATE_FAILED] = "failed",
	[PHASE_STATE_INTERRUPTED] = "interrupted",
	[PHASE_STATE_ABORTED] = "aborted",
	[PHASE_STATE_MISMATCH] = "mismatch",
};

const char *const mismatch_cause_names[] = {
	[MISMATCH_DAMAGED] = "damaged",
	[MISMATCH_MISPLACED] = "misplaced",
	[MISMATCH_STALE] = "stale",
	[MISMATCH_FOREIGN] = "foreign",
	[MISMATCH_BLANK] = "blank",
	NULL,
};

const char *const promise_outcome_names[] = {
	[OUTCOME_HELD] = "held",
	[OUTCOME_VIOLATED] = "violated",
	[OUTCOME_NOT_PROMISED] = "not-promised",
	[OUTCOME_UNTESTED] = "untested",
	[OUTCOME_PREPARED] = "prepared",
	NULL,
};

const char *const node_state_names[NODE_STATE_COUNT + 1] = {
	[NODE_DONE] = "done",
	[NODE_FAILED] = "failed",
	[NODE_LOST] = "lost",
	[NODE_IDLE] = "idle",
};

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "proto/model/results.def"
#include "common/base/field_undef.h"
/* clang-format on */

bool
run_state_is_end(enum run_state state)
{
	return state == RUN_FINISHED || state == RUN_FAILED || state == RUN_ABORTED || state == RUN_REFUSED;
}

struct op_result **
by_op_slot(struct by_op *by_op, enum op_kind op)
{
	switch (op) {
#define OP(ID, id)                                                                                                     \
	case OP_##ID:                                                                                                  \
		return &by_op->id;
#include "proto/model/ops.def"
#undef OP
	case OP_COUNT:
		break;
	}
	return NULL;
}

const struct op_result *
by_op_get(const struct by_op *by_op, enum op_kind op)
{
	switch (op) {
#define OP(ID, id)                                                                                                     \
	case OP_##ID:                                                                                                  \
		return by_op->id;
#include "proto/model/ops.def"
#undef OP
	case OP_COUNT:
		break;
	}
	return NULL;
}

/* JSON integers end at 2^63-1; nothing here is counted that far, but a sum of times could be. */
static int64_t
to_i64(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void
latency_set_buckets(const struct hist *hist, struct histogram *out)
{
	size_t used = 0;

	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		used += atomic_load_explicit(&hist->buckets[i], memory_order_relaxed) != 0;

	free(out->buckets);
	out->buckets = used > 0 ? ls_calloc(used, 2 * sizeof(*out->buckets)) : NULL;
	out->buckets_count = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS && out->buckets_count < used; i++) {
		uint64_t n = atomic_load_explicit(&hist->buckets[i], memory_order_relaxed);

		if (n == 0)
			continue;
		out->buckets[2 * out->buckets_count] = i;
		out->buckets[2 * out->buckets_count + 1] = n;
		out->buckets_count++;
	}

	if (out->scheme == NULL || strcmp(out->scheme, HIST_SCHEME) != 0) {
		free(out->scheme);
		out->scheme = ls_strdup(HIST_SCHEME);
	}
}

void
latency_from_hist(const struct hist *hist, struct latency *out)
{
	bool empty;

	out->count = atomic_load_explicit(&hist->count, memory_order_relaxed);
	out->sum = (uint64_t)to_i64(atomic_load_explicit(&hist->sum, memory_order_relaxed));
	empty = out->count == 0;

	out->min = empty ? LS_UNKNOWN_I64 : to_i64(atomic_load_explicit(&hist->min, memory_order_relaxed));
	out->max = empty ? LS_UNKNOWN_I64 : to_i64(atomic_load_explicit(&hist->max, memory_order_relaxed));
	out->mean = empty ? (double)NAN : hist_mean(hist);
	out->p50 = empty ? LS_UNKNOWN_I64 : to_i64(hist_percentile(hist, 0.5));
	out->p90 = empty ? LS_UNKNOWN_I64 : to_i64(hist_percentile(hist, 0.9));
	out->p99 = empty ? LS_UNKNOWN_I64 : to_i64(hist_percentile(hist, 0.99));
	out->p99_9 = empty ? LS_UNKNOWN_I64 : to_i64(hist_percentile(hist, 0.999));
	out->p99_99 = empty ? LS_UNKNOWN_I64 : to_i64(hist_percentile(hist, 0.9999));
	latency_set_buckets(hist, &out->histogram);
}

/* What came from a document or a peer must be a histogram of ours, and agree with itself. */
static enum ls_rc
latency_check(const struct latency *latency, struct ls_err *err)
{
	const struct histogram *h = &latency->histogram;
	uint64_t total = 0;

	if (h->scheme == NULL || strcmp(h->scheme, HIST_SCHEME) != 0)
		return ls_err_set(err, LS_E_INVALID, "histogram.scheme: \"%s\" is not known here, only \"%s\"",
		    h->scheme != NULL ? h->scheme : "", HIST_SCHEME);
	for (size_t i = 0; i < h->buckets_count; i++) {
		if (h->buckets[2 * i] >= HIST_BUCKETS)
			return ls_err_set(err, LS_E_INVALID, "histogram.buckets[%zu]: index %llu is not below %u", i,
			    (unsigned long long)h->buckets[2 * i], (unsigned)HIST_BUCKETS);
		if (__builtin_add_overflow(total, h->buckets[2 * i + 1], &total))
			return ls_err_set(err, LS_E_INVALID, "histogram.buckets: the counts are too large to add");
	}
	if (total != latency->count)
		return ls_err_set(err, LS_E_INVALID, "histogram.buckets: the counts add to %llu, count says %llu",
		    (unsigned long long)total, (unsigned long long)latency->count);
	return LS_OK;
}

/* Where min or max is not told (imports), the bounds of the outermost buckets stand in for them. */
static void
latency_bounds(const struct latency *latency, uint64_t *min, uint64_t *max)
{
	const struct histogram *h = &latency->histogram;

	*min = UINT64_MAX;
	*max = 0;
	for (size_t i = 0; i < h->buckets_count; i++) {
		uint32_t index = (uint32_t)h->buckets[2 * i];
		uint64_t start = hist_bucket_start(index);

		if (h->buckets[2 * i + 1] == 0)
			continue;
		*min = LS_MIN(*min, start);
		*max = LS_MAX(*max, start + hist_bucket_width(index) - 1);
	}
	if (latency->min != LS_UNKNOWN_I64)
		*min = (uint64_t)latency->min;
	if (latency->max != LS_UNKNOWN_I64)
		*max = (uint64_t)latency->max;
}

enum ls_rc
latency_add_to_hist(const struct latency *latency, struct hist *hist, struct ls_err *err)
{
	const struct histogram *h = &latency->histogram;
	enum ls_rc rc = latency_check(latency, err);
	uint64_t min, max;

	if (rc != LS_OK)
		return rc;
	if (latency->count == 0)
		return LS_OK;

	for (size_t i = 0; i < h->buckets_count; i++)
		hist_add_bucket(hist, (uint32_t)h->buckets[2 * i], h->buckets[2 * i + 1]);
	hist_bump(&hist->sum, latency->sum);
	latency_bounds(latency, &min, &max);
	if (min < atomic_load_explicit(&hist->min, memory_order_relaxed))
		atomic_store_explicit(&hist->min, min, memory_order_relaxed);
	if (max > atomic_load_explicit(&hist->max, memory_order_relaxed))
		atomic_store_explicit(&hist->max, max, memory_order_relaxed);
	return LS_OK;
}

void
warnings_add(char ***list, size_t *count, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || *count >= RESULTS_WARNINGS_MAX)
		return;
	text = ls_malloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);

	for (size_t i = 0; i < *count; i++) {
		if (strcmp((*list)[i], text) == 0) {
			free(text);
			return;
		}
	}
	if (*count == RESULTS_WARNINGS_MAX - 1) {
		free(text);
		text = ls_strdup("there are more warnings than are kept");
	}
	*list = ls_grow(*list, *count, sizeof(**list));
	(*list)[(*count)++] = text;
}

static void
drop_buckets(struct latency *l)
{
	if (l == NULL)
		return;
	free(l->histogram.buckets);
	l->histogram.buckets = NULL;
	l->histogram.buckets_count = 0;
}

static void
drop_op_buckets(struct by_op *ops)
{
	for (int op = 0; op < OP_COUNT; op++) {
		struct op_result *r = *by_op_slot(ops, (enum op_kind)op);

		if (r != NULL)
			drop_buckets(&r->latency_ns);
		if (r != NULL)
			drop_buckets(r->service_ns);
	}
}

static void
drop_of_node(struct node_result *n)
{
	drop_buckets(n->latency_ns);
	drop_op_buckets(&n->by_op);
	field_struct_fini(&series_desc, &n->series);
	for (size_t w = 0; w < n->workers_count; w++)
		field_struct_fini(&worker_result_desc, &n->workers[w]);
	free(n->workers);
	n->workers = NULL;
	n->workers_count = 0;
}

void
results_drop_bulk(struct results *results)
{
	for (size_t p = 0; p < results->phases_count; p++) {
		struct phase_result *phase = &results->phases[p];

		drop_buckets(phase->aggregate.latency_ns);
		drop_op_buckets(&phase->aggregate.by_op);
		for (size_t n = 0; n < phase->nodes_count; n++)
			drop_of_node(&phase->nodes[n]);
	}
}
