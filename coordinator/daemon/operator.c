#include "coordinator/daemon/operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/assemble.h"
#include "coordinator/daemon/history.h"
#include "coordinator/daemon/run.h"
#include "coordinator/import/tool_output.h"
#include "proto/codec/json.h"
#include "proto/model/label.h"

void
operator_done(struct session *s, enum done_outcome outcome, const char *text)
{
	struct msg_done m = { .outcome = (int)outcome, .text = (char *)(uintptr_t)text };

	s->busy = false;
	session_send(s, MSG_DONE, &m);
}

/* An answer is under way: the next request has to wait. */
enum ls_rc
operator_begin(struct session *s, struct ls_err *err)
{
	if (s->busy)
		return ls_err_set(err, LS_E_PROTO, "one request at a time: the answer to the last one has not ended");
	s->busy = true;
	return LS_OK;
}

/* --- runs -------------------------------------------------------------------------------------------------------------------- */

static void
start_queue(void *arg)
{
	struct daemon *d = arg;

	run_queue_next(d);
}

static void
send_submitted(struct session *s, const struct run *run)
{
	struct msg_submitted submitted = { .run = (char *)(uintptr_t)run_id(run), .ahead = run_ahead(run) };

	session_send(s, MSG_SUBMITTED, &submitted);
}

/* Who watches is told of the run's end as well. */
static void
on_kept_watched(struct daemon *d, const struct run *run, uint64_t session, const struct ls_err *why)
{
	struct session *s = session_find(d, session);

	if (s != NULL && why == NULL)
		send_submitted(s, run);
}

static void
on_kept_alone(struct daemon *d, const struct run *run, uint64_t session, const struct ls_err *why)
{
	struct session *s = session_find(d, session);

	if (s == NULL)
		return;
	if (why == NULL)
		send_submitted(s, run);
	operator_done(s, why == NULL ? DONE_OK : DONE_FAILED, why == NULL ? NULL : why->text);
}

enum ls_rc
operator_on_submit(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_submit *m = body;
	struct run *run = NULL;
	struct ls_err why = { 0 };
	enum ls_rc rc = operator_begin(s, err);

	(void)received;
	if (rc != LS_OK)
		return rc;
	if (label_check(m->tags, m->tags_count, m->note, &why) != LS_OK ||
	    run_submit(s->daemon, &m->job, m->wait_ns, m->check_only, &run, &why) != LS_OK) {
		operator_done(s, DONE_REFUSED, why.text);
		return LS_OK;
	}
	if (m->watch || m->check_only)
		run_watch(run, s, false);
	if (!m->check_only) {
		history_label_new(s->daemon, run_id(run), m);
		run_when_kept(run, m->watch ? on_kept_watched : on_kept_alone, s->number);
	}
	/* A check that is refused at once ends in its own turn of the loop, after this message was handled. */
	loop_defer(s->daemon->loop, start_queue, s->daemon);
	return LS_OK;
}

enum find_purpose {
	FIND_WATCH = 0,
	FIND_ABORT,
	FIND_EXPORT,
};

/* What is looked up in the store for an operator: the list, a run's row, a document. */
struct lookup {
	struct daemon *daemon;
	uint64_t session;
	enum find_purpose purpose;
	char *prefix; /* NULL: the newest */
	char *node;   /* of a list: only runs with it; NULL: all */
	uint64_t limit;
	bool summary; /* of a document: without what is long */
	bool whole;   /* with all that programs printed */
	struct store_run row;
	struct store_run *rows;
	size_t count;
	char *text;
	size_t len;
	enum ls_rc rc;
	struct ls_err err;
};

static struct lookup *
lookup_new(struct session *s, const char *prefix)
{
	struct lookup *l = ls_calloc(1, sizeof(*l));

	l->daemon = s->daemon;
	l->session = s->number;
	l->prefix = ls_strdup(prefix);
	return l;
}

static void
lookup_free(struct lookup *l)
{
	store_run_fini(&l->row);
	for (size_t i = 0; i < l->count; i++)
		store_run_fini(&l->rows[i]);
	free(l->rows);
	free(l->prefix);
	free(l->node);
	free(l->text);
	free(l);
}

