#include "coordinator/cli/documents.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/files.h"
#include "coordinator/cli/jobs.h"
#include "coordinator/cli/output.h"
#include "coordinator/import/import.h"
#include "proto/codec/json.h"

#define SCHEMA_WITHIN 256 /* bytes from the start of a document */
#define NAMES_SHOWN   12

/* clang-format off: the tables must be read in this order */
#include "common/base/field_table.h"
#include "coordinator/cli/documents.def"
#include "common/base/field_undef.h"
/* clang-format on */

static enum ls_rc
load_run(const struct cli *cli, const char *what, bool whole, struct document_list *out, struct ls_err *err)
{
	struct client *client;
	char *text;
	size_t len;
	enum ls_rc rc = client_open(cli, NULL, &client, err);

	if (rc != LS_OK)
		return rc;
	rc = client_export(client, what, whole ? CLIENT_WHOLE : CLIENT_DOCUMENT, &text, &len, err);
	client_close(client);
	if (rc != LS_OK)
		return rc;
	out->docs = ls_calloc(1, sizeof(*out->docs));
	rc = results_parse(text, len, what == NULL ? "last" : what, &out->docs[0], err);
	out->docs_count = rc == LS_OK ? 1 : 0;
	free(text);
	return rc;
}

/* The list becomes the one member of an object, which the field tables can read. */
static enum ls_rc
parse_list(const char *text, const char *what, struct document_list *out, struct ls_err *err)
{
	char *object = ls_asprintf("{\"docs\":%s}", text);
	enum ls_rc rc =
	    json_decode_struct(&document_list_desc, object, strlen(object), JSON_UNKNOWN_IGNORED, what, out, err);

	free(object);
	return rc;
}

static enum ls_rc
parse_import(const char *text, size_t len, const char *what, struct document_list *out, struct ls_err *err)
{
	struct import_set set = { 0 };
	enum ls_rc rc = import_read(what, text, len, &set, err);

	if (rc == LS_OK) {
		out->docs = ls_calloc(set.count + 1, sizeof(*out->docs));
		out->docs_count = set.count;
		for (size_t i = 0; i < set.count; i++) { /* their contents change hands */
			out->docs[i] = *set.docs[i];
			field_struct_init(&results_desc, set.docs[i]);
		}
	}
	import_set_free(&set);
	return rc;
}

static bool
is_document(const char *text)
{
	const char *schema = strstr(text, "\"lockstep-results/");

	return text[strspn(text, " \t\r\n")] == '{' && schema != NULL && schema - text < SCHEMA_WITHIN;
}

bool
document_in_text(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '[' || is_document(text);
}

enum ls_rc
documents_parse(const char *text, size_t len, const char *what, struct document_list *out, struct ls_err *err)
{
	field_struct_init(&document_list_desc, out);
	if (text[strspn(text, " \t\r\n")] == '[')
		return parse_list(text, what, out, err);
	if (!is_document(text))
		return parse_import(text, len, what, out, err);
	out->docs = ls_calloc(1, sizeof(*out->docs));
	enum ls_rc rc = results_parse(text, len, what, &out->docs[0], err);
	out->docs_count = rc == LS_OK ? 1 : 0;
	return rc;
}

const char *
document_short_name(const struct results *doc)
{
	const char *name = doc->run.name;
	size_t len = doc->run.origin == NULL ? 0 : strlen(doc->run.origin->tool);

	if (len > 0 && strncmp(name, doc->run.origin->tool, len) == 0 && strncmp(name + len, ": ", 2) == 0)
		return name + len + 2;
	return name;
}

/* Keeps the runs of that name, or the one with that number from 1. */
static enum ls_rc
pick(const char *file, const char *which, struct document_list *list, struct ls_err *err)
{
	char *end;
	unsigned long number = strtoul(which, &end, 10);
	bool by_number = end != which && *end == '\0';
	size_t kept = 0;

	for (size_t i = 0; i < list->docs_count; i++) {
		struct results *doc = &list->docs[i];

		if (strcmp(doc->run.name, which) == 0 || strcmp(document_short_name(doc), which) == 0 ||
		    (by_number && number == i + 1))
			list->docs[kept++] = *doc;
		else
			field_struct_fini(&results_desc, doc);
	}
	list->docs_count = kept;
	if (kept == 0)
		return ls_err_set(err, LS_E_NOTFOUND, "%s: has no run \"%s\"", file, which);
	return LS_OK;
}

static enum ls_rc
load_file(const char *file, const char *which, struct document_list *out, struct ls_err *err)
{
	char *text;
	size_t len;
	enum ls_rc rc = file_read(file, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	rc = documents_parse(text, len, file, out, err);
	free(text);
	if (rc == LS_OK && which != NULL)
		rc = pick(file, which, out, err);
	if (rc == LS_OK && out->docs_count == 0)
		rc = ls_err_set(err, LS_E_INVALID, "%s: holds no results", file);
	return rc;
}

enum ls_rc
documents_load(const struct cli *cli, const char *what, bool whole, struct document_list *out, struct ls_err *err)
{
	const char *hash = what == NULL ? NULL : strrchr(what, '#');
	char *file = hash == NULL ? NULL : ls_strndup(what, (size_t)(hash - what));
	enum ls_rc rc;

	field_struct_init(&document_list_desc, out);
	if (file != NULL && access(what, F_OK) != 0 && jobs_is_file(file))
		rc = load_file(file, hash + 1, out, err);
	else if (what != NULL && jobs_is_file(what))
		rc = load_file(what, NULL, out, err);
	else
		rc = load_run(cli, what, whole, out, err);
	if (rc != LS_OK)
		field_struct_fini(&document_list_desc, out);
	free(file);
	return rc;
}

enum ls_rc
documents_too_many(const char *what, const struct document_list *list, struct ls_err *err)
{
	struct sink names = { 0 };

	for (size_t i = 0; i < list->docs_count && i < NAMES_SHOWN; i++)
		sink_printf(&names, "%s%zu \"%s\"", i > 0 ? ", " : "", i + 1, list->docs[i].run.name);
	ls_err_set(err, LS_E_INVALID, "%s: holds %zu runs; say which with %s#NUMBER or #NAME: %s%s", what,
	    list->docs_count, what, names.text, list->docs_count > NAMES_SHOWN ? ", ..." : "");
	sink_free(&names);
	return LS_E_INVALID;
}

enum cli_exit
documents_report(const struct cli *cli, const char *what, const struct report_format *format, const char *output)
{
	struct document_list list;
	struct ls_err err;
	enum ls_rc rc = documents_load(cli, what, format->whole, &list, &err);

	if (rc != LS_OK)
		return rc == LS_E_INVALID ? cli_fail_err(&err) : cli_fail(CLI_FAILED, "%s", err.text);
	if (list.docs_count > 1)
		rc = documents_too_many(what, &list, &err);
	else
		rc = results_write(&list.docs[0], format, output, &err);
	field_struct_fini(&document_list_desc, &list);
	if (rc == LS_E_INVALID)
		return cli_fail_err(&err);
	return rc == LS_OK ? CLI_OK : cli_fail(CLI_FAILED, "%s", err.text);
}
