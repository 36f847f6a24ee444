/* A results document of another tool, from an operator in parts, into the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/sink.h"
#include "coordinator/daemon/operator.h"
#include "proto/codec/json.h"

#define UPLOAD_MAX (128UL << 20) /* bytes of one document */

struct upload {
	struct sink text;
	uint64_t next, parts;
};

/* What the writer's thread does with it. */
struct keep {
	struct daemon *daemon;
	uint64_t session;
	struct sink text;
	char id[65];
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

/* The row that lists and finds know it by. Its phases stand in the document alone. */
static enum ls_rc
keep_document(struct keep *k, const struct results *doc)
{
	char *name = ls_strdup(doc->run.name);
	char *text = json_encode_struct(&results_desc, doc, false, NULL);
	struct store_run row = {
		.id = k->id,
		.name = name,
		.state = (enum run_state)doc->run.state,
		.verdict = (enum run_state)doc->run.state,
		.reason = doc->run.reason,
		.started_ns = ls_wall_now().ns,
		.duration_ns = doc->run.duration_ns,
		.node_count = doc->nodes_count,
	};
	enum ls_rc rc = store_put_document(k->daemon->store, &row, text, &k->known, &k->err);

	free(name);
	free(text);
	return rc;
}

static void
keep_work(void *arg)
{
	struct keep *k = arg;
	struct results doc;

	k->rc = json_decode_struct(&results_desc, k->text.text != NULL ? k->text.text : "", k->text.len,
	    JSON_UNKNOWN_IGNORED, "import", &doc, &k->err);
	if (k->rc != LS_OK)
		return;
	if (doc.run.origin == NULL || strncmp(doc.run.id, "import-", 7) != 0)
		k->rc = ls_err_set(&k->err, LS_E_REFUSED,
		    "run %s is no import: only lockstep's own runs have such a name", doc.run.id);
	else if (!run_state_is_end((enum run_state)doc.run.state))
		k->rc = ls_err_set(&k->err, LS_E_REFUSED, "run %s has not ended", doc.run.id);
	snprintf(k->id, sizeof(k->id), "%s", doc.run.id);
	if (k->rc == LS_OK)
		k->rc = keep_document(k, &doc);
	field_struct_fini(&results_desc, &doc);
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
	sink_free(&k->text);
	free(k);
}

/* All parts are here: the text goes to the writer. */
static void
keep_begin(struct session *s)
{
	struct keep *k = ls_calloc(1, sizeof(*k));

	k->daemon = s->daemon;
	k->session = s->number;
	k->text = s->upload->text;
	free(s->upload);
	s->upload = NULL;
	daemon_write(s->daemon, keep_work, keep_done, k);
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
