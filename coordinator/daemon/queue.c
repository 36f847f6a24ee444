/* The queue of runs: ids, submission, whose turn it is. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/base/log.h"
#include "coordinator/daemon/run_int.h"

/* YYYYMMDD-HHMMSS-xxxx: sorts by time, and the random end keeps two of one second apart. */
static void
make_id(struct daemon *d, char *id, size_t len)
{
	do {
		time_t now = (time_t)(ls_wall_now().ns / NS_PER_S);
		uint16_t tail = 0;
		struct tm tm;
		char stamp[20];

		if (getrandom(&tail, sizeof(tail), 0) != (ssize_t)sizeof(tail))
			tail = (uint16_t)ls_mono_now().ns;
		gmtime_r(&now, &tm);
		strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
		snprintf(id, len, "%s-%04x", stamp, tail);
	} while (run_find(d, id) != NULL);
}

static size_t
live_count(const struct daemon *d)
{
	size_t n = 0;

	for (const struct run *r = d->runs; r != NULL; r = r->next)
		n += r->stage != STAGE_ENDED;
	return n;
}

enum ls_rc
run_submit(struct daemon *d, struct job *job, int64_t wait_ns, bool check_only, struct run **out, struct ls_err *err)
{
	enum ls_rc rc = job_validate(job, err);
	struct run *run;
	char id[RUN_ID_BYTES];

	if (rc != LS_OK)
		return rc;
	if (live_count(d) >= d->config->max_queue)
		return ls_err_set(err, LS_E_LIMIT, "%zu runs wait already (max_queue)", live_count(d));
	make_id(d, id, sizeof(id));
	run = run_new(d, id);
	field_struct_fini(&job_desc, &run->job);
	run->job = *job;
	field_struct_init(&job_desc, job);
	run->wait_ns = wait_ns;
	run->check_only = run->kept = check_only;
	run->started_ns = ls_wall_now().ns;
	run->started = ls_mono_now();
	run_add(d, run);
	ls_log(LS_LOG_INFO, "run submitted", "run=%s phases=%llu", run->id, (unsigned long long)run_phases_total(run));
	run_save(run);
	*out = run;
	return LS_OK;
}

void
run_when_kept(struct run *run, run_kept_fn fn, uint64_t session)
{
	if (run->kept) {
		fn(run->daemon, run, session, NULL);
		return;
	}
	run->on_kept = fn;
	run->submitter = session;
}

void
run_on_kept(struct run *run, const struct ls_err *why)
{
	run->kept = true;
	if (run->on_kept != NULL)
		run->on_kept(run->daemon, run, run->submitter, why);
	run->on_kept = NULL;
	if (why == NULL)
		run_queue_next(run->daemon);
}

size_t
run_ahead(const struct run *run)
{
	size_t n = 0;

	for (const struct run *r = run->daemon->runs; r != NULL && r != run; r = r->next)
		n += r->stage != STAGE_ENDED;
	return n;
}

struct run *
run_find(struct daemon *d, const char *prefix)
{
	struct run *found = NULL;

	if (prefix == NULL)
		return d->active;
	for (struct run *r = d->runs; r != NULL; r = r->next) {
		if (strcmp(r->id, prefix) == 0)
			return r;
		if (strncmp(r->id, prefix, strlen(prefix)) != 0)
			continue;
		if (found != NULL)
			return NULL;
		found = r;
	}
	return found;
}

void
run_cancel(struct run *run, const char *reason)
{
	if (reason != NULL && reason[0] != '\0')
		run_decide(run, RUN_ABORTED, "%s", reason);
	else
		run_decide(run, RUN_ABORTED, "aborted by an operator");
	run_raise(run, EV_CANCEL);
}

void
run_queue_next(struct daemon *d)
{
	struct run *r = d->runs;

	if (d->active != NULL || d->stopping)
		return;
	while (r != NULL && r->stage != STAGE_QUEUED && r->stage != STAGE_RESUMING)
		r = r->next;
	if (r == NULL || !r->kept)
		return;
	d->active = r;
	if (r->stage == STAGE_RESUMING)
		run_resume_check(r);
	else
		run_raise(r, EV_TURN);
}

void
run_nodes_changed(struct daemon *d)
{
	if (d->active != NULL && d->active->stage == STAGE_WAITING)
		run_act_wait(d->active);
}
