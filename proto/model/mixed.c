/*
 * Phases that mix reads and writes: the one place that keeps them apart. Sums of both are made while a phase is aggregated, for what is a
 * share or a time (overlap, fairness, the gates), and forgotten before anybody sees them.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/sat.h"
#include "proto/model/aggregate.h"
#include "proto/model/aggregate_int.h"

static bool
may_mix(const struct phase_result *phase)
{
	return phase->kind == PHASE_MIXED && phase->imported == NULL;
}

static unsigned
ops_in(const struct by_op *by_op)
{
	unsigned mask = 0;

	for (int op = 0; op < OP_COUNT; op++)
		if (by_op_get(by_op, (enum op_kind)op) != NULL)
			mask |= 1U << op;
	return mask;
}

bool
phase_result_mixes(const struct phase_result *phase)
{
	unsigned mask;

	if (!may_mix(phase))
		return false;
	mask = ops_in(&phase->aggregate.by_op);
	for (size_t n = 0; n < phase->nodes_count && (mask & (mask - 1)) == 0; n++)
		mask |= ops_in(&phase->nodes[n].by_op);
	return (mask & (mask - 1)) != 0;
}

/* --- sums, for a while ------------------------------------------------------------------------------------------------ */

void
node_result_work(const struct node_result *node, uint64_t *out_bytes, uint64_t *out_ops)
{
	*out_bytes = node->bytes;
	*out_ops = node->ops;
	if (node->bytes != LS_UNKNOWN_U64 || node->ops != LS_UNKNOWN_U64)
		return;
	for (int op = 0; op < OP_COUNT; op++) {
		const struct op_result *r = by_op_get(&node->by_op, (enum op_kind)op);

		if (r == NULL)
			continue;
		*out_bytes = sat_add(*out_bytes == LS_UNKNOWN_U64 ? 0 : *out_bytes, r->bytes);
		*out_ops = sat_add(*out_ops == LS_UNKNOWN_U64 ? 0 : *out_ops, r->ops);
	}
}

void
worker_result_work(const struct worker_result *w, uint64_t *out_bytes, uint64_t *out_ops)
{
	*out_bytes = w->bytes;
	*out_ops = w->ops;
	if (w->bytes != LS_UNKNOWN_U64 || w->ops != LS_UNKNOWN_U64)
		return;
	*out_bytes = sat_add(w->read != NULL ? w->read->bytes : 0, w->write != NULL ? w->write->bytes : 0);
	*out_ops = sat_add(w->read != NULL ? w->read->ops : 0, w->write != NULL ? w->write->ops : 0);
}

static bool
is_usable(const struct series *s)
{
	return s != NULL && s->interval_ns > 0 && s->ops_count <= RESULTS_SERIES_MAX &&
	    s->bytes_count <= RESULTS_SERIES_MAX;
}

/* Sums of cells by the coarser interval. */
static int64_t *
add_cells(const int64_t *from, size_t count, int64_t factor, int64_t *cells, size_t *used)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = i / (size_t)factor;

		if (__builtin_add_overflow(cells[at], from[i], &cells[at]))
			cells[at] = INT64_MAX;
		*used = LS_MAX(*used, at + 1);
	}
	return cells;
}

static void
forget_series(struct series *s)
{
	free(s->bytes);
	free(s->ops);
	s->bytes = s->ops = NULL;
	s->bytes_count = s->ops_count = 0;
}

/* The series of both, where each has its own. */
static void
add_up_series(struct node_result *node)
{
	const struct op_result *read = node->by_op.read, *write = node->by_op.write;
	const struct series *parts[] = { read != NULL ? read->series : NULL, write != NULL ? write->series : NULL };
	struct series *sum = &node->series;
	int64_t coarse;

	if (sum->ops_count > 0 || !is_usable(parts[0]) || !is_usable(parts[1]))
		return;
	coarse = LS_MAX(parts[0]->interval_ns, parts[1]->interval_ns);
	if (coarse % parts[0]->interval_ns != 0 || coarse % parts[1]->interval_ns != 0)
		return;
	forget_series(sum);
	sum->interval_ns = coarse;
	sum->bytes = ls_calloc(RESULTS_SERIES_MAX, sizeof(*sum->bytes));
	sum->ops = ls_calloc(RESULTS_SERIES_MAX, sizeof(*sum->ops));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		int64_t factor = coarse / parts[i]->interval_ns;

		add_cells(parts[i]->bytes, parts[i]->bytes_count, factor, sum->bytes, &sum->bytes_count);
		add_cells(parts[i]->ops, parts[i]->ops_count, factor, sum->ops, &sum->ops_count);
	}
}

void
phase_add_up(struct phase_result *phase)
{
	if (!may_mix(phase))
		return;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		struct node_result *node = &phase->nodes[n];

		node_result_work(node, &node->bytes, &node->ops);
		add_up_series(node);
		for (size_t i = 0; i < node->workers_count; i++) {
			struct worker_result *w = &node->workers[i];

			worker_result_work(w, &w->bytes, &w->ops);
		}
	}
}

/* --- and apart ------------------------------------------------------------------------------------------------------------ */

static void
forget_worker_rates(struct worker_rates **rates)
{
	free(*rates);
	*rates = NULL;
}

static void
forget_node(struct node_result *node)
{
	node->bytes = node->ops = LS_UNKNOWN_U64;
	node->bytes_per_s = node->ops_per_s = (double)NAN;
	forget_series(&node->series);
	for (size_t i = 0; i < node->workers_count; i++) {
		struct worker_result *w = &node->workers[i];

		w->bytes = w->ops = LS_UNKNOWN_U64;
		if (w->series == NULL)
			continue;
		field_struct_fini(&worker_series_desc, w->series);
		free(w->series);
		w->series = NULL;
	}
}

void
phase_keep_apart(struct phase_result *phase)
{
	struct aggregate *a = &phase->aggregate;
	struct rate *rates[] = { &a->last_done, &a->all_active, &a->first_done, &a->sum_of_rates };

	if (!phase_result_mixes(phase))
		return;
	for (size_t i = 0; i < ARRAY_LEN(rates); i++)
		*rates[i] = (struct rate){ (double)NAN, (double)NAN };
	a->bytes = a->ops = LS_UNKNOWN_U64;
	forget_worker_rates(&a->to_end);
	forget_worker_rates(&a->stonewalled);
	for (size_t n = 0; n < phase->nodes_count; n++)
		forget_node(&phase->nodes[n]);
}
