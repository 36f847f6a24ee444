/* The check of a run's nodes: what is known goes in, findings go to who asked or become warnings of the run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "coordinator/daemon/check.h"
#include "coordinator/daemon/own_volume.h"
#include "coordinator/daemon/progress.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/watch.h"

static void
warn_from_check(const struct check_row *row, void *arg)
{
	struct run *run = arg;

	if (run->check_only) {
		watch_checked(run, row);
		return;
	}
	if (row->level == CHECK_OK)
		return;
	if (row->level == CHECK_FAILED) {
		run_decide(run, RUN_REFUSED, "%s%s%s: %s", row->check, row->node != NULL ? " on node " : "",
		    row->node != NULL ? row->node : "", row->text);
		return;
	}
	if (row->node != NULL)
		run_warn(run, "%s: node %s: %s", row->check, row->node, row->text);
	else
		run_warn(run, "%s: %s", row->check, row->text);
}

enum check_level
run_check(struct run *run)
{
	struct check_input in = {
		.job = &run->job,
		.count = run->member_count,
		.direct_align = progress_direct_align(&run->job),
		.before_run = !run->check_only,
	};
	struct own_volume own;
	struct check_node *nodes = ls_calloc(run->member_count + 1, sizeof(*nodes));
	enum check_level worst;

	progress_footprint(&run->job, run->member_count, &in.need_bytes, &in.need_files);
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];

		clock_sync_fill(&m->node->clock, ls_mono_now(), &m->record.info.clock);
		nodes[i] = (struct check_node){
			.info = &m->record.info,
			.version = m->node->version,
			.build = m->node->build,
			.refused = m->refused,
			.blind_to = m->blind_to,
			.verified = m->verified,
			.fcntl_lock = m->fcntl_lock,
			.flock = m->flock,
		};
	}
	own_volume_read(run->daemon->config->store, run->daemon->boot_id, &own);
	in.own = &own.facts;
	in.nodes = nodes;
	worst = check_nodes(&in, warn_from_check, run);
	free(nodes);
	return worst;
}

void
run_check_silent(struct run *run, int64_t waited_ns)
{
	char text[64];

	snprintf(text, sizeof(text), "no answer within %lld s", (long long)(waited_ns / NS_PER_S));
	for (size_t i = 0; i < run->member_count; i++) {
		struct member *m = &run->members[i];

		if (m->refused == NULL && !(run->stage == STAGE_ASSIGNING ? m->prepared : m->verified)) {
			free(m->refused);
			m->refused = ls_strdup(text);
		}
	}
	(void)run_check(run);
}
