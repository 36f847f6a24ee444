#include "coordinator/daemon/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/run.h"

void
registry_init(struct registry *r, size_t max)
{
	*r = (struct registry){ .max = max };
}

void
registry_fini(struct registry *r)
{
	for (size_t i = 0; i < r->count; i++) {
		field_struct_fini(&node_facts_desc, &r->nodes[i]->facts);
		node_set_hung(r->nodes[i], NULL, (struct ls_mono){ 0 });
		free(r->nodes[i]);
	}
	free(r->nodes);
	*r = (struct registry){ 0 };
}

/* Where name is, or would be put. */
static size_t
position(const struct registry *r, const char *name, bool *found)
{
	size_t low = 0, high = r->count;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(r->nodes[middle]->name, name);

		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct node *
registry_find(const struct registry *r, const char *name)
{
	bool found;
	size_t at = position(r, name, &found);

	return found ? r->nodes[at] : NULL;
}

enum ls_rc
registry_get(struct registry *r, const char *name, struct node **out, struct ls_err *err)
{
	bool found;
	size_t at = position(r, name, &found);

	if (!found) {
		if (r->count >= r->max)
			return ls_err_set(
			    err, LS_E_LIMIT, "no room for node %s: %zu nodes are known (max_nodes)", name, r->count);
		struct node *n = ls_calloc(1, sizeof(*n));

		snprintf(n->name, sizeof(n->name), "%s", name);
		field_struct_init(&node_facts_desc, &n->facts);
		r->nodes = ls_grow(r->nodes, r->count, sizeof(struct node *));
		memmove(&r->nodes[at + 1], &r->nodes[at], (r->count - at) * sizeof(struct node *));
		r->nodes[at] = n;
		r->count++;
	}
	*out = r->nodes[at];
	return LS_OK;
}

bool
node_ready(const struct node *n)
{
	return n->session != NULL && n->facts_known;
}

void
node_set_hung(struct node *n, struct msg_hung *m, struct ls_mono now)
{
	msg_body_fini(MSG_HUNG, &n->hung);
	n->hung = m != NULL ? *m : (struct msg_hung){ 0 };
	n->hung_at = now;
	if (m != NULL)
		*m = (struct msg_hung){ 0 };
}

struct node_row
node_to_row(struct node *n, struct ls_mono now)
{
	struct node_row row;

	field_struct_init(&node_row_desc, &row);
	free(row.name);
	field_struct_fini(&node_facts_desc, &row.facts);
	row.name = (char *)(uintptr_t)n->name;
	row.address = (char *)(uintptr_t)n->address;
	row.connected = n->session != NULL;
	row.silent_ns = LS_MAX(now.ns - n->heard.ns, 0);
	row.run = n->run != NULL ? (char *)(uintptr_t)run_id(n->run) : NULL;
	row.facts = n->facts;
	for (size_t i = 0; i < n->hung.runners_count; i++)
		n->hung.runners[i].since_ns += now.ns - n->hung_at.ns;
	n->hung_at = now;
	row.hung = n->hung.runners;
	row.hung_count = n->hung.runners_count;
	clock_sync_fill(&n->clock, now, &row.clock);
	return row;
}