static void
find_work(void *arg)
{
	struct lookup *l = arg;
	char *id = NULL;

	l->rc = store_find_run(l->daemon->store_reader, l->prefix, &id, &l->err);
	if (l->rc == LS_OK)
		l->rc = store_get_run(l->daemon->store_reader, id, &l->row, &l->err);
	free(id);
}

/* The tags of a row, "a,b", one by one. */
static void
split_tags(const char *all, char ***out, size_t *count)
{
	*out = NULL;
	*count = 0;
	for (const char *p = all; p != NULL && *p != '\0';) {
		size_t n = strcspn(p, ",");

		*out = ls_grow(*out, *count, sizeof(**out));
		(*out)[(*count)++] = ls_strndup(p, n);
		p += n + (p[n] == ',');
	}
}

void
operator_row_fini(struct run_row *row)
{
	for (size_t i = 0; i < row->tags_count; i++)
		free(row->tags[i]);
	free(row->tags);
}

struct run_row
operator_row(const struct store_run *r, const struct run *live, char *stamp, size_t len)
{
	struct run_row row = {
		.id = r->id,
		.name = r->name,
		.state = (int)(live != NULL ? run_state(live) : r->state),
		.reason = live != NULL ? (char *)(uintptr_t)run_reason(live) : r->reason,
		.started_at = (char *)(uintptr_t)ls_wall_format((struct ls_wall){ r->started_ns }, stamp, len),
		.duration_ns = r->duration_ns,
		.nodes = r->node_count,
		.phases_done = r->phases_done,
		.phases_total = r->phases_total,
		.path = r->path,
		.note = r->note,
	};

	split_tags(r->tags, &row.tags, &row.tags_count);
	return row;
}

/* A run that is not in memory has ended: watching it is its end. */
static void
tell_ended(struct session *s, const struct store_run *r)
{
	struct msg_run_event e;

	msg_body_init(MSG_RUN_EVENT, &e);
	free(e.run);
	e.run = ls_strdup(r->id);
	e.state = (int)r->state;
	e.phases_total = r->phases_total;
	e.phases_done = r->phases_done;
	e.text = ls_strdup(r->reason);
	e.end = true;
	session_send(s, MSG_RUN_EVENT, &e);
	msg_body_fini(MSG_RUN_EVENT, &e);
	operator_done(s,
	    r->state == RUN_FINISHED      ? DONE_OK
		: r->state == RUN_REFUSED ? DONE_REFUSED
					  : DONE_FAILED,
	    r->reason);
}

static void
find_done(void *arg)
{
	struct lookup *l = arg;
	struct session *s = session_find(l->daemon, l->session);
	char text[256];

	if (s == NULL || l->daemon->stopping) {
		lookup_free(l);
		return;
	}
	if (l->rc != LS_OK) {
		operator_done(s, l->rc == LS_E_STORE ? DONE_FAILED : DONE_REFUSED, l->err.text);
	} else if (l->purpose == FIND_WATCH) {
		tell_ended(s, &l->row);
	} else {
		snprintf(text, sizeof(text), "run %s has ended already: %s", l->row.id, run_state_names[l->row.state]);
		operator_done(s, DONE_REFUSED, text);
	}
	lookup_free(l);
}

static void
find_in_store(struct session *s, const char *prefix, enum find_purpose purpose)
{
	struct lookup *l = lookup_new(s, prefix);

	l->purpose = purpose;
	daemon_read(s->daemon, find_work, find_done, l);
}

static struct run *
find_live(struct session *s, const char *prefix)
{
	struct run *run = run_find(s->daemon, prefix);

	return run != NULL && !run_state_is_end(run_state(run)) ? run : NULL;
}

enum ls_rc
operator_on_watch(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_watch *m = body;
	struct run *run;
	enum ls_rc rc = operator_begin(s, err);

	(void)received;
	if (rc != LS_OK)
		return rc;
	run = run_find(s->daemon, m->run);
	if (run != NULL)
		run_watch(run, s, false);
	else if (m->run == NULL)
		operator_done(s, DONE_REFUSED, "no run is in progress");
	else
		find_in_store(s, m->run, FIND_WATCH);
	return LS_OK;
}

