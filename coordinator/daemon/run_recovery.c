/* Phases in which a node is expected to be lost: what each said it had fsynced, when it was lost, when it came back. */
#include "coordinator/daemon/run_recovery.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/watch.h"
#include "proto/model/cluster.h"

#define SAVE_NS   NS_PER_S       /* what nodes said goes into the store so often */
#define SETTLE_NS (2 * NS_PER_S) /* from the return of the last lost node to the next look */

/* Members whose loss is of this job's recovery phase that is under way, in whichever of its steps. */
static bool
is_lost_in_row(const struct run *run, size_t i)
{
	const struct node_loss *loss = run->members[i].record.info.loss;

	return run->members[i].record.lost && loss != NULL && loss->repetition == run->repetition &&
	    loss->phase + run_phase(run)->step >= run->phase && loss->phase <= run->phase;
}

/* --- what was fsynced -------------------------------------------------------------------------------------------- */

void
run_recovery_begin(struct run *run)
{
	if (!recovery_is(run_phase(run), RECOVERY_WRITE))
		return;
	for (size_t i = 0; i < run->member_count; i++)
		if (!run->members[i].record.lost)
			run->members[i].record.info.fsynced = 0;
	run->nodes_changed = true;
}

void
run_on_fsynced(struct run *run, size_t i, const struct msg_fsynced *m)
{
	struct run_node *info = &run->members[i].record.info;
	struct ls_mono now = ls_mono_now();

	if (!run_epoch_is(run, &m->epoch) || !recovery_is(run_phase(run), RECOVERY_WRITE)) {
		run->stale++;
		return;
	}
	if (m->records <= info->fsynced)
		return;
	info->fsynced = m->records;
	run->nodes_changed = true;
	run->progress_at = now;
	if (now.ns - run->fsynced_saved.ns < SAVE_NS)
		return;
	run->fsynced_saved = now;
	run_save(run);
}

int64_t *
run_recovery_wanted(const struct run *run)
{
	const struct phase *phase = run_phase(run);
	bool again = recovery_is(phase, RECOVERY_AGAIN);
	int64_t *wanted;

	if (!again && !recovery_is(phase, RECOVERY_LOOK))
		return NULL;
	wanted = ls_calloc(run->member_count, sizeof(*wanted));
	for (size_t i = 0; i < run->member_count; i++) {
		const struct member *m = &run->members[i];

		/* Who was lost in an earlier repetition has written nothing in this one. */
		if (m->record.lost && !is_lost_in_row(run, i))
			continue;
		if (!again || m->record.lost)
			wanted[i] = (int64_t)m->record.info.fsynced;
	}
	return wanted;
}

/* --- loss and return --------------------------------------------------------------------------------------------- */

void
run_recovery_lost(struct run *run, size_t i)
{
	struct member *m = &run->members[i];
	struct node_loss *loss = ls_malloc(sizeof(*loss));
	bool began = run->committed && run->barrier.start.ns > 0;

	field_struct_init(&node_loss_desc, loss);
	loss->phase = run->phase;
	loss->repetition = run->repetition;
	if (m->heard.ns > 0)
		loss->noticed_after_ns = ls_mono_now().ns - m->heard.ns;
	if (m->heard.ns > 0 && began)
		loss->at_ns = m->heard.ns - run->barrier.start.ns;
	free(m->record.info.loss);
	m->record.info.loss = loss;
}

bool
run_recovery_too_many(const struct run *run)
{
	uint64_t lost = 0;

	if (run->job.phases_count == 0 || run_phase(run)->kind != PHASE_RECOVERY)
		return false;
	for (size_t i = 0; i < run->member_count; i++)
		lost += is_lost_in_row(run, i);
	return lost > run_phase(run)->expect_loss;
}

int64_t
run_recovery_wait_ns(const struct run *run)
{
	if (!recovery_is(run_phase(run), RECOVERY_AGAIN))
		return 0;
	for (size_t i = 0; i < run->member_count; i++)
		if (is_lost_in_row(run, i) && !run->members[i].record.info.loss->returned)
			return run_phase(run)->return_time;
	return 0;
}

void
run_recovery_back(struct run *run, size_t i)
{
	struct member *m = &run->members[i];
	struct node_loss *loss = m->record.info.loss;
	char line[256], after[32];

	if (loss == NULL || loss->returned || run->stage == STAGE_ENDED)
		return;
	loss->returned = true;
	if (m->heard.ns > 0)
		loss->back_after_ns = ls_mono_now().ns - m->heard.ns;
	run->nodes_changed = true;
	snprintf(line, sizeof(line), "node %s, which was lost, is connected again%s%s", m->record.info.name,
	    m->heard.ns > 0 ? " after " : "",
	    m->heard.ns > 0 ? units_format_duration(loss->back_after_ns, after, sizeof(after)) : "");
	ls_log(LS_LOG_INFO, "a lost node is back", "run=%s node=%s", run->id, m->record.info.name);
	watch_tell(run, line);
	if (run->stage != STAGE_ARMING || !recovery_is(run_phase(run), RECOVERY_AGAIN) || run_recovery_wait_ns(run) > 0)
		return;
	/*
	 * The arm that is under way says what to look for by who is lost, not by who is back: it holds. Only the rest ends.
	 */
	if (run->rest_until.ns > 0) {
		run->rest_until.ns = ls_mono_now().ns + SETTLE_NS;
		loop_timer_set(run->rest, SETTLE_NS);
	}
}
