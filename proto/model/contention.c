/* What it costs that nodes share a file or a directory: each such phase against the same where each node has its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"
#include "proto/model/aggregate_int.h"

bool
phase_is_shared(const struct phase *phase)
{
	unsigned groups = phase_kind_info((enum phase_kind)phase->kind)->groups;

	if ((groups & PHASE_DATA) != 0)
		return phase->layout >= LAYOUT_SHARED;
	return (groups & PHASE_DIRS) != 0 && phase->dirs == DIRS_SHARED;
}

static double
rate_of(const struct phase_result *phase, const struct rate *rate)
{
	return phase_rate_in_unit(phase, rate->bytes_per_s, rate->ops_per_s);
}

static double
factor_of(double own, double shared)
{
	return shared > 0 && isfinite(own) ? own / shared : (double)NAN;
}

/* Whole, and of the same nodes? Then rates of the two say something about each other. */
static bool
has_same_nodes(const struct phase_result *a, const struct phase_result *b)
{
	size_t of_a = 0, of_b = 0;

	for (size_t n = 0; n < a->nodes_count; n++) {
		if (!node_counts(&a->nodes[n]))
			continue;
		of_a++;
		if (phase_node_at_work(b, a->nodes[n].node) == NULL)
			return false;
	}
	for (size_t n = 0; n < b->nodes_count; n++)
		of_b += node_counts(&b->nodes[n]);
	return of_a > 0 && of_a == of_b;
}

static bool
is_whole(const struct phase_result *phase)
{
	return phase->state == PHASE_STATE_DONE && phase->imported == NULL;
}

/* The same phase where each has its own; of several the last before this one, else the first behind it. */
static const struct phase_result *
find_own(const struct results *results, const struct phase_result *shared)
{
	const struct phase_result *found = NULL;

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *own = &results->phases[p];

		if (own > shared && found != NULL)
			break;
		if (is_whole(own) && own->repetition == shared->repetition && !phase_is_shared(&own->spec) &&
		    phase_same_elsewhere(&own->spec, &shared->spec) && has_same_nodes(own, shared))
			found = own;
	}
	return found;
}

static void
add_node(struct contention *c, const struct phase_result *phase, const struct node_result *own,
    const struct node_result *shared)
{
	struct node_contention *n = &c->nodes[c->nodes_count++];

	field_struct_init(&node_contention_desc, n);
	free(n->node);
	n->node = ls_strdup(shared->node);
	n->own = phase_rate_in_unit(phase, own->bytes_per_s, own->ops_per_s);
	n->shared = phase_rate_in_unit(phase, shared->bytes_per_s, shared->ops_per_s);
	n->factor = factor_of(n->own, n->shared);
}

static struct contention *
make(const struct phase_result *own, const struct phase_result *shared)
{
	struct contention *c = ls_malloc(sizeof(*c));

	field_struct_init(&contention_desc, c);
	free(c->against);
	c->against = ls_strdup(own->name);
	c->own = rate_of(own, &own->aggregate.last_done);
	c->shared = rate_of(shared, &shared->aggregate.last_done);
	c->factor = factor_of(c->own, c->shared);
	c->factor_all_active =
	    factor_of(rate_of(own, &own->aggregate.all_active), rate_of(shared, &shared->aggregate.all_active));
	c->nodes = ls_calloc(shared->nodes_count + 1, sizeof(*c->nodes));
	for (size_t n = 0; n < shared->nodes_count; n++)
		if (node_counts(&shared->nodes[n]))
			add_node(c, shared, phase_node_at_work(own, shared->nodes[n].node), &shared->nodes[n]);
	return c;
}

static void
drop(struct aggregate *a)
{
	if (a->contention == NULL)
		return;
	field_struct_fini(&contention_desc, a->contention);
	free(a->contention);
	a->contention = NULL;
}

void
results_add_contention(struct results *results)
{
	for (size_t p = 0; p < results->phases_count; p++) {
		struct phase_result *shared = &results->phases[p];
		const struct phase_result *own;

		drop(&shared->aggregate);
		if (!is_whole(shared) || !phase_is_shared(&shared->spec))
			continue;
		own = find_own(results, shared);
		if (own != NULL)
			shared->aggregate.contention = make(own, shared);
	}
}
