/* A results document, of another tool or as export gave it, from an operator in parts, into the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/sat.h"
#include "common/base/sink.h"
#include "coordinator/daemon/assemble.h"
#include "coordinator/daemon/operator.h"
#include "coordinator/daemon/store/labels.h"
#include "coordinator/daemon/store/records.h"
#include "coordinator/import/tool_output.h"
#include "proto/codec/json.h"
#include "proto/model/label.h"

#define UPLOAD_MAX (512UL << 20) /* bytes of one document */

struct upload {
	struct sink text;
	uint64_t next, parts;
};

/* On its way through the reader's thread, which looks at it, and the writer's, which keeps it. */
struct keep {
	struct daemon *daemon;
	uint64_t session;
	struct sink text;
	char id[65];
	struct store_run row;
	char *document;
	char **tags;
	size_t tags_count;
	char *note;
	bool known;
	enum ls_rc rc;
	struct ls_err err;
};

void
upload_free(struct upload *upload)
{
	if (upload == NULL)
		return;
	sink_free(&upload->text);
	free(upload);
}

/* The nodes' names, as rows of our own runs have them: a run is found by them. */
static char *
encode_nodes(const struct results *doc)
{
	struct run_members all = { .members_count = doc->nodes_count };

	all.members = ls_calloc(doc->nodes_count + 1, sizeof(*all.members));
	for (size_t i = 0; i < doc->nodes_count; i++) {
		field_struct_init(&run_member_desc, &all.members[i]);
		free(all.members[i].info.name);
		all.members[i].info.name = ls_strdup(doc->nodes[i].name);
	}
	char *text = json_encode_struct(&run_members_desc, &all, false, NULL);
	field_struct_fini(&run_members_desc, &all);
	return text;
}

static uint64_t
phases_of(const struct job *job)
{
	return sat_mul(job->phases_count, job->repeat);
}

/* The row that lists and finds know it by. Its phases stand in the document alone. */
static void
make_row(struct keep *k, const struct results *doc)
{
	struct ls_wall now = ls_wall_now(), started = now;
	bool own = doc->run.origin == NULL;

	if (own && doc->run.started_at != NULL && !ls_wall_parse(doc->run.started_at, &started))
		started = now;
	k->row = (struct store_run){
		.id = ls_strdup(doc->run.id),
		.name = ls_strdup(doc->run.name),
		.state = (enum run_state)doc->run.state,
		.verdict = (enum run_state)doc->run.state,
		.reason = ls_strdup(doc->run.reason),
		.started_ns = started.ns,
		.added_ns = now.ns,
		.duration_ns = doc->run.duration_ns,
		.phases_total = own ? phases_of(&doc->run.job) : 0,
		.node_count = doc->nodes_count,
		.job = json_encode_struct(&job_desc, &doc->run.job, false, NULL),
		.nodes = encode_nodes(doc),
	};
	k->document = json_encode_struct(&results_desc, doc, false, NULL);
	k->tags = doc->run.tags;
	k->tags_count = doc->run.tags_count;
	k->note = ls_strdup(doc->run.note);
}

/* What does not belong to the measurement: labels may change, and a document is stamped by the lockstepd that writes it. */
static char *
encode_measured(struct results *doc)
{
	struct run_info *run = &doc->run;
	struct build_info build = run->lockstep;
	char *note = run->note;
	size_t tags = run->tags_count;

	run->lockstep = (struct build_info){ (char *)(uintptr_t) "", (char *)(uintptr_t) "" };
	run->note = NULL;
	run->tags_count = 0;
	char *text = json_encode_struct(&results_desc, doc, false, NULL);
	run->lockstep = build;
	run->note = note;
	run->tags_count = tags;
	return text;
}

/* Is a run of that id here, and the same? Errors: LS_E_EXISTS when it is another one, LS_E_STORE. */
static enum ls_rc
look_for_own(struct keep *k, struct results *doc)
{
	struct results here;
	enum ls_rc rc = assemble_run(k->daemon->store_reader, doc->run.id, &here, &k->err);

	if (rc == LS_E_NOTFOUND)
		return LS_OK;
	if (rc != LS_OK)
		return rc;
	/* a document may have been written with all that programs printed, or with the ends of it */
	tool_output_cut(&here);
	tool_output_cut(doc);
	char *ours = encode_measured(&here);
	char *theirs = encode_measured(doc);
	k->known = strcmp(ours, theirs) == 0;
	if (!k->known)
		rc = ls_err_set(
		    &k->err, LS_E_EXISTS, "run %s is here already, with other results; nothing was kept", doc->run.id);
	free(ours);
	free(theirs);
	field_struct_fini(&results_desc, &here);
	return rc;
}

