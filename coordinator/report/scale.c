#include "coordinator/report/scale_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/report/rows_int.h"

/* A mean that does not know until the first value comes. */
static void
add_to_mean(double *mean, size_t *count, double value)
{
	if (!isfinite(value))
		return;
	*mean = *count == 0 ? value : (*mean * (double)*count + value) / (double)(*count + 1);
	(*count)++;
}

static struct scale_node *
node_of(struct scale_table *t, const char *name, size_t at)
{
	/* repetitions have their nodes in the same order, unless one was lost */
	if (at < t->nodes_count && strcmp(t->nodes[at].name, name) == 0)
		return &t->nodes[at];
	for (size_t i = 0; i < t->nodes_count; i++)
		if (strcmp(t->nodes[i].name, name) == 0)
			return &t->nodes[i];
	t->nodes = ls_grow(t->nodes, t->nodes_count, sizeof(*t->nodes));
	t->nodes[t->nodes_count] = (struct scale_node){ .name = name, .alone = (double)NAN, .together = (double)NAN };
	return &t->nodes[t->nodes_count++];
}

static void
add_node(struct scale_table *t, const struct node_scaling *from, size_t at, double unit)
{
	struct scale_node *n = node_of(t, from->node, at);
	size_t count = n->count;

	if (!isfinite(from->alone) || !isfinite(from->together))
		return;
	add_to_mean(&n->alone, &count, from->alone / unit);
	add_to_mean(&n->together, &n->count, from->together / unit);
}

/* Of n X(1) what X(n) is; means of the rates, not of the ratios. */
static void
add_repetition(struct scale_table *t, const struct phase_result *phase)
{
	const struct scaling *s = phase->aggregate.scaling;
	double unit = report_in_bytes(phase) ? units_mega() : 1;
	const double from[] = { s->alone / unit, s->last_done / unit, s->all_active / unit, s->efficiency,
		s->efficiency_all_active };
	double *to[] = { &t->alone, &t->last_done, &t->all_active, &t->efficiency, &t->efficiency_all_active };

	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		size_t count = t->repetitions;

		if (count > 0 && !isfinite(from[i]))
			continue;
		add_to_mean(to[i], &count, from[i]);
	}
	t->repetitions++;
	for (size_t n = 0; n < s->nodes_count; n++)
		add_node(t, &s->nodes[n], n, unit);
}

static int
by_loss(const void *a, const void *b)
{
	const struct scale_node *x = a, *y = b;
	double p = isfinite(x->loss) ? x->loss : -(double)INFINITY;
	double q = isfinite(y->loss) ? y->loss : -(double)INFINITY;

	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void
finish(struct scale_table *t)
{
	for (size_t n = 0; n < t->nodes_count; n++) {
		struct scale_node *node = &t->nodes[n];

		node->loss = node->alone > 0 ? 1 - node->together / node->alone : (double)NAN;
	}
	if (t->nodes_count > 0)
		qsort(t->nodes, t->nodes_count, sizeof(*t->nodes), by_loss);
}

static struct scale_table *
table_of(struct scale_tables *tables, const struct phase_result *phase)
{
	for (size_t i = 0; i < tables->count; i++)
		if (tables->items[i].phase->index == phase->index)
			return &tables->items[i];
	tables->items = ls_grow(tables->items, tables->count, sizeof(*tables->items));
	tables->items[tables->count] = (struct scale_table){
		.phase = phase,
		.unit = report_in_bytes(phase) ? units_mega_rate() : "op/s",
		.alone = (double)NAN,
		.last_done = (double)NAN,
		.efficiency = (double)NAN,
		.all_active = (double)NAN,
		.efficiency_all_active = (double)NAN,
	};
	return &tables->items[tables->count++];
}

struct scale_tables
scale_tables_of(const struct results *results)
{
	struct scale_tables tables = { 0 };

	for (size_t p = 0; p < results->phases_count; p++)
		if (results->phases[p].aggregate.scaling != NULL)
			add_repetition(table_of(&tables, &results->phases[p]), &results->phases[p]);
	for (size_t i = 0; i < tables.count; i++)
		finish(&tables.items[i]);
	return tables;
}

void
scale_tables_free(struct scale_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		free(tables->items[i].nodes);
	free(tables->items);
	*tables = (struct scale_tables){ 0 };
}
