/* What a job wants to be ended by (abort_if), looked for in each sample of a phase that runs. */
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

void
run_abort_check(struct run *run, size_t i, const struct live_node *live)
{
	const struct job_abort_if *when = run->job.abort_if;

	if (when == NULL || run->stage != STAGE_RUNNING)
		return;
	if (is_above(live->latency_max_ns, when->latency_max))
		end_run(run, i, "an operation takes", "latency_max", live->latency_max_ns, when->latency_max);
	else if (is_above(live->latency_p99_ns, when->latency_p99))
		end_run(run, i, "the 99th percentile of latency is", "latency_p99", live->latency_p99_ns,
		    when->latency_p99);
}
