/* A phase that is to end once it is steady (steady.h): what the nodes' samples say, and the one instant at which all end. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/watch.h"

/* Nothing is waiting for the end: time enough for a node whose connection is slow just now. */
#define END_LEAD_NS (100 * NS_PER_MS)

/* Reads and writes are never added up, operations of a given share can be. */
static bool
counts_operations(const struct phase *p)
{
	const struct phase_kind_info *info = phase_kind_info((enum phase_kind)p->kind);

	return info->unit != PHASE_BYTES || (info->groups & PHASE_MIXED_WORK) != 0;
}

void
run_steady_begin(struct run *run)
{
	const struct phase *p = run_phase(run);
	struct steady_rule rule = {
		.from_ns = p->warmup,
		.until_ns = p->warmup + p->time,
		.interval_ns = p->steady_window / STEADY_INTERVALS,
		.range_percent = (double)p->steady_range,
		.slope_percent = (double)p->steady_slope,
	};
	bool *counts;

	if (p->steady_window == 0)
		return;
	counts = ls_calloc(run->member_count + 1, sizeof(*counts));
	for (size_t i = 0; i < run->member_count; i++)
		counts[i] = run->members[i].workers > 0 && !run->members[i].record.lost;
	steady_begin(&run->steady, &rule, counts, run->member_count);
	free(counts);
}

void
run_steady_forget(struct run *run)
{
	steady_end(&run->steady);
	if (run->steady_told != NULL)
		field_struct_fini(&steady_desc, run->steady_told);
	free(run->steady_told);
	run->steady_told = NULL;
}

void
run_steady_sample(struct run *run, size_t i, const struct msg_sample *m)
{
	if (m->at_ns != LS_UNKNOWN_I64)
		steady_sample(
		    &run->steady, i, m->at_ns, counts_operations(run_phase(run)) ? m->live.ops : m->live.bytes);
}

/* What the document says of the last window. */
static struct steady *
report(const struct run *run)
{
	const struct steady_figures *f = &run->steady.last;
	struct steady *s = ls_calloc(1, sizeof(*s));

	field_struct_init(&steady_desc, s);
	s->operations = counts_operations(run_phase(run));
	s->window_ns = run_phase(run)->steady_window;
	s->windows = run->steady.windows;
	if (s->windows == 0)
		return s;
	s->window_end_ns = f->end_ns;
	s->mean = f->mean;
	s->range_percent = f->range_percent;
	s->slope_percent = f->slope_percent;
	s->rates = ls_calloc(STEADY_INTERVALS, sizeof(*s->rates));
	s->rates_count = STEADY_INTERVALS;
	for (size_t i = 0; i < STEADY_INTERVALS; i++)
		s->rates[i] = (int64_t)f->rates[i];
	return s;
}

static void
send_end(struct run *run, size_t i)
{
	struct member *m = &run->members[i];
	struct msg_end_at body = { .epoch = run_epoch(run) };
	struct ls_mono end = { run->barrier.start.ns + run->steady_told->end_ns };
	struct clock_estimate e;

	if (m->record.lost || m->workers == 0)
		return;
	/* It has drifted since the start: the newest estimate, but any is better than none. */
	if (clockfit_estimate(&m->node->clock.fit, end, &e) != LS_OK)
		e = m->clock.better;
	body.end_ns = clockfit_to_remote(&e, end).ns;
	run_send(run, i, MSG_END_AT, &body);
}

static void
end_all(struct run *run)
{
	const struct steady_watch *w = &run->steady;
	struct steady *s = report(run);
	char after[32], line[320];

	s->reached = true;
	s->end_ns = LS_MIN(
	    ls_mono_now().ns + barrier_lead_ns(&run->barrier) + END_LEAD_NS - run->barrier.start.ns, w->rule.until_ns);
	run->steady_told = s;
	for (size_t i = 0; i < run->member_count; i++)
		send_end(run, i);
	snprintf(line, sizeof(line), "%s: steady after %s: range %.1f %%, slope %+.1f %%; all nodes end",
	    phase_title(run_phase(run)), units_format_duration(s->window_end_ns, after, sizeof(after)),
	    s->range_percent, s->slope_percent);
	ls_log(LS_LOG_INFO, "phase steady", "run=%s phase=%llu window_end_ms=%lld end_ms=%lld windows=%llu", run->id,
	    (unsigned long long)run->phase, (long long)(s->window_end_ns / NS_PER_MS),
	    (long long)(s->end_ns / NS_PER_MS), (unsigned long long)s->windows);
	run->warnings_changed = true; /* it goes with them, so that a restarted coordinator knows why the phase ended */
	run_save(run);
	watch_tell(run, line);
}

void
run_steady_look(struct run *run)
{
	if (!steady_watches(&run->steady) || run->steady_told != NULL)
		return;
	for (size_t i = 0; i < run->member_count; i++)
		if (run->members[i].record.lost)
			steady_drop(&run->steady, i);
	if (steady_judge(&run->steady) && run->steady.last.steady)
		end_all(run);
}

void
run_steady_back(struct run *run, size_t i)
{
	if (run->steady_told != NULL && run->barrier.start.ns != 0) /* 0: told before a restart */
		send_end(run, i);
}

struct steady *
run_steady_take(struct run *run, enum phase_state state)
{
	struct steady *s = run->steady_told;
	const char *why;

	if (run_phase(run)->steady_window == 0)
		return NULL;
	run->steady_told = NULL;
	if (s != NULL)
		return s;
	s = report(run);
	if (!steady_watches(&run->steady))
		why = "the coordinator was restarted in the phase, which then goes on to its time";
	else if (state != PHASE_STATE_DONE)
		why = "the phase was cut short";
	else if (s->windows == 0)
		why = "not all nodes told their counters for as long as a window";
	else
		why = "the phase's time was over before";
	free(s->why_not);
	s->why_not = ls_strdup(why);
	return s;
}
