#include "coordinator/daemon/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "coordinator/daemon/insist.h"
#include "coordinator/daemon/operator.h"
#include "coordinator/daemon/run.h"
#include "coordinator/daemon/store/labels.h"
#include "coordinator/daemon/store/removal.h"

#define EVERY_NS     (3600 * NS_PER_S)
#define DAY_NS       (86400 * NS_PER_S)
#define SWEEP_PIECES 64 /* of 64 KiB at most: a few ms, so that acknowledgements do not wait */

struct history {
	struct daemon *daemon;
	struct loop_timer *timer;
	bool looking, again; /* a look for old runs is under way; another one is due after it */
	bool sweeping;
};

/* --- deleting -------------------------------------------------------------------------------------------------------------- */

struct sweep_job {
	struct daemon *daemon;
	bool more;
	enum ls_rc rc;
	struct ls_err err;
};

static void
sweep_work(void *arg)
{
	struct sweep_job *job = arg;

	job->rc = store_sweep(job->daemon->store, SWEEP_PIECES, &job->more, &job->err);
}

/* The next portion queues up behind whatever else is to be written. */
static void
sweep_done(void *arg)
{
	struct sweep_job *job = arg;
	struct daemon *d = job->daemon;

	if (!d->stopping && job->rc == LS_OK && job->more) {
		daemon_write(d, sweep_work, sweep_done, job);
		return;
	}
	if (!d->stopping) {
		d->history->sweeping = false;
		if (job->rc != LS_OK)
			ls_log(LS_LOG_ERROR, "results of removed runs not deleted", "why=\"%s\"", job->err.text);
	}
	free(job);
}

static void
sweep(struct daemon *d)
{
	struct sweep_job *job;

	if (d->history->sweeping)
		return;
	job = ls_calloc(1, sizeof(*job));
	job->daemon = d;
	d->history->sweeping = true;
	daemon_write(d, sweep_work, sweep_done, job);
}

/* --- limits ----------------------------------------------------------------------------------------------------------------- */

struct limit_job {
	struct daemon *daemon;
	struct store_limits limits;
	struct store_expired *expired;
	size_t count;
	size_t removed;
	enum ls_rc rc;
	struct ls_err err;
};

static void look(struct daemon *d);

/* Both in the writer's thread: nothing can come between. Runs that end just now are in the store as ended only after their last write. */
static void
limit_work(void *arg)
{
	struct limit_job *job = arg;
	struct store *store = job->daemon->store;

	job->rc = store_find_expired(store, &job->limits, &job->expired, &job->count, &job->err);
	while (job->rc == LS_OK && job->removed < job->count) {
		job->rc = store_remove_run(store, job->expired[job->removed].run, &job->err);
		job->removed += job->rc == LS_OK;
	}
}

static void
limit_done(void *arg)
{
	struct limit_job *job = arg;
	struct daemon *d = job->daemon;

	for (size_t i = 0; i < job->removed; i++)
		ls_log(LS_LOG_INFO, "run removed", "run=%s limit=%s", job->expired[i].run,
		    job->expired[i].by_age ? "keep_days" : "keep_runs");
	if (!d->stopping) {
		if (job->rc != LS_OK)
			ls_log(LS_LOG_ERROR, "old runs not removed", "why=\"%s\"", job->err.text);
		if (job->removed > 0)
			sweep(d);
		d->history->looking = false;
		if (d->history->again)
			look(d);
	}
	store_expired_free(job->expired, job->count);
	free(job);
}

static void
look(struct daemon *d)
{
	const struct lockstepd_config *c = d->config;
	struct history *h = d->history;
	struct limit_job *job;

	if (c->keep_runs == 0 && c->keep_days == 0)
		return;
	h->again = h->looking;
	if (h->looking)
		return;
	h->looking = true;
	job = ls_calloc(1, sizeof(*job));
	job->daemon = d;
	job->limits.runs = c->keep_runs;
	if (c->keep_days > 0)
		job->limits.before_ns = ls_wall_now().ns - (int64_t)c->keep_days * DAY_NS;
	daemon_write(d, limit_work, limit_done, job);
}

static void
on_hour(void *arg)
{
	struct history *h = arg;

	look(h->daemon);
	loop_timer_set(h->timer, EVERY_NS);
}

void
history_run_over(struct daemon *d)
{
	if (!d->stopping && d->history != NULL)
		look(d);
}

struct history *
history_new(struct daemon *d)
{
	struct history *h = ls_calloc(1, sizeof(*h));

	h->daemon = d;
	h->timer = loop_timer_new(d->loop, on_hour, h);
	d->history = h;
	sweep(d);
	on_hour(h);
	return h;
}

void
history_free(struct history *h)
{
	if (h == NULL)
		return;
	loop_timer_free(h->timer);
	free(h);
}

/* --- tags and notes --------------------------------------------------------------------------------------------------------- */

struct label_job {
	struct daemon *daemon;
	uint64_t session; /* 0: nobody waits for the answer */
	char *prefix;     /* NULL: the newest */
	char *id;
	struct msg_tag ask;
	struct msg_tagged answer;
	enum ls_rc rc;
	struct ls_err err;
};

/* One attempt: tags and note must not be lost because the disk is full for a while. */
static enum ls_rc
label_once(struct store *store, void *arg, struct ls_err *err)
{
	struct label_job *job = arg;
	const struct label_change change = { job->ask.add, job->ask.add_count, job->ask.remove, job->ask.remove_count,
		job->ask.note };
	enum ls_rc rc = LS_OK;

	if (job->id == NULL)
		rc = store_find_run(store, job->prefix, &job->id, err);
	return rc == LS_OK ? store_label(store, job->id, &change, err) : rc;
}

