#include "coordinator/daemon/run_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "coordinator/daemon/watch.h"

typedef void (*action_fn)(struct run *run);

static void
no_action(struct run *run)
{
	(void)run;
}

static const action_fn actions[ACT_COUNT] = {
	[ACT_NONE] = no_action,
	[ACT_WAIT] = run_act_wait,
	[ACT_ASSIGN] = run_act_assign,
	[ACT_VERIFY] = run_act_verify,
	[ACT_LAY] = run_act_lay,
	[ACT_ARM] = run_act_arm,
	[ACT_GO] = run_act_go,
	[ACT_COMMIT] = run_act_commit,
	[ACT_AWAIT] = run_act_await,
	[ACT_VOID] = run_act_void,
	[ACT_RETRY] = run_act_retry,
	[ACT_COLLECT] = run_act_collect,
	[ACT_NEXT] = run_act_next,
	[ACT_STOP] = run_act_stop,
	[ACT_CLEAN] = run_act_clean,
	[ACT_RECOUNT] = run_recount,
	[ACT_END] = run_act_end,
};

/* --- the machine ------------------------------------------------------------------------------------------------------ */

/* The only place that writes ->stage (run_restore.c sets the first one). */
static void
enter(struct run *run, const struct fsm_edge *edge)
{
	enum run_stage to = (enum run_stage)edge->to;

	if (to != run->stage) {
		ls_log(to == STAGE_ENDED ? LS_LOG_INFO : LS_LOG_DEBUG, "run",
		    "run=%s %s -> %s (%s) phase=%llu repetition=%llu attempt=%llu", run->id,
		    run_fsm.state_names[run->stage], run_fsm.state_names[to], run_fsm.event_names[edge->event],
		    (unsigned long long)run->phase, (unsigned long long)run->repetition,
		    (unsigned long long)run->attempt);
		loop_timer_cancel(run->deadline);
		run->stage = to;
		run->wait_told = false;
		run->stage_since = ls_mono_now();
		run->progress_at = run->stage_since;
	}
	actions[edge->action](run);
	watch_pace(run);
}

void
run_raise(struct run *run, enum run_event event)
{
	if (run->event_count == RUN_QUEUED_MAX) {
		ls_log(LS_LOG_ERROR, "run event dropped", "run=%s event=%s", run->id, run_fsm.event_names[event]);
		return;
	}
	run->events[run->event_count++] = (int)event;
	if (run->handling)
		return;
	run->handling = true;
	while (run->event_count > 0) {
		int next = run->events[0];
		const struct fsm_edge *edge = fsm_find(&run_fsm, (int)run->stage, next);

		run->event_count--;
		memmove(run->events, run->events + 1, run->event_count * sizeof(run->events[0]));
		if (edge != NULL) {
			enter(run, edge);
			continue;
		}
		run->stale++;
		ls_log(LS_LOG_DEBUG, "run event has no edge", "run=%s stage=%s event=%s", run->id,
		    run_fsm.state_names[run->stage], run_fsm.event_names[next]);
	}
	run->handling = false;
	if (run->stage == STAGE_ENDED && run->pending == 0)
		run_release(run);
}

void
run_decide(struct run *run, enum run_state verdict, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (run->verdict != RUN_NO_VERDICT)
		return;
	run->verdict = verdict;
	if (fmt == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	run->reason = ls_strdup(text);
	ls_log(LS_LOG_INFO, "run decided", "run=%s verdict=%s why=\"%s\"", run->id, run_state_names[verdict], text);
}

void
run_warn(struct run *run, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	warnings_add(&run->warnings, &run->warning_count, "%s", text);
	run->warnings_changed = true;
}

/* --- life --------------------------------------------------------------------------------------------------------------- */

static void
on_rested(void *arg)
{
	run_on_rested(arg);
}

static void
on_deadline(void *arg)
{
	struct run *run = arg;

	switch (run->stage) {
	case STAGE_WAITING:
	case STAGE_ASSIGNING:
	case STAGE_VERIFYING:
	case STAGE_RESUMING:
		run_on_deadline_prepare(run);
		break;
	case STAGE_LAYING:
	case STAGE_ARMING:
	case STAGE_SETTING:
	case STAGE_RUNNING:
	case STAGE_COLLECTING:
	case STAGE_VOIDING:
		run_on_deadline_phase(run);
		break;
	case STAGE_STOPPING:
	case STAGE_CLEANING:
		run_on_deadline_end(run);
		break;
	case STAGE_QUEUED:
	case STAGE_ENDED:
	case STAGE_COUNT:
		run->stale++;
		break;
	}
}

void
run_set_deadline(struct run *run, int64_t ns)
{
	loop_timer_set(run->deadline, ns);
}

struct run *
run_new(struct daemon *d, const char *id)
{
	struct run *run = ls_calloc(1, sizeof(*run));

	run->daemon = d;
	snprintf(run->id, sizeof(run->id), "%s", id);
	field_struct_init(&job_desc, &run->job);
	run->stage = STAGE_QUEUED;
	run->verdict = RUN_NO_VERDICT;
	run->duration_ns = LS_UNKNOWN_I64;
	run->deadline = loop_timer_new(d->loop, on_deadline, run);
	run->rest = loop_timer_new(d->loop, on_rested, run);
	run->live = loop_timer_new(d->loop, watch_tick, run);
	run->nodes_changed = run->warnings_changed = true;
	return run;
}

void
run_add(struct daemon *d, struct run *run)
{
	struct run **at = &d->runs;

	while (*at != NULL)
		at = &(*at)->next;
	*at = run;
}

static void
on_loss(void *arg)
{
	struct member *m = arg;

	run_lose(m->run, m->index);
}

void
run_set_members(struct run *run, size_t count)
{
	run->members = ls_calloc(count, sizeof(*run->members));
	run->member_count = count;
	for (size_t i = 0; i < count; i++) {
		struct member *m = &run->members[i];

		m->run = run;
		m->index = i;
		m->loss = loop_timer_new(run->daemon->loop, on_loss, m);
		field_struct_init(&run_member_desc, &m->record);
		field_struct_init(&live_node_desc, &m->live);
	}
	barrier_init(&run->barrier, count);
	tally_init(&run->answers, count);
	tally_init(&run->received, count);
	tally_init(&run->stored, count);
	run->nodes_changed = true;
}

void
run_drop_members(struct run *run)
{
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];

		if (m->node != NULL && m->node->run == run)
			m->node->run = NULL;
		loop_timer_free(m->loss);
		field_struct_fini(&run_member_desc, &m->record);
		field_struct_fini(&live_node_desc, &m->live);
		free(m->refused);
		free(m->blind_to);
		free(m->failed_text);
	}
	free(run->members);
	run->members = NULL;
	run->member_count = 0;
	barrier_fini(&run->barrier);
	tally_fini(&run->answers);
	tally_fini(&run->received);
	tally_fini(&run->stored);
}

