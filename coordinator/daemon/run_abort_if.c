/* What a job wants to be ended by (abort_if), looked for in each sample of a phase, and where it is the heartbeat in each pong. */
#include <stdio.h>

#include "common/base/units.h"
#include "coordinator/daemon/run.h"
#include "coordinator/daemon/run_int.h"

static bool
is_above(int64_t value, int64_t limit)
{
	return limit > 0 && value != LS_UNKNOWN_I64 && value > limit;
}

static void
end_run(struct run *run, size_t i, const char *what, const char *key, int64_t value, int64_t limit)
{
	char reason[512], is[32], may[32];

	snprintf(reason, sizeof(reason), "abort_if: node %s, phase %s: %s %s, %s is %s",
	    run->members[i].record.info.name, phase_title(run_phase(run)), what,
	    units_format_duration(value, is, sizeof(is)), key, units_format_duration(limit, may, sizeof(may)));
	run_cancel(run, reason);
}

static bool
is_under_load(const struct run *run)
{
	return run->stage == STAGE_LAYING || run->stage == STAGE_ARMING || run->stage == STAGE_SETTING ||
	    run->stage == STAGE_RUNNING;
}

static bool
is_short_of_space(struct run *run, size_t i, uint64_t free_bytes, uint64_t limit)
{
	char reason[512], is[32], may[32];

	if (limit == 0 || free_bytes == LS_UNKNOWN_U64 || free_bytes >= limit)
		return false;
	snprintf(reason, sizeof(reason), "abort_if: node %s, phase %s: %s are free on the volume, free_space is %s",
	    run->members[i].record.info.name, phase_title(run_phase(run)),
	    units_format_size(free_bytes, is, sizeof(is)), units_format_size(limit, may, sizeof(may)));
	run_cancel(run, reason);
	return true;
}

void
run_abort_check(struct run *run, size_t i, const struct live_node *live)
{
	const struct job_abort_if *when = run->job.abort_if;

	if (when == NULL || !is_under_load(run) || is_short_of_space(run, i, live->free_bytes, when->free_space) ||
	    run->stage != STAGE_RUNNING)
		return;
	if (is_above(live->latency_max_ns, when->latency_max))
		end_run(run, i, "an operation takes", "latency_max", live->latency_max_ns, when->latency_max);
	else if (is_above(live->latency_p99_ns, when->latency_p99))
		end_run(run, i, "the 99th percentile of latency is", "latency_p99", live->latency_p99_ns,
		    when->latency_p99);
}

void
run_on_beat(struct run *run, size_t i, int64_t age_ns)
{
	const struct job_abort_if *when = run->job.abort_if;

	run->members[i].beat_age_ns = LS_MAX(age_ns, 1);
	if (when != NULL && is_under_load(run) && is_above(age_ns, when->heartbeat_age))
		end_run(run, i, "the age of o2cb's heartbeat is", "heartbeat_age", age_ns, when->heartbeat_age);
}