static enum ls_rc
check_document(struct keep *k, struct results *doc)
{
	bool named_import = strncmp(doc->run.id, "import-", 7) == 0;

	if (!run_state_is_end((enum run_state)doc->run.state))
		return ls_err_set(&k->err, LS_E_REFUSED, "run %s has not ended", doc->run.id);
	if (doc->run.id[0] == '\0' || named_import != (doc->run.origin != NULL))
		return ls_err_set(&k->err, LS_E_REFUSED,
		    "run \"%s\": the runs of other tools, and they alone, are named import-...", doc->run.id);
	enum ls_rc rc = label_check(doc->run.tags, doc->run.tags_count, doc->run.note, &k->err);
	if (rc == LS_OK && !named_import)
		rc = look_for_own(k, doc);
	return rc;
}

/* In the reader's thread: what is slow must not keep acknowledgements waiting. */
static void
read_work(void *arg)
{
	struct keep *k = arg;
	struct results doc;

	k->rc = json_decode_struct(&results_desc, k->text.text != NULL ? k->text.text : "", k->text.len,
	    JSON_UNKNOWN_IGNORED, "import", &doc, &k->err);
	if (k->rc != LS_OK)
		return;
	sink_free(&k->text);
	k->rc = check_document(k, &doc);
	snprintf(k->id, sizeof(k->id), "%s", doc.run.id);
	if (k->rc == LS_OK && !k->known) {
		make_row(k, &doc);
		doc.run.tags = NULL;
		doc.run.tags_count = 0;
	}
	field_struct_fini(&results_desc, &doc);
}

static void
keep_work(void *arg)
{
	struct keep *k = arg;
	const struct label_change labels = { .add = k->tags, .add_count = k->tags_count, .note = k->note };

	k->rc = store_put_document(k->daemon->store, &k->row, k->document, &labels, &k->known, &k->err);
}

static void
keep_done(void *arg)
{
	struct keep *k = arg;
	struct session *s = session_find(k->daemon, k->session);

	if (s != NULL && !k->daemon->stopping) {
		if (k->rc == LS_OK) {
			struct msg_imported m = { .run = k->id, .known = k->known };

			session_send(s, MSG_IMPORTED, &m);
			operator_done(s, DONE_OK, NULL);
		} else {
			operator_done(s, k->rc == LS_E_STORE ? DONE_FAILED : DONE_REFUSED, k->err.text);
		}
	}
	for (size_t i = 0; i < k->tags_count; i++)
		free(k->tags[i]);
	free(k->tags);
	free(k->note);
	free(k->document);
	store_run_fini(&k->row);
	sink_free(&k->text);
	free(k);
}

static void
read_done(void *arg)
{
	struct keep *k = arg;

	if (k->rc == LS_OK && !k->known)
		daemon_write(k->daemon, keep_work, keep_done, k);
	else
		keep_done(k);
}

/* All parts are here. */
static void
keep_begin(struct session *s)
{
	struct keep *k = ls_calloc(1, sizeof(*k));

	k->daemon = s->daemon;
	k->session = s->number;
	k->text = s->upload->text;
	free(s->upload);
	s->upload = NULL;
	daemon_read(s->daemon, read_work, read_done, k);
}

enum ls_rc
operator_on_import(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_import *m = body;
	struct upload *u = s->upload;

	(void)received;
	if (u == NULL) {
		if (s->busy)
			return ls_err_set(
			    err, LS_E_PROTO, "one request at a time: the answer to the last one has not ended");
		s->busy = true;
		u = s->upload = ls_calloc(1, sizeof(*u));
		u->parts = m->parts;
	}
	if (m->part != u->next || m->parts != u->parts)
		return ls_err_set(err, LS_E_PROTO, "part %llu of %llu came where %llu of %llu was due",
		    (unsigned long long)m->part, (unsigned long long)m->parts, (unsigned long long)u->next,
		    (unsigned long long)u->parts);
	if (u->text.len + strlen(m->data) > UPLOAD_MAX)
		return ls_err_set(err, LS_E_LIMIT, "the document is larger than %lu MiB", UPLOAD_MAX >> 20);
	sink_add(&u->text, m->data, strlen(m->data));
	if (++u->next == u->parts)
		keep_begin(s);
	return LS_OK;
}
