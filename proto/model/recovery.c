/* How the nodes that are left got over the loss of others: from what they told of themselves, and from their work over time. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"
#include "proto/model/cluster.h"

#define WRITTEN     0 /* places in cluster_node.numbers */
#define FSYNCED     1
#define FIRST_STALL 2
#define BEFORE_NS   NS_PER_S          /* what a rate before the loss is taken over at least */
#define LOOK_NS     (100 * NS_PER_MS) /* the window of the rate after it moves by so much */

static const struct run_node *
run_node_of(const struct results *results, const char *name)
{
	for (size_t i = 0; i < results->nodes_count; i++)
		if (strcmp(results->nodes[i].name, name) == 0)
			return &results->nodes[i];
	return NULL;
}

/* Its loss in this phase, or NULL. */
static const struct node_loss *
loss_of(const struct run_node *node, const struct phase_result *phase)
{
	const struct node_loss *loss = node != NULL ? node->loss : NULL;

	return loss != NULL && loss->phase == phase->index && loss->repetition == phase->repetition ? loss : NULL;
}

static bool
is_left(const struct node_result *node)
{
	return node->state == NODE_DONE && node->cluster != NULL && node->cluster->numbers_count >= FIRST_STALL;
}

/* --- stalls ------------------------------------------------------------------------------------------------------ */

/* The longest stall that ended behind the loss (of all, where there is none): its start and length. False: there is none. */
static bool
longest_stall(const struct node_result *node, int64_t loss_ns, int64_t *start_ns, int64_t *length_ns)
{
	const struct cluster_node *c = node->cluster;
	bool found = false;

	for (size_t i = FIRST_STALL; i + 1 < c->numbers_count; i += 2) {
		int64_t start = c->numbers[i], length = c->numbers[i + 1];

		if (loss_ns != LS_UNKNOWN_I64 && start + length <= loss_ns)
			continue;
		if (found && length <= *length_ns)
			continue;
		*start_ns = start;
		*length_ns = length;
		found = true;
	}
	return found;
}

/* --- rates ------------------------------------------------------------------------------------------------------- */

/* What those that are left had done together, each LOOK_NS from the phase's planned start. */
struct work {
	double *until;
	size_t count;
};

/* Adds one node's series; a step of it is taken as even. */
static void
add_work(struct work *work, const struct series *s)
{
	double whole = 0;
	size_t i = 0;

	for (size_t k = 0; k < work->count && s->interval_ns > 0; k++) {
		int64_t t = (int64_t)k * LOOK_NS;

		for (; i < s->bytes_count && (int64_t)(i + 1) * s->interval_ns <= t; i++)
			whole += (double)s->bytes[i];
		work->until[k] += whole;
		if (i < s->bytes_count)
			work->until[k] +=
			    (double)s->bytes[i] * (double)(t - (int64_t)i * s->interval_ns) / (double)s->interval_ns;
	}
}

static struct work
work_of(const struct phase_result *phase, int64_t end_ns)
{
	struct work work = { .count = (size_t)(LS_MAX(end_ns, (int64_t)0) / LOOK_NS) + 1 };

	work.until = ls_calloc(work.count, sizeof(*work.until));
	for (size_t n = 0; n < phase->nodes_count; n++)
		if (is_left(&phase->nodes[n]))
			add_work(&work, &phase->nodes[n].series);
	return work;
}

/* Bytes per second from one such instant to another, which is later. */
static double
rate_between(const struct work *work, size_t from, size_t to)
{
	return (work->until[to] - work->until[from]) * (double)NS_PER_S / (double)((int64_t)(to - from) * LOOK_NS);
}

/* When the last of the stalls that count ended, the loss itself at the least; and when the first of those that are left ended. */
static void
look_at_survivors(const struct phase_result *phase, int64_t loss_ns, int64_t *clear_ns, int64_t *end_ns)
{
	*clear_ns = loss_ns;
	*end_ns = INT64_MAX;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (!is_left(node))
			continue;
		if (node->end_ns != LS_UNKNOWN_I64)
			*end_ns = LS_MIN(*end_ns, node->end_ns);
		for (size_t i = FIRST_STALL; i + 1 < node->cluster->numbers_count; i += 2)
			if (node->cluster->numbers[i + 1] >= RECOVERY_STALL_NS)
				*clear_ns =
				    LS_MAX(*clear_ns, node->cluster->numbers[i] + node->cluster->numbers[i + 1]);
	}
}