static void
run_free(void *arg)
{
	struct run *run = arg;

	run_drop_members(run);
	run_steady_forget(run);
	loop_timer_free(run->deadline);
	loop_timer_free(run->rest);
	loop_timer_free(run->live);
	field_struct_fini(&job_desc, &run->job);
	free(run->job_text);
	free(run->held_line);
	free(run->waits_for);
	store_phase_fini(&run->over);
	free(run->reason);
	for (size_t i = 0; i < run->warning_count; i++)
		free(run->warnings[i]);
	free(run->warnings);
	free(run->watchers);
	free(run);
}

static void
take_out(struct run *run)
{
	struct daemon *d = run->daemon;

	for (struct run **at = &d->runs; *at != NULL; at = &(*at)->next) {
		if (*at == run) {
			*at = run->next;
			break;
		}
	}
	if (d->active == run)
		d->active = NULL;
}

void
run_release(struct run *run)
{
	if (run->watched_end)
		return;
	watch_end(run);
	loop_timer_cancel(run->deadline);
	loop_timer_cancel(run->rest);
	loop_timer_cancel(run->live);
	take_out(run);
	loop_defer(run->daemon->loop, run_free, run);
}

void
run_free_all(struct daemon *d)
{
	while (d->runs != NULL) {
		struct run *run = d->runs;

		d->runs = run->next;
		run_free(run);
	}
	d->active = NULL;
}

/* --- small questions ------------------------------------------------------------------------------------------------------ */

const char *
run_id(const struct run *run)
{
	return run->id;
}

enum run_state
run_state(const struct run *run)
{
	return run->stage == STAGE_ENDED ? run->verdict : run_stage_state(run->stage);
}

const char *
run_reason(const struct run *run)
{
	return run->reason;
}

const struct phase *
run_phase(const struct run *run)
{
	return &run->job.phases[run->phase];
}

uint64_t
run_phases_total(const struct run *run)
{
	return run->job.phases_count * run->job.repeat;
}

bool
run_epoch_is(const struct run *run, const struct epoch *e)
{
	struct epoch mine = run_epoch(run);

	return epoch_equal(&mine, e);
}

struct epoch
run_epoch(const struct run *run)
{
	return (struct epoch){
		.run = (char *)(uintptr_t)run->id,
		.phase = run->phase,
		.repetition = run->repetition,
		.attempt = run->attempt,
	};
}

void
run_send(struct run *run, size_t i, enum msg_type type, const void *body)
{
	session_send(run->members[i].node->session, type, body);
}

void
run_send_all(struct run *run, enum msg_type type, const void *body)
{
	size_t len = 0;
	char *text = session_encode(type, body, &len);

	for (size_t i = 0; i < run->member_count; i++)
		if (!run->members[i].record.lost)
			session_send_text(run->members[i].node->session, text, len);
	free(text);
}

const char *
run_missing(const struct run *run, const struct tally *t, char *buf, size_t len)
{
	size_t n = 0, named = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < run->member_count && n < len; i++) {
		if (!tally_wanted(t, i))
			continue;
		if (named == 8) {
			snprintf(buf + n, len - n, " and %zu more", t->missing - named);
			break;
		}
		n +=
		    (size_t)snprintf(buf + n, len - n, "%s%s", named > 0 ? ", " : "", run->members[i].record.info.name);
		named++;
	}
	return buf;
}

bool *
run_present(const struct run *run)
{
	bool *wanted = ls_calloc(run->member_count + 1, sizeof(bool));

	for (size_t i = 0; i < run->member_count; i++)
		wanted[i] = !run->members[i].record.lost;
	return wanted;
}

const char *
run_error_text(const struct member *m, const struct io_error *e, char *buf, size_t len)
{
	snprintf(buf, len, "node %s: %s", m->record.info.name,
	    e->text != NULL && e->text[0] != '\0' ? e->text : "failed without a reason");
	return buf;
}
