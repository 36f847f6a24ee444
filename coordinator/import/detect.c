/* A text is shown to every importer; each takes what is its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/import/import_int.h"

static void
doc_free(struct results *doc)
{
	field_struct_fini(&results_desc, doc);
	free(doc);
}

void
import_set_free(struct import_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		doc_free(set->docs[i]);
	free(set->docs);
	*set = (struct import_set){ 0 };
}

/* By the line in which they begin; a file has few documents, and most are in order already. */
static void
sort_by_line(struct results **docs, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct results *doc = docs[i];
		size_t k = i;

		for (; k > 0 && docs[k - 1]->run.origin->first_line > doc->run.origin->first_line; k--)
			docs[k] = docs[k - 1];
		docs[k] = doc;
	}
}

static struct results *
find_equal(const struct import_set *set, size_t end)
{
	for (size_t i = 0; i < end; i++)
		if (strcmp(set->docs[i]->run.id, set->docs[end]->run.id) == 0)
			return set->docs[i];
	return NULL;
}

/* What stands twice is one run: adding a file again must not look like a second measurement. */
static void
drop_equal(struct import_set *set, size_t from)
{
	size_t kept = from;

	for (size_t i = from; i < set->count; i++) {
		struct results *doc = set->docs[i];

		set->docs[kept] = doc;
		struct results *first = find_equal(set, kept);
		if (first == NULL) {
			kept++;
			continue;
		}
		import_warn(first, "the same result stands again in %s, line %llu: it counts once",
		    doc->run.origin->file, (unsigned long long)doc->run.origin->first_line);
		doc_free(doc);
	}
	set->count = kept;
}

static enum ls_rc
refuse_unknown(const char *name, struct ls_err *err)
{
	struct sink list = { 0 };

	for (size_t i = 0; importers[i] != NULL; i++)
		sink_printf(&list, "%s%s", i > 0 ? ", " : "", importers[i]->name);
	ls_err_set(err, LS_E_INVALID, "%s:1: no result is recognised in it; known are: %s", name, list.text);
	sink_free(&list);
	return LS_E_INVALID;
}

/* "line 12: why" becomes "NAME:12: why". */
static enum ls_rc
name_error(const char *name, struct ls_err *err)
{
	char text[sizeof(err->text)];
	static const char before[] = "line ";
	const char *number, *rest;

	if (err == NULL)
		return LS_E_INVALID;
	number = err->text + sizeof(before) - 1;
	if (strncmp(err->text, before, sizeof(before) - 1) != 0)
		return ls_err_wrap(err, "%s", name);
	rest = number + strspn(number, "0123456789");
	if (rest == number || strncmp(rest, ": ", 2) != 0)
		return ls_err_wrap(err, "%s", name);
	snprintf(text, sizeof(text), "%.*s%s", (int)(rest - number), number, rest);
	return ls_err_set(err, err->rc, "%s:%s", name, text);
}

enum ls_rc
import_read(const char *name, const char *data, size_t len, struct import_set *set, struct ls_err *err)
{
	struct import_text text;
	size_t before = set->count;
	enum ls_rc rc = LS_OK;

	import_text_init(&text, name, data, len);
	for (size_t i = 0; importers[i] != NULL && rc == LS_OK; i++)
		if (importers[i]->sees(&text))
			rc = importers[i]->read(&text, set, err);
	import_text_free(&text);
	if (rc != LS_OK)
		return name_error(name, err);
	if (set->count == before)
		return refuse_unknown(name, err);
	sort_by_line(set->docs + before, set->count - before);
	drop_equal(set, before);
	return LS_OK;
}
