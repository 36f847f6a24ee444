#include "coordinator/daemon/watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/daemon/insist.h"
#include "coordinator/daemon/operator.h"
#include "coordinator/daemon/progress.h"
#include "proto/codec/live.h"
#include "proto/model/phase_work.h"

#define LIVE_NS      (300 * NS_PER_MS)
#define WAIT_TOLD_NS (3 * NS_PER_S) /* an answer that takes longer is told */
#define NODES_FEW                                                                                                      \
	64 /* a line for people carries the nodes' counters of no more than so many: 2,000 lines may come at once */
#define LIVE_NODES       500          /* with every so many nodes live events come more rarely */
#define LIVE_PENDING_MAX (256U << 10) /* a watcher that reads slowly gets fewer live events, never fewer others */

static const char *
member_state(const struct run *run, size_t i)
{
	const struct member *m = &run->members[i];

	if (m->record.lost)
		return "lost";
	if (m->node->session == NULL)
		return "away";
	if (m->failed)
		return "failed";
	if (tally_given(&run->received, i))
		return "done";
	if (run->stage == STAGE_ARMING)
		return tally_given(&run->barrier.armed, i) ? "armed" : "preparing";
	if (run->stage == STAGE_SETTING)
		return "armed";
	return run->committed ? "running" : "preparing";
}

/* Borrows from the members: only the array is freed. */
static void
fill_nodes(const struct run *run, struct msg_run_event *e)
{
	e->nodes = ls_calloc(run->member_count + 1, sizeof(*e->nodes));
	e->nodes_count = run->member_count;
	for (size_t i = 0; i < run->member_count; i++) {
		const struct member *m = &run->members[i];
		struct live_node *n = &e->nodes[i];

		if (m->live_known) {
			*n = m->live;
			live_node_keep_apart(n);
		} else {
			n->bytes_per_s = n->ops_per_s = (double)NAN;
			n->workers = m->workers;
			n->latency_max_ns = n->latency_p99_ns = LS_UNKNOWN_I64;
			n->free_bytes = LS_UNKNOWN_U64;
		}
		n->heartbeat_age_ns = m->beat_age_ns > 0 ? m->beat_age_ns : LS_UNKNOWN_I64;
		n->node = m->record.info.name;
		if (!m->live_known || m->live.state == NULL || m->live.state[0] == '\0' ||
		    strcmp(member_state(run, i), "running") != 0)
			n->state = (char *)(uintptr_t)member_state(run, i);
	}
}

static void
fill_progress(const struct run *run, struct msg_run_event *e)
{
	const struct phase *p = run_phase(run);
	uint64_t *workers = ls_calloc(run->member_count + 1, sizeof(*workers));
	bool bytes = phase_kind_info((enum phase_kind)p->kind)->unit == PHASE_BYTES;
	uint64_t done = 0;

	for (size_t i = 0; i < run->member_count; i++) {
		workers[i] = run->members[i].workers;
		if (run->members[i].live_known)
			done += bytes ? run->members[i].live.bytes : run->members[i].live.ops;
	}
	if (run->barrier.start.ns > 0)
		e->elapsed_ns = LS_MAX(ls_mono_now().ns - run->barrier.start.ns, 0);
	e->progress = progress_share(p, phase_planned(p, workers, run->member_count), done, e->elapsed_ns);
	e->left_ns = progress_left_ns(p, e->progress, e->elapsed_ns);
	free(workers);
}

static void
fill_event(const struct run *run, const char *text, struct msg_run_event *e)
{
	*e = (struct msg_run_event){
		.run = (char *)(uintptr_t)run->id,
		.state = (int)run_state(run),
		.phase = run->phase,
		.repetition = run->repetition,
		.attempt = run->attempt,
		.title = (char *)(uintptr_t)phase_title(run_phase(run)),
		.phases_total = run_phases_total(run),
		.phases_done = run->phases_done,
		.progress = (double)NAN,
		.elapsed_ns = LS_UNKNOWN_I64,
		.left_ns = LS_UNKNOWN_I64,
		.text = (char *)(uintptr_t)text,
	};
	if (run->stage == STAGE_RUNNING || run->stage == STAGE_COLLECTING)
		fill_progress(run, e);
	if (run->stage != STAGE_ENDED && run->member_count > 0 && (text == NULL || run->member_count <= NODES_FEW))
		fill_nodes(run, e);
}

void
watch_fill(const struct run *run, struct msg_run_event *e)
{
	fill_event(run, NULL, e);
}

/* Once for all watchers. Without the nodes if they are too many for a frame: the rest must not be lost. */
static char *
encode_event(struct msg_run_event *e, size_t *len)
{
	char *text = NULL;

	if (msg_encode(MSG_RUN_EVENT, e, &text, len, NULL) == LS_OK)
		return text;
	free(e->nodes);
	e->nodes = NULL;
	e->nodes_count = 0;
	return session_encode(MSG_RUN_EVENT, e, len);
}

