#include "coordinator/daemon/collect.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "coordinator/daemon/insist.h"
#include "coordinator/daemon/run.h"
#include "coordinator/daemon/store/records.h"
#include "coordinator/import/tool_output.h"

#define PARTS_MAX 4096 /* of one result: 192 MiB */

/* A part, and after it was stored what the whole result says if it was the last one missing. */
struct piece {
	struct node *node;
	struct epoch epoch;
	uint64_t part, parts;
	char *data;
	struct store_part stored;
	enum node_state state;
	char *error; /* of a failed node, or of a result that cannot be read; owned, or NULL */
};

struct batch {
	struct collector *collector;
	struct piece *pieces;
	size_t count;
	enum ls_rc rc;
	struct ls_err err;
};

struct collector {
	struct daemon *daemon;
	struct batch *next; /* what came since the last batch left */
	bool under_way;
};

static struct batch *
batch_new(struct collector *c)
{
	struct batch *b = ls_calloc(1, sizeof(*b));

	b->collector = c;
	return b;
}

static void
batch_free(struct batch *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->count; i++) {
		free(b->pieces[i].epoch.run);
		free(b->pieces[i].data);
		free(b->pieces[i].error);
	}
	free(b->pieces);
	free(b);
}

struct collector *
collector_new(struct daemon *d)
{
	struct collector *c = ls_calloc(1, sizeof(*c));

	c->daemon = d;
	c->next = batch_new(c);
	return c;
}

void
collector_free(struct collector *c)
{
	if (c == NULL)
		return;
	batch_free(c->next);
	free(c);
}

/* --- in the writer's thread ------------------------------------------------------------------------------------------------ */

/* The state of a result that is whole now. A result that cannot be read counts as failed, with the reason. */
static void
look_into(struct store *store, struct piece *p)
{
	struct node_result result;
	struct ls_err err = { 0 };

	p->state = NODE_FAILED;
	if (record_read_result(store, p->epoch.run, p->epoch.phase, p->epoch.repetition, p->epoch.attempt,
		p->node->name, &result, &err) != LS_OK) {
		p->error = ls_asprintf("its result cannot be read: %s", err.text);
		return;
	}
	p->state = (enum node_state)result.state;
	if (p->state == NODE_DONE && tool_output_check(&result, &err) != LS_OK) {
		p->state = NODE_FAILED;
		p->error = ls_strdup(err.text);
	}
	if (p->error == NULL && result.error_list_count > 0 && result.error_list[0].text != NULL)
		p->error = ls_strdup(result.error_list[0].text);
	field_struct_fini(&node_result_desc, &result);
}

/* The parts of a batch, as the store wants them. */
struct part_list {
	struct store_part *parts;
	size_t count;
};

static enum ls_rc
put_parts(struct store *store, void *arg, struct ls_err *err)
{
	struct part_list *list = arg;

	return store_put_parts(store, list->parts, list->count, err);
}

static void
batch_work(void *arg)
{
	struct batch *b = arg;
	struct daemon *d = b->collector->daemon;
	struct store *store = d->store;
	struct store_part *parts = ls_calloc(b->count, sizeof(*parts));
	struct part_list list = { parts, b->count };

	for (size_t i = 0; i < b->count; i++) {
		struct piece *p = &b->pieces[i];

		parts[i] = (struct store_part){
			.run = p->epoch.run,
			.node = p->node->name,
			.phase = p->epoch.phase,
			.repetition = p->epoch.repetition,
			.attempt = p->epoch.attempt,
			.part = p->part,
			.parts = p->parts,
			.data = p->data,
		};
	}
	b->rc = insist_do(d->insist, store, put_parts, &list, &b->err);
	for (size_t i = 0; i < b->count; i++) {
		b->pieces[i].stored = parts[i];
		if (b->rc == LS_OK && parts[i].complete)
			look_into(store, &b->pieces[i]);
	}
	free(parts);
}

/* --- in the loop ------------------------------------------------------------------------------------------------------------- */

static void batch_done(void *arg);

static void
send_off(struct collector *c)
{
	struct batch *b = c->next;

	if (c->under_way || b->count == 0)
		return;
	c->under_way = true;
	c->next = batch_new(c);
	daemon_write(c->daemon, batch_work, batch_done, b);
}

static struct run *
run_of(struct piece *p)
{
	struct run *run = p->node->run;

	return run != NULL && strcmp(run_id(run), p->epoch.run) == 0 ? run : NULL;
}

static void
conflict(struct piece *p)
{
	struct ls_err err;

	ls_err_set(&err, LS_E_EXISTS,
	    "node %s: part %llu of its result for phase %llu of run %s was already stored with other bytes",
	    p->node->name, (unsigned long long)p->part, (unsigned long long)p->epoch.phase, p->epoch.run);
	ls_log(LS_LOG_ERROR, "result conflicts", "run=%s node=%s phase=%llu", p->epoch.run, p->node->name,
	    (unsigned long long)p->epoch.phase);
	if (p->node->session != NULL)
		session_fail(p->node->session, &err);
}

static void
piece_stored(struct daemon *d, struct piece *p)
{
	struct msg_ack ack = { .epoch = p->epoch, .part = p->part };

	if (p->stored.rc == LS_E_EXISTS) {
		conflict(p);
		return;
	}
	/* Of a run that was removed, or never was: nobody will ask for it, so the agent may forget it. */
	if (p->stored.rc == LS_E_NOTFOUND && log_budget_take(&d->refusals, ls_mono_now()))
		ls_log(LS_LOG_INFO, "result of a run that is not known", "node=%s", p->node->name);
	session_send(p->node->session, MSG_ACK, &ack);
	if (p->stored.complete && run_of(p) != NULL)
		run_on_stored(run_of(p), p->node->member, &p->epoch, p->state, p->error);
}

static void
batch_done(void *arg)
{
	struct batch *b = arg;
	struct collector *c = b->collector;

	c->under_way = false;
	for (size_t i = 0; i < b->count && !c->daemon->stopping; i++) {
		struct piece *p = &b->pieces[i];

		if (b->rc == LS_OK)
			piece_stored(c->daemon, p);
		else if (run_of(p) != NULL)
			run_on_store_failed(run_of(p), &b->err); /* not acknowledged: the agent keeps it */
		else
			ls_log(LS_LOG_ERROR, "result not stored", "run=%s node=%s why=\"%s\"", p->epoch.run,
			    p->node->name, b->err.text);
	}
	batch_free(b);
	if (!c->daemon->stopping)
		send_off(c);
}

enum ls_rc
collect_part(struct collector *c, struct node *node, struct msg_result_part *m, struct ls_err *err)
{
	struct batch *b = c->next;
	struct piece *p;

	if (m->part >= m->parts || m->parts > PARTS_MAX)
		return ls_err_set(err, LS_E_PROTO, "result-part %llu of %llu is out of range",
		    (unsigned long long)m->part, (unsigned long long)m->parts);
	b->pieces = ls_grow(b->pieces, b->count, sizeof(*b->pieces));
	p = &b->pieces[b->count++];
	memset(p, 0, sizeof(*p));
	p->node = node;
	epoch_copy(&p->epoch, &m->epoch);
	p->part = m->part;
	p->parts = m->parts;
	p->data = m->data;
	m->data = NULL;
	send_off(c);
	return LS_OK;
}
