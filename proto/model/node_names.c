/* What nodes tell of each other, in which they are numbers, becomes what people are told. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/results.h"

/* {2} is the run's second node. Once named, nothing is left to be done. */
static void
name_nodes(const struct results *results, char **text)
{
	for (char *at = strchr(*text, '{'); at != NULL; at = strchr(at + 1, '{')) {
		char *end;
		unsigned long number = strtoul(at + 1, &end, 10);

		if (end == at + 1 || *end != '}' || number == 0 || number > results->nodes_count)
			continue;

		const char *name = results->nodes[number - 1].name;
		*at = '\0';
		size_t done = strlen(*text) + strlen(name);
		char *named = ls_asprintf("%s%s%s", *text, name, end + 1);
		free(*text);
		*text = named;
		at = named + LS_MAX(done, (size_t)1) - 1;
	}
}

static void
name_in_list(const struct results *results, char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		name_nodes(results, &list[i]);
}

void
results_name_nodes(struct results *results)
{
	for (size_t p = 0; p < results->phases_count; p++) {
		struct phase_result *phase = &results->phases[p];

		if (phase->imported != NULL)
			continue;
		bool tells = false;
		for (size_t n = 0; n < phase->nodes_count; n++) {
			struct cluster_node *c = phase->nodes[n].cluster;
			struct verification *v = phase->nodes[n].verify;

			if (c != NULL)
				name_in_list(results, c->list, c->list_count);
			for (size_t i = 0; v != NULL && i < v->list_count; i++)
				name_nodes(results, &v->list[i].text);
			tells = tells || c != NULL || v != NULL;
		}
		if (tells)
			name_in_list(results, phase->warnings, phase->warnings_count);
	}
}
