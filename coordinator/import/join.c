/* Runs of several machines as one document. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/import/import_int.h"

static bool
same_test(const struct phase_result *a, const struct phase_result *b)
{
	return strcmp(a->imported->test, b->imported->test) == 0 && a->repetition == b->repetition &&
	    a->imported->record_size == b->imported->record_size;
}

static struct phase_result *
find_phase(struct results *doc, const struct phase_result *like)
{
	for (size_t i = 0; i < doc->phases_count; i++)
		if (same_test(&doc->phases[i], like))
			return &doc->phases[i];
	return NULL;
}

static enum ls_rc
check(const struct import_set *set, struct ls_err *err)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct results *doc = set->docs[i];

		if (strcmp(doc->run.origin->tool, set->docs[0]->run.origin->tool) != 0)
			return ls_err_set(err, LS_E_INVALID, "%s and %s cannot be one run: they are of %s and of %s",
			    set->docs[0]->run.name, doc->run.name, set->docs[0]->run.origin->tool,
			    doc->run.origin->tool);
		if (doc->nodes_count == 0)
			return ls_err_set(err, LS_E_INVALID, "%s tells nothing of single machines: it cannot be joined",
			    doc->run.name);
		for (size_t k = 0; k < i; k++)
			for (size_t n = 0; n < doc->nodes_count; n++)
				for (size_t m = 0; m < set->docs[k]->nodes_count; m++)
					if (strcmp(doc->nodes[n].name, set->docs[k]->nodes[m].name) == 0)
						return ls_err_set(err, LS_E_INVALID,
						    "two results are of the machine \"%s\": they cannot be one run",
						    doc->nodes[n].name);
	}
	return LS_OK;
}

/* Moves the nodes of a phase to another; what the phase warned of is said of its node. */
static void
move_nodes(struct results *to, struct phase_result *into, struct phase_result *from)
{
	const char *name = from->nodes_count > 0 ? from->nodes[0].node : IMPORT_UNNAMED;

	for (size_t w = 0; w < from->warnings_count; w++)
		import_phase_warn(into, "%s: %s", name, from->warnings[w]);
	for (size_t n = 0; n < from->nodes_count; n++) {
		struct node_result *node = import_node(to, into, from->nodes[n].node);

		field_struct_fini(&node_result_desc, node);
		*node = from->nodes[n];
		memset(&from->nodes[n], 0, sizeof(from->nodes[n]));
	}
	from->nodes_count = 0;
	if (into->imported->file_size != from->imported->file_size)
		into->imported->file_size = LS_UNKNOWN_U64;
}

static void
move_doc(struct results *to, struct results *from)
{
	const char *version = from->run.origin->version;
	const char *name = from->nodes[0].name;

	for (size_t p = 0; p < from->phases_count; p++) {
		struct phase_result *phase = &from->phases[p];
		struct phase_result *into = find_phase(to, phase);

		if (into == NULL) {
			into = import_phase(to, (enum phase_kind)phase->kind, phase->imported->test,
			    phase->imported->line > 0 ? (size_t)phase->imported->line - 1 : 0);
			import_phase_sizes(into, phase->imported->file_size, phase->imported->record_size);
		}
		move_nodes(to, into, phase);
	}
	for (size_t i = 0; i < from->run.origin->settings_count; i++) {
		char key[128];

		snprintf(key, sizeof(key), "%.60s: %.60s", name, from->run.origin->settings[i].name);
		import_setting(to, key, "%s", from->run.origin->settings[i].value);
	}
	for (size_t i = 0; i < from->run.warnings_count; i++)
		import_warn(to, "%s: %s", name, from->run.warnings[i]);
	if (version != NULL)
		import_setting(to, name, "version %s", version);
	if (from->run.origin->last_line > to->run.origin->last_line)
		to->run.origin->last_line = from->run.origin->last_line;
}

/* Versions that differ measure differently: that stands with the numbers. Do they? */
static bool
warn_versions(struct results *doc, const struct import_set *set)
{
	const char *first = set->docs[0]->run.origin->version;

	for (size_t i = 1; i < set->count; i++) {
		const char *v = set->docs[i]->run.origin->version;

		if ((v == NULL) == (first == NULL) && (v == NULL || strcmp(v, first) == 0))
			continue;
		import_warn(doc,
		    "the machines ran different versions of %s (%s on %s, %s on %s): what these measure differently "
		    "must not be "
		    "compared",
		    doc->run.origin->tool, first != NULL ? first : "unknown", set->docs[0]->nodes[0].name,
		    v != NULL ? v : "unknown", set->docs[i]->nodes[0].name);
		return true;
	}
	return false;
}

/* Tests that versions of a tool measure alike, with care. Of bonnie++ 1.03 and 1.9x all others differ: lockstep-import(7). */
static const struct {
	const char *tool, *test;
} alike[] = {
	{ "bonnie++", "get_block" },
	{ "bonnie++", "seq_stat" },
	{ "bonnie++", "ran_stat" },
};

static void
mark_mixed_phases(struct results *doc)
{
	for (size_t p = 0; p < doc->phases_count; p++) {
		struct phase_result *phase = &doc->phases[p];
		bool same = false;

		for (size_t i = 0; i < ARRAY_LEN(alike); i++)
			same |= strcmp(alike[i].tool, doc->run.origin->tool) == 0 &&
			    strcmp(alike[i].test, phase->imported->test) == 0;
		if (!same && phase->nodes_count > 1)
			import_phase_warn(phase,
			    "versions that may measure it differently are side by side: no sum of these means "
			    "anything");
	}
}

enum ls_rc
import_join(struct import_set *set, struct ls_err *err)
{
	struct import_set made = { 0 };
	enum ls_rc rc;

	if (set->count < 2)
		return LS_OK;
	rc = check(set, err);
	if (rc != LS_OK)
		return rc;
	struct origin *o = set->docs[0]->run.origin;
	struct results *doc = import_doc(&made, o->tool, o->version, o->format, (size_t)o->first_line - 1);
	uint64_t hash = 0xcbf29ce484222325ULL;

	bool mixed = warn_versions(doc, set);
	for (size_t i = 0; i < set->count; i++) {
		for (const char *p = set->docs[i]->run.id; *p != '\0'; p++)
			hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
		move_doc(doc, set->docs[i]);
	}
	free(doc->run.id);
	doc->run.id = ls_asprintf("import-%016llx", (unsigned long long)hash);
	free(doc->run.origin->file);
	doc->run.origin->file = ls_strdup(o->file);
	char title[64];
	snprintf(title, sizeof(title), "%zu machines together", doc->nodes_count);
	import_title(doc, title);
	if (mixed)
		mark_mixed_phases(doc);
	import_label_sums(doc);
	import_set_free(set);
	*set = made;
	return LS_OK;
}