static void
label_work(void *arg)
{
	struct label_job *job = arg;
	struct store *store = job->daemon->store;
	struct store_run row = { 0 };

	job->rc = insist_do(job->daemon->insist, store, label_once, job, &job->err);
	if (job->rc == LS_OK)
		job->rc = store_get_run(store, job->id, &row, &job->err);
	if (job->rc == LS_OK)
		job->rc = store_get_tags(store, job->id, &job->answer.tags, &job->answer.tags_count, &job->err);
	free(job->answer.run);
	job->answer.run = ls_strdup(job->id);
	job->answer.note = ls_strdup(row.note);
	store_run_fini(&row);
}

static enum done_outcome
outcome_of(enum ls_rc rc)
{
	if (rc == LS_OK)
		return DONE_OK;
	return rc == LS_E_STORE ? DONE_FAILED : DONE_REFUSED;
}

static void
label_done(void *arg)
{
	struct label_job *job = arg;
	struct session *s = session_find(job->daemon, job->session);

	if (job->session == 0 && job->rc != LS_OK)
		ls_log(LS_LOG_ERROR, "tags of a run not kept", "run=%s why=\"%s\"", job->prefix, job->err.text);
	if (s != NULL && !job->daemon->stopping) {
		if (job->rc == LS_OK)
			session_send(s, MSG_TAGGED, &job->answer);
		operator_done(s, outcome_of(job->rc), job->rc == LS_OK ? NULL : job->err.text);
	}
	msg_body_fini(MSG_TAG, &job->ask);
	msg_body_fini(MSG_TAGGED, &job->answer);
	free(job->prefix);
	free(job->id);
	free(job);
}

static struct label_job *
label_job_new(struct daemon *d, uint64_t session, const char *prefix)
{
	struct label_job *job = ls_calloc(1, sizeof(*job));

	job->daemon = d;
	job->session = session;
	job->prefix = ls_strdup(prefix);
	msg_body_init(MSG_TAG, &job->ask);
	msg_body_init(MSG_TAGGED, &job->answer);
	return job;
}

enum ls_rc
operator_on_tag(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_tag *m = body;
	enum ls_rc rc = operator_begin(s, err);
	struct label_job *job;

	(void)received;
	if (rc != LS_OK)
		return rc;
	job = label_job_new(s->daemon, s->number, m->run);
	job->ask = *m; /* changes hands */
	msg_body_init(MSG_TAG, m);
	daemon_write(s->daemon, label_work, label_done, job);
	return LS_OK;
}

void
history_label_new(struct daemon *d, const char *run, const struct msg_submit *m)
{
	struct label_job *job;

	if (m->tags_count == 0 && m->note == NULL)
		return;
	job = label_job_new(d, 0, run);
	if (m->tags_count > 0)
		job->ask.add = ls_calloc(m->tags_count, sizeof(*job->ask.add));
	for (size_t i = 0; i < m->tags_count; i++)
		job->ask.add[job->ask.add_count++] = ls_strdup(m->tags[i]);
	job->ask.note = ls_strdup(m->note);
	daemon_write(d, label_work, label_done, job);
}

/* --- removing one ----------------------------------------------------------------------------------------------------------- */

struct remove_job {
	struct daemon *daemon;
	uint64_t session;
	char *prefix;
	bool ask;
	struct store_run row;
	enum ls_rc rc;
	struct ls_err err;
};

static void
remove_work(void *arg)
{
	struct remove_job *job = arg;
	struct store *store = job->daemon->store;
	char *id = NULL;

	job->rc = store_find_run(store, job->prefix, &id, &job->err);
	if (job->rc == LS_OK)
		job->rc = store_get_run(store, id, &job->row, &job->err);
	if (job->rc == LS_OK && !run_state_is_end(job->row.state))
		job->rc = ls_err_set(&job->err, LS_E_REFUSED, "run %s has not ended; lockstep abort ends it", id);
	if (job->rc == LS_OK && !job->ask)
		job->rc = store_remove_run(store, id, &job->err);
	free(id);
}

static void
remove_done(void *arg)
{
	struct remove_job *job = arg;
	struct daemon *d = job->daemon;
	struct session *s = session_find(d, job->session);

	if (job->rc == LS_OK && !job->ask) {
		ls_log(LS_LOG_INFO, "run removed", "run=%s by=operator", job->row.id);
		if (!d->stopping)
			sweep(d);
	}
	if (s != NULL && !d->stopping) {
		char stamp[40];
		struct msg_removed m = { .run = operator_row(&job->row, NULL, stamp, sizeof(stamp)) };

		if (job->rc == LS_OK)
			session_send(s, MSG_REMOVED, &m);
		operator_row_fini(&m.run);
		operator_done(s, outcome_of(job->rc), job->rc == LS_OK ? NULL : job->err.text);
	}
	store_run_fini(&job->row);
	free(job->prefix);
	free(job);
}

enum ls_rc
operator_on_remove(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_remove *m = body;
	enum ls_rc rc = operator_begin(s, err);
	struct remove_job *job;

	(void)received;
	if (rc != LS_OK)
		return rc;
	job = ls_calloc(1, sizeof(*job));
	job->daemon = s->daemon;
	job->session = s->number;
	job->prefix = ls_strdup(m->run);
	job->ask = m->ask;
	daemon_write(s->daemon, remove_work, remove_done, job);
	return LS_OK;
}
