/* Output of other tools to results documents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/cmd.h"
#include "coordinator/cli/documents.h"
#include "coordinator/cli/files.h"
#include "coordinator/import/import.h"
#include "proto/codec/json.h"

extern const struct cmd cmd_import;

struct import_options {
	const char *json;
	bool together;
};

#define O(member) offsetof(struct import_options, member)

static const struct option_row rows[] = {
	{ "json", 'j', OPTION_TEXT, O(json), "FILE",
	    "write the results documents there: one, or a list where there are several; \"-\" is standard output", 0,
	    0 },
	{ "together", 't', OPTION_FLAG, O(together), NULL,
	    "the files hold one run of several machines: one document with a node for each", 0, 0 },
	{ 0 },
};

/* What lockstep itself wrote: a run of ours, or imports. */
static enum ls_rc
read_documents(const char *path, const char *text, size_t len, struct import_set *set, struct ls_err *err)
{
	struct document_list list;
	enum ls_rc rc = documents_parse(text, len, path, &list, err);

	for (size_t i = 0; rc == LS_OK && i < list.docs_count; i++) { /* their contents change hands */
		set->docs = ls_grow(set->docs, set->count, sizeof(struct results *));
		set->docs[set->count] = ls_malloc(sizeof(struct results));
		*set->docs[set->count++] = list.docs[i];
		field_struct_init(&results_desc, &list.docs[i]);
	}
	field_struct_fini(&document_list_desc, &list);
	return rc;
}

static enum ls_rc
read_file(const char *path, struct import_set *set, struct ls_err *err)
{
	char *text;
	size_t len;
	enum ls_rc rc = file_read(path, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	if (document_in_text(text))
		rc = read_documents(path, text, len, set, err);
	else
		rc = import_read(path, text, len, set, err);
	free(text);
	return rc;
}

/* One document as it is, several as a list. */
static enum ls_rc
write_documents(const struct import_set *set, const char *path, struct ls_err *err)
{
	struct sink out = { 0 };

	if (set->count != 1)
		sink_printf(&out, "[\n");
	for (size_t i = 0; i < set->count; i++) {
		size_t len;
		char *text = json_encode_struct(&results_desc, set->docs[i], set->count == 1, &len);

		sink_add(&out, text, len);
		sink_printf(&out, "%s\n", i + 1 < set->count ? "," : "");
		free(text);
	}
	if (set->count != 1)
		sink_printf(&out, "]\n");
	enum ls_rc rc = file_write(path, out.text, out.len, err);
	sink_free(&out);
	return rc;
}

/* What was read, a line for each run, so that nothing is taken over unseen. */
static void
say(const struct results *doc)
{
	if (doc->run.origin == NULL) {
		fprintf(stderr, "%s: %s, %s: %zu results\n", doc->run.id, doc->run.name,
		    doc->run.started_at != NULL ? doc->run.started_at : "?", doc->phases_count);
		return;
	}
	fprintf(stderr, "%s:%llu: %s, %s: %zu results\n", doc->run.origin->file,
	    (unsigned long long)doc->run.origin->first_line, doc->run.name, doc->run.origin->format, doc->phases_count);
	for (size_t w = 0; w < doc->run.warnings_count; w++)
		fprintf(stderr, "  ! %s\n", doc->run.warnings[w]);
}

static const char *
doc_known(const struct results *doc)
{
	return doc->run.origin != NULL ? " was imported before: it counts once" : " is here already: it counts once";
}

/* Each document to lockstepd's store; the ids go to standard output. */
static enum ls_rc
keep_documents(const struct cli *cli, const struct import_set *set, struct ls_err *err)
{
	struct client *client;
	enum ls_rc rc = client_open(cli, NULL, &client, err);

	if (rc != LS_OK)
		return rc;
	for (size_t i = 0; i < set->count && rc == LS_OK; i++) {
		bool known = false;
		size_t len;
		char *text = json_encode_struct(&results_desc, set->docs[i], false, &len);

		rc = client_import(client, text, len, &known, err);
		free(text);
		if (rc != LS_OK)
			break;
		say(set->docs[i]);
		printf("%s%s\n", set->docs[i]->run.id, known ? doc_known(set->docs[i]) : "");
	}
	client_close(client);
	return rc;
}

static enum cli_exit
run_import(const struct cli *cli, const void *opaque, const struct option_texts *words)
{
	const struct import_options *options = opaque;
	struct import_set set = { 0 };
	struct ls_err err;
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; i < words->count && rc == LS_OK; i++)
		rc = read_file(words->items[i], &set, &err);
	for (size_t i = 0; i < set.count && rc == LS_OK && options->together; i++)
		if (set.docs[i]->run.origin == NULL)
			rc = ls_err_set(&err, LS_E_INVALID,
			    "run %s was measured by lockstep: --together joins what other tools measured",
			    set.docs[i]->run.id);
	if (rc == LS_OK && options->together)
		rc = import_join(&set, &err);
	if (rc == LS_OK && options->json == NULL)
		rc = keep_documents(cli, &set, &err);
	else if (rc == LS_OK)
		rc = write_documents(&set, options->json, &err);
	for (size_t i = 0; i < set.count && rc == LS_OK && options->json != NULL; i++)
		say(set.docs[i]);
	import_set_free(&set);
	return rc == LS_OK ? CLI_OK : cli_fail_err(&err);
}

const struct cmd cmd_import = {
	.name = "import",
	.summary = "take in output of fio, bonnie++, iozone, IOR, mdtest or elbencho, or an exported run",
	.synopsis = "[--json FILE] [--together] FILE...",
	.help = "Reads files of other tools' output without being told what they are, several runs in one file and "
		"text around "
		"them\n"
		"included. The runs go to lockstepd's store and are named like its own in report and compare; with "
		"--json they are "
		"only\n"
		"written as results documents (schema lockstep-results/1). lockstep-import(7) lists formats, versions, "
		"and what is "
		"lost.\n"
		"What cannot be read is refused with file, line and reason; then nothing is kept.\n"
		"A file that \"lockstep export\" wrote is taken in whole, under its own id, with tags and note.\n"
		"\n"
		"examples:\n"
		"  lockstep import bonnie.csv\n"
		"  lockstep import run.json\n"
		"  lockstep import --json - fio-output.txt\n"
		"  lockstep import --together a.txt b.txt c.txt",
	.options = rows,
	.options_size = sizeof(struct import_options),
	.min_words = 1,
	.max_words = 100000,
	.run = run_import,
};