static void
tell(struct run *run, const char *text, struct session *only, bool live)
{
	struct msg_run_event e;
	size_t len = 0;
	char *event;

	if (run->watcher_count == 0 && only == NULL)
		return;
	if (run->check_only)
		return;
	fill_event(run, text, &e);
	event = encode_event(&e, &len);
	session_send_text(only, event, len);
	for (size_t i = 0; only == NULL && i < run->watcher_count; i++) {
		struct session *s = run->watchers[i];

		if (!s->quiet && !(live && conn_output_pending(s->conn) > LIVE_PENDING_MAX))
			session_send_text(s, event, len);
	}
	free(event);
	free(e.nodes);
}

void
watch_tell(struct run *run, const char *text)
{
	tell(run, text, NULL, false);
}

void
watch_tell_one(struct run *run, struct session *s, const char *text)
{
	tell(run, text, s, false);
}

void
watch_pace(struct run *run)
{
	bool busy = run->stage >= STAGE_ASSIGNING && run->stage <= STAGE_RESUMING;
	bool live = run->watcher_count > 0 && (busy || (run->stage == STAGE_ENDED && run->pending > 0));

	if (!live)
		loop_timer_cancel(run->live);
	else if (!loop_timer_armed(run->live))
		loop_timer_set(run->live, LIVE_NS * (int64_t)(1 + run->member_count / LIVE_NODES));
}

/* What the nodes are to do in a stage in which no counters move; NULL: counters tell. */
static const char *
waited_for(enum run_stage stage)
{
	switch (stage) {
	case STAGE_ASSIGNING:
		return "to look at the volume";
	case STAGE_VERIFYING:
		return "to find the tokens of others on the volume";
	case STAGE_STOPPING:
		return "to stop";
	case STAGE_CLEANING:
		return "to remove the run's files";
	case STAGE_RESUMING:
		return "to come back";
	case STAGE_QUEUED:
	case STAGE_WAITING:
	case STAGE_LAYING:
	case STAGE_ARMING:
	case STAGE_SETTING:
	case STAGE_RUNNING:
	case STAGE_COLLECTING:
	case STAGE_VOIDING:
	case STAGE_ENDED:
	case STAGE_COUNT:
		break;
	}
	return NULL;
}

/* Once a stage: who lets the others wait. */
static void
tell_waiting(struct run *run)
{
	const char *what = waited_for(run->stage);
	int64_t since = ls_mono_now().ns - run->stage_since.ns;
	char line[512], names[300], duration[32];

	if (what == NULL || run->wait_told || since < WAIT_TOLD_NS || tally_complete(&run->answers))
		return;
	run->wait_told = true;
	snprintf(line, sizeof(line), "waiting for %s %s: no answer for %s",
	    run_missing(run, &run->answers, names, sizeof(names)), what,
	    units_format_duration(since, duration, sizeof(duration)));
	watch_tell(run, line);
}

/* Once when writes to the store begin to wait, once when they go on. */
static void
tell_store(struct run *run)
{
	char why[1024], line[1200];

	if (insist_waits(run->daemon->insist, why, sizeof(why)) == run->store_told)
		return;
	run->store_told = !run->store_told;
	if (!run->store_told) {
		watch_tell(run, "the store can be written again");
		return;
	}
	snprintf(
	    line, sizeof(line), "waiting for the coordinator's store, tried again until it can be written: %s", why);
	run_warn(run, "the coordinator's store could not be written for a time: %s", why);
	watch_tell(run, line);
}

void
watch_tick(void *arg)
{
	struct run *run = arg;

	tell(run, NULL, NULL, true);
	tell_waiting(run);
	tell_store(run);
	watch_pace(run);
}

static enum done_outcome
outcome_of(enum run_state state)
{
	if (state == RUN_FINISHED)
		return DONE_OK;
	return state == RUN_REFUSED ? DONE_REFUSED : DONE_FAILED;
}

void
watch_end(struct run *run)
{
	struct msg_run_event e;
	struct msg_aborted aborted = { .run = run->id };

	run->watched_end = true;
	fill_event(run, run->reason, &e);
	e.end = true;
	while (run->watcher_count > 0) {
		struct session *s = run->watchers[--run->watcher_count];

		s->watched = NULL;
		if (s->quiet) {
			session_send(s, MSG_ABORTED, &aborted);
			operator_done(s, DONE_OK, NULL);
			continue;
		}
		if (!run->check_only)
			session_send(s, MSG_RUN_EVENT, &e);
		operator_done(s, outcome_of(run->verdict), run->reason);
	}
	free(e.nodes);
}

void
watch_checked(struct run *run, const struct check_row *row)
{
	struct msg_checked m = { .row = *row };

	for (size_t i = 0; i < run->watcher_count; i++)
		session_send(run->watchers[i], MSG_CHECKED, &m);
}

void
run_watch(struct run *run, struct session *s, bool quiet)
{
	s->watched = run;
	s->quiet = quiet;
	run->watchers = ls_grow(run->watchers, run->watcher_count, sizeof(struct session *));
	run->watchers[run->watcher_count++] = s;
	if (!quiet)
		watch_tell_one(run, s, NULL);
	watch_pace(run);
}

void
run_unwatch(struct session *s)
{
	struct run *run = s->watched;

	if (run == NULL)
		return;
	s->watched = NULL;
	for (size_t i = 0; i < run->watcher_count; i++) {
		if (run->watchers[i] != s)
			continue;
		run->watchers[i] = run->watchers[--run->watcher_count];
		break;
	}
	watch_pace(run);
}