static const char *
find_full_rate(const struct phase_result *phase, struct recovery *r)
{
	int64_t clear_ns, end_ns;

	if (r->lost == 0)
		return "no node was lost";
	if (r->loss_ns == LS_UNKNOWN_I64)
		return "it is not known when in the phase the loss was";
	if (r->loss_ns < BEFORE_NS)
		return "the loss came before a second was over: there is no rate to compare with";
	look_at_survivors(phase, r->loss_ns, &clear_ns, &end_ns);
	if (end_ns == INT64_MAX || end_ns < r->loss_ns)
		return "no node that is left told of work after the loss";

	struct work work = work_of(phase, end_ns);
	size_t window = RECOVERY_WINDOW_NS / LOOK_NS;
	size_t first = (size_t)((clear_ns + LOOK_NS - 1) / LOOK_NS);

	r->rate_before = rate_between(&work, 0, (size_t)(r->loss_ns / LOOK_NS));
	for (size_t k = first; k + window < work.count && r->full_rate_after_ns == LS_UNKNOWN_I64; k++)
		if (rate_between(&work, k, k + window) >= RECOVERY_FULL * r->rate_before)
			r->full_rate_after_ns = (int64_t)k * LOOK_NS - r->loss_ns;
	free(work.until);
	r->full_rate_after_ns =
	    r->full_rate_after_ns == LS_UNKNOWN_I64 ? LS_UNKNOWN_I64 : LS_MAX(r->full_rate_after_ns, (int64_t)0);
	return r->full_rate_after_ns == LS_UNKNOWN_I64 ? "not before the phase ended" : NULL;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static void
fill_lost(const struct run_node *from, const struct node_loss *loss, struct recovery_node *to)
{
	to->lost = true;
	to->fsynced = from->fsynced;
	to->lost_at_ns = loss->at_ns;
	to->noticed_after_ns = loss->noticed_after_ns;
	to->returned = loss->returned;
	to->back_after_ns = loss->back_after_ns;
}

static void
fill_left(const struct node_result *from, int64_t loss_ns, struct recovery_node *to)
{
	if (!is_left(from))
		return;
	to->written = (uint64_t)LS_MAX(from->cluster->numbers[WRITTEN], (int64_t)0);
	to->fsynced = (uint64_t)LS_MAX(from->cluster->numbers[FSYNCED], (int64_t)0);
	(void)longest_stall(from, loss_ns, &to->stall_start_ns, &to->stall_ns);
}

static void
find_losses(const struct results *results, const struct phase_result *phase, struct recovery *r)
{
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_loss *loss = loss_of(run_node_of(results, phase->nodes[n].node), phase);

		if (loss == NULL)
			continue;
		r->lost++;
		if (loss->at_ns != LS_UNKNOWN_I64 && (r->loss_ns == LS_UNKNOWN_I64 || loss->at_ns < r->loss_ns))
			r->loss_ns = loss->at_ns;
	}
}

void
recovery_judge(const struct results *results, struct phase_result *phase)
{
	struct recovery *r = ls_malloc(sizeof(*r));

	field_struct_init(&recovery_desc, r);
	r->expected = phase->spec.expect_loss;
	find_losses(results, phase, r);
	r->nodes = ls_calloc(phase->nodes_count + 1, sizeof(*r->nodes));
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct run_node *known = run_node_of(results, phase->nodes[n].node);
		const struct node_loss *loss = loss_of(known, phase);
		struct recovery_node *node = &r->nodes[r->nodes_count];

		/* Lost to the run before, or none of the phase. */
		if (loss == NULL && (phase->nodes[n].state == NODE_LOST || phase->nodes[n].state == NODE_IDLE))
			continue;
		r->nodes_count++;
		field_struct_init(&recovery_node_desc, node);
		free(node->node);
		node->node = ls_strdup(phase->nodes[n].node);
		if (loss != NULL)
			fill_lost(known, loss, node);
		else
			fill_left(&phase->nodes[n], r->loss_ns, node);
	}
	r->why_not = ls_strdup(find_full_rate(phase, r));
	if (phase->recovery != NULL)
		field_struct_fini(&recovery_desc, phase->recovery);
	free(phase->recovery);
	phase->recovery = r;
}
