#include "coordinator/report/text_int.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

/* The device of one node; machine and device are "" where they are not known. */
struct seen {
	const char *machine;
	const char *device;
	uint64_t read_bytes, write_bytes;
};

/* The facts of the n-th node of a phase. Both lists are nearly always in the same order. */
static const struct run_node *
find_node(const struct results *results, size_t n, const char *name)
{
	if (n < results->nodes_count && strcmp(results->nodes[n].name, name) == 0)
		return &results->nodes[n];
	for (size_t i = 0; i < results->nodes_count; i++)
		if (strcmp(results->nodes[i].name, name) == 0)
			return &results->nodes[i];
	return NULL;
}

static struct seen
seen_of(const struct results *results, const struct phase_result *phase, size_t n)
{
	const struct node_result *node = &phase->nodes[n];
	const struct run_node *facts = find_node(results, n, node->node);
	struct seen s = { "", "", node->device->read_bytes, node->device->write_bytes };

	if (facts == NULL || facts->facts.volume == NULL || facts->facts.boot_id == NULL ||
	    facts->facts.volume->device == NULL)
		return s;
	s.machine = facts->facts.boot_id;
	s.device = facts->facts.volume->device;
	return s;
}

static int
compare_seen(const void *a, const void *b)
{
	const struct seen *x = a;
	const struct seen *y = b;
	int c = strcmp(x->machine, y->machine);

	return c != 0 ? c : strcmp(x->device, y->device);
}

static void
sum_devices(struct text_totals *t, struct seen *seen, size_t count)
{
	if (count > 0)
		qsort(seen, count, sizeof(*seen), compare_seen);
	for (size_t i = 0; i < count; i++) {
		struct seen *next = i + 1 < count ? &seen[i + 1] : NULL;

		if (next != NULL && seen[i].machine[0] != '\0' && compare_seen(&seen[i], next) == 0) {
			next->read_bytes = LS_MAX(next->read_bytes, seen[i].read_bytes);
			next->write_bytes = LS_MAX(next->write_bytes, seen[i].write_bytes);
			continue;
		}
		t->has_device = true;
		t->device.read_bytes += seen[i].read_bytes;
		t->device.write_bytes += seen[i].write_bytes;
	}
}

static void
add_known(int64_t *sum, int64_t value)
{
	if (value == LS_UNKNOWN_I64 || *sum == LS_UNKNOWN_I64)
		*sum = LS_UNKNOWN_I64;
	else
		*sum += value;
}

struct text_totals
text_totals_of(const struct results *results, const struct phase_result *phase)
{
	struct text_totals t = { 0 };
	struct seen *seen = ls_calloc(phase->nodes_count + 1, sizeof(*seen));
	size_t count = 0;

	for (size_t n = 0; n < phase->nodes_count; n++) {
		const struct node_result *node = &phase->nodes[n];

		if (node->device != NULL)
			seen[count++] = seen_of(results, phase, n);
		if (node->state == NODE_IDLE || node->state == NODE_LOST)
			continue;
		add_known(&t.cpu.user_ns, node->cpu.user_ns);
		add_known(&t.cpu.system_ns, node->cpu.system_ns);
		if (node->agent.cpu_ns != LS_UNKNOWN_I64)
			t.agent_cpu_ns += node->agent.cpu_ns;
		if (node->agent.net_bytes != LS_UNKNOWN_U64)
			t.agent_net_bytes += node->agent.net_bytes;
	}
	sum_devices(&t, seen, count);
	free(seen);
	return t;
}
