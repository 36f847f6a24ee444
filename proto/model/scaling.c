/* Each node alone against all of them together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/aggregate.h"
#include "proto/model/aggregate_int.h"

/* Says who and when, not what the workers do; or is compared by itself. */
static bool
is_about_who(const char *name)
{
	static const char *const names[] = { "name", "nodes", "solo", "pause", "deadline", "caches" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool
same_value(const struct field_desc *field, const struct phase *a, const struct phase *b)
{
	const char *x = (const char *)a + field->offset;
	const char *y = (const char *)b + field->offset;

	switch (field->kind) {
	case FIELD_BOOL:
		return memcmp(x, y, sizeof(bool)) == 0;
	case FIELD_ENUM:
		return memcmp(x, y, sizeof(int)) == 0;
	case FIELD_I64:
	case FIELD_U64:
	case FIELD_SIZE:
	case FIELD_DURATION:
	case FIELD_F64:
		return memcmp(x, y, sizeof(uint64_t)) == 0;
	case FIELD_STR:
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT:
	case FIELD_STRUCT_PTR:
	case FIELD_STRUCT_LIST:
	case FIELD_KIND_COUNT:
		break;
	}
	return true;
}

/* Are they of one kind, and all values but those that such fields have the same? */
static bool
is_same_but(const struct phase *a, const struct phase *b, bool (*ignored)(const char *name))
{
	if (a->kind != b->kind || phase_caches_of(a) != phase_caches_of(b))
		return false;
	for (size_t i = 0; i < phase_desc.field_count; i++) {
		const struct field_desc *field = &phase_desc.fields[i];

		if (!ignored(field->name) && phase_field_applies(field, (enum phase_kind)a->kind) &&
		    !same_value(field, a, b))
			return false;
	}
	return true;
}

bool
phase_same_work(const struct phase *a, const struct phase *b)
{
	return is_same_but(a, b, is_about_who);
}

/* Says on what the workers work. A shared file's size is that of the whole. */
static bool
is_about_where(const char *name)
{
	static const char *const names[] = { "layout", "dirs", "file_size" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return is_about_who(name);
}

bool
phase_same_elsewhere(const struct phase *a, const struct phase *b)
{
	return is_same_but(a, b, is_about_where);
}

/* Nodes at work; the only one of them in *out_only. A phase that is not whole has none. */
static size_t
nodes_at_work(const struct phase_result *phase, const struct node_result **out_only)
{
	size_t count = 0;

	if (phase->state != PHASE_STATE_DONE || phase->imported != NULL)
		return 0;
	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->state == NODE_FAILED || node->state == NODE_LOST)
			return 0;
		if (!node_counts(node))
			continue;
		*out_only = node;
		count++;
	}
	return count;
}

/* Phases of one node alone, by place in the results; NULL for others. */
struct solos {
	const struct node_result **node; /* [phases_count] */
	size_t count;
};

static struct solos
find_solos(const struct results *results)
{
	struct solos s = { .node = ls_calloc(results->phases_count + 1, sizeof(const struct node_result *)) };

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct node_result *only = NULL;

		if (nodes_at_work(&results->phases[p], &only) != 1)
			continue;
		s.node[p] = only;
		s.count++;
	}
	return s;
}

double
phase_rate_in_unit(const struct phase_result *phase, double bytes_per_s, double ops_per_s)
{
	return phase_kind_info((enum phase_kind)phase->kind)->unit == PHASE_BYTES ? bytes_per_s : ops_per_s;
}

const struct node_result *
phase_node_at_work(const struct phase_result *phase, const char *name)
{
	for (size_t n = 0; n < phase->nodes_count; n++)
		if (node_counts(&phase->nodes[n]) && strcmp(phase->nodes[n].node, name) == 0)
			return &phase->nodes[n];
	return NULL;
}

/* Rates alone, added. */
struct sums {
	double own, all_active;
};

static void
add_node(struct scaling *s, struct sums *sums, const struct phase_result *phase, const struct node_result *together,
    const struct phase_result *solo, const struct node_result *alone)
{
	const struct rate *active = &solo->aggregate.all_active;
	struct node_scaling *n;

	for (size_t i = 0; i < s->nodes_count; i++)
		if (strcmp(s->nodes[i].node, alone->node) == 0)
			return;
	s->nodes = ls_grow(s->nodes, s->nodes_count, sizeof(*s->nodes));
	n = &s->nodes[s->nodes_count++];
	field_struct_init(&node_scaling_desc, n);
	free(n->node);
	n->node = ls_strdup(alone->node);
	n->alone = phase_rate_in_unit(phase, alone->bytes_per_s, alone->ops_per_s);
	n->together = phase_rate_in_unit(phase, together->bytes_per_s, together->ops_per_s);
	if (n->alone > 0)
		n->loss = 1 - n->together / n->alone;
	sums->own += n->alone;
	sums->all_active += phase_rate_in_unit(phase, active->bytes_per_s, active->ops_per_s);
}

static double
ratio(double value, double whole)
{
	return whole > 0 ? value / whole : (double)NAN;
}

static void
fill(struct scaling *s, const struct sums *sums, const struct aggregate *a, const struct phase_result *phase,
    size_t nodes)
{
	s->last_done = phase_rate_in_unit(phase, a->last_done.bytes_per_s, a->last_done.ops_per_s);
	s->all_active = phase_rate_in_unit(phase, a->all_active.bytes_per_s, a->all_active.ops_per_s);
	s->alone = sums->own / (double)s->nodes_count;
	if (s->nodes_count < nodes)
		return; /* n X(1) would be a guess */
	s->efficiency = ratio(s->last_done, sums->own);
	s->efficiency_all_active = ratio(s->all_active, sums->all_active);
}

static void
add_scaling(const struct results *results, const struct solos *solos, struct phase_result *phase, size_t nodes)
{
	struct scaling *s = ls_malloc(sizeof(*s));
	struct sums sums = { 0 };

	field_struct_init(&scaling_desc, s);
	for (size_t p = 0; p < results->phases_count; p++) {
		const struct phase_result *solo = &results->phases[p];
		const struct node_result *together;

		if (solos->node[p] == NULL || solo->repetition != phase->repetition ||
		    !phase_same_work(&solo->spec, &phase->spec))
			continue;
		together = phase_node_at_work(phase, solos->node[p]->node);
		if (together != NULL)
			add_node(s, &sums, phase, together, solo, solos->node[p]);
	}
	/* There is no rate of both that could be held against another. */
	if (s->nodes_count > 0 && phase_result_mixes(phase))
		warnings_add(&phase->warnings, &phase->warnings_count,
		    "efficiency is n/a: reads and writes are not added up; each stands by operation, here and where "
		    "each node "
		    "was alone");
	if (s->nodes_count == 0 || phase_result_mixes(phase)) {
		field_struct_fini(&scaling_desc, s);
		free(s);
		return;
	}
	fill(s, &sums, &phase->aggregate, phase, nodes);
	phase->aggregate.scaling = s;
}

static void
drop_scaling(struct aggregate *a)
{
	if (a->scaling == NULL)
		return;
	field_struct_fini(&scaling_desc, a->scaling);
	free(a->scaling);
	a->scaling = NULL;
}

void
results_add_scaling(struct results *results)
{
	struct solos solos = find_solos(results);

	for (size_t p = 0; p < results->phases_count; p++) {
		const struct node_result *any;
		size_t nodes = nodes_at_work(&results->phases[p], &any);

		drop_scaling(&results->phases[p].aggregate);
		if (nodes > 1 && solos.count > 0)
			add_scaling(results, &solos, &results->phases[p], nodes);
	}
	free(solos.node);
}