enum ls_rc
operator_on_abort(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_abort *m = body;
	struct run *run = find_live(s, m->run);
	enum ls_rc rc;

	(void)received;
	/* Who watches a run may end it: its events go on to the end. */
	if (s->busy && run != NULL && s->watched == run) {
		run_cancel(run, m->reason);
		return LS_OK;
	}
	/* It ended meanwhile: done is on its way. */
	if (s->busy && s->watched != NULL && strncmp(run_id(s->watched), m->run, strlen(m->run)) == 0)
		return LS_OK;
	rc = operator_begin(s, err);
	if (rc != LS_OK)
		return rc;
	if (run == NULL) {
		find_in_store(s, m->run, FIND_ABORT);
		return LS_OK;
	}
	run_watch(run, s, true);
	run_cancel(run, m->reason);
	return LS_OK;
}

/* --- lists -------------------------------------------------------------------------------------------------------------------- */

static void
list_work(void *arg)
{
	struct lookup *l = arg;

	const struct store_wanted wanted = { .limit = l->limit, .node = l->node };

	l->rc = store_list_runs(l->daemon->store_reader, &wanted, &l->rows, &l->count, &l->err);
}

static void
list_done(void *arg)
{
	struct lookup *l = arg;
	struct session *s = session_find(l->daemon, l->session);

	if (s != NULL && !l->daemon->stopping) {
		for (size_t i = 0; i < l->count; i++) {
			char stamp[40];
			struct msg_listed m = { .run = operator_row(&l->rows[i], run_find(l->daemon, l->rows[i].id),
						    stamp, sizeof(stamp)) };

			session_send(s, MSG_LISTED, &m);
			operator_row_fini(&m.run);
		}
		operator_done(s, l->rc == LS_OK ? DONE_OK : DONE_FAILED, l->rc == LS_OK ? NULL : l->err.text);
	}
	lookup_free(l);
}

enum ls_rc
operator_on_list(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_list *m = body;
	struct lookup *l;
	enum ls_rc rc = operator_begin(s, err);

	(void)received;
	if (rc != LS_OK)
		return rc;
	l = lookup_new(s, NULL);
	l->limit = m->limit;
	l->node = ls_strdup(m->node);
	daemon_read(s->daemon, list_work, list_done, l);
	return LS_OK;
}

enum ls_rc
operator_on_nodes(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_nodes *m = body;
	const struct registry *r = &s->daemon->registry;
	enum ls_rc rc = operator_begin(s, err);

	(void)received;
	if (rc != LS_OK)
		return rc;
	for (size_t i = 0; i < r->count; i++) {
		struct msg_node row = { .node = node_to_row(r->nodes[i], ls_mono_now()) };

		if (m->all || row.node.connected)
			session_send(s, MSG_NODE, &row);
	}
	operator_done(s, DONE_OK, NULL);
	return LS_OK;
}

/* --- documents ---------------------------------------------------------------------------------------------------------------- */

static void
export_work(void *arg)
{
	struct lookup *l = arg;
	struct results results;
	char *id = NULL;

	l->rc = store_find_run(l->daemon->store_reader, l->prefix, &id, &l->err);
	if (l->rc == LS_OK)
		l->rc = assemble_run(l->daemon->store_reader, id, &results, &l->err);
	free(id);
	if (l->rc != LS_OK)
		return;
	if (!l->whole)
		tool_output_cut(&results);
	if (l->summary)
		results_drop_bulk(&results);
	l->text = json_encode_struct(&results_desc, &results, false, &l->len);
	field_struct_fini(&results_desc, &results);
}

static void
export_done(void *arg)
{
	struct lookup *l = arg;
	struct session *s = session_find(l->daemon, l->session);

	if (s != NULL && !l->daemon->stopping) {
		if (l->rc == LS_OK) {
			document_send(s, l->text, l->len);
			l->text = NULL;
		} else {
			operator_done(s, l->rc == LS_E_NOTFOUND || l->rc == LS_E_INVALID ? DONE_REFUSED : DONE_FAILED,
			    l->err.text);
		}
	}
	lookup_free(l);
}

enum ls_rc
operator_on_export(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_export *m = body;
	struct lookup *l;
	enum ls_rc rc = operator_begin(s, err);

	(void)received;
	if (rc != LS_OK)
		return rc;
	l = lookup_new(s, m->run);
	l->summary = m->summary;
	l->whole = m->whole;
	daemon_read(s->daemon, export_work, export_done, l);
	return LS_OK;
}
