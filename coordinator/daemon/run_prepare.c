/* From the queue to prepared nodes: who takes part, assign, one volume. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/base/units.h"
#include "common/base/version.h"
#include "coordinator/daemon/check.h"
#include "coordinator/daemon/progress.h"
#include "coordinator/daemon/run_int.h"
#include "coordinator/daemon/run_tools.h"
#include "coordinator/daemon/watch.h"
#include "proto/model/cluster.h"

#define FACTS_WAIT_NS        (2 * NS_PER_S)  /* an agent that is connected tells its facts within that time */
#define ASSIGN_WAIT_NS       (15 * NS_PER_S) /* agents give their runner 10 s and refuse themselves */
#define CHECK_WAIT_NS        (5 * NS_PER_S)  /* a check: no answer within that time is an answer */
#define VERIFY_TIMEOUT_NS    (5 * NS_PER_S)
#define CHECK_VERIFY_WAIT_NS (VERIFY_TIMEOUT_NS + CHECK_WAIT_NS)
#define VERIFY_WAIT_NS       (15 * NS_PER_S)
#define TOKEN_BYTES          16
#define NAMES_MAX            8

/* --- who takes part ------------------------------------------------------------------------------------------------------- */

static enum gather_result
refuse(struct ls_err *err, const char *what)
{
	ls_err_set(err, LS_E_REFUSED, "%s", what);
	return GATHER_REFUSED;
}

/* The named nodes, in the job's order. */
static enum gather_result
pick_named(struct run *run, struct node **picked, size_t *count, struct ls_err *err)
{
	*count = run->job.nodes_count;
	for (size_t i = 0; i < run->job.nodes_count; i++) {
		struct node *n = registry_find(&run->daemon->registry, run->job.nodes[i]);

		if (n == NULL || n->session == NULL) {
			ls_err_set(err, LS_E_REFUSED, "node %s is not connected", run->job.nodes[i]);
			return GATHER_WAIT;
		}
		if (!n->facts_known) {
			ls_err_set(err, LS_E_REFUSED, "node %s has not said what it is", n->name);
			return GATHER_WAIT;
		}
		picked[i] = n;
	}
	return GATHER_READY;
}

/* All that are connected, by name. */
static enum gather_result
pick_connected(struct run *run, struct node **picked, size_t *count, struct ls_err *err)
{
	const struct registry *r = &run->daemon->registry;
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (r->nodes[i]->session == NULL)
			continue;
		if (!r->nodes[i]->facts_known) {
			ls_err_set(err, LS_E_REFUSED, "node %s has not said what it is", r->nodes[i]->name);
			return GATHER_WAIT;
		}
		picked[n++] = r->nodes[i];
	}
	*count = n;
	if (n >= LS_MAX(run->job.min_nodes, 1))
		return GATHER_READY;
	if (n == 0)
		ls_err_set(err, LS_E_REFUSED, "no agents are connected");
	else
		ls_err_set(err, LS_E_REFUSED, "only %zu agents are connected, the job wants at least %llu", n,
		    (unsigned long long)run->job.min_nodes);
	return GATHER_WAIT;
}

static enum gather_result
check_builds(const struct run *run, struct node *const *picked, size_t count, struct ls_err *err)
{
	for (size_t i = 0; i < count && !run->job.allow_mixed_builds; i++) {
		const struct node *n = picked[i];

		if (strcmp(n->version, lockstep_version) == 0 && strcmp(n->build, lockstep_build) == 0)
			continue;
		ls_err_set(err, LS_E_REFUSED,
		    "node %s runs lockstep %s (build %s), the coordinator %s (build %s); see allow_mixed_builds",
		    n->name, n->version, n->build, lockstep_version, lockstep_build);
		return GATHER_REFUSED;
	}
	return GATHER_READY;
}

/* External programs: there on all nodes, and of one version unless the job says otherwise. */
static enum gather_result
check_tools(const struct run *run, struct node *const *picked, size_t count, struct ls_err *err)
{
	for (enum tool_kind tool = 0; tool < TOOL_COUNT; tool++) {
		const struct tool_facts *first = NULL;

		for (size_t i = 0; run_wants_tool(&run->job, tool) && i < count; i++) {
			const struct tool_facts *mine;

			if (!picked[i]->facts_known) {
				ls_err_set(err, LS_E_REFUSED, "node %s has not told yet what it is", picked[i]->name);
				return GATHER_WAIT;
			}
			if (run_tool_of(picked[i]->name, &picked[i]->facts, tool, &mine, err) != LS_OK)
				return GATHER_REFUSED;
			if (first == NULL)
				first = mine;
			if (!run->job.allow_mixed_tools &&
			    run_tool_versions(&run->job, tool, picked[0]->name, first->version, picked[i]->name,
				mine->version, err) != LS_OK)
				return GATHER_REFUSED;
		}
	}
	return GATHER_READY;
}

static void
make_token(char *out, size_t len)
{
	uint8_t random[TOKEN_BYTES] = { 0 };
	size_t n = 0;

	/* Cannot fail for so few bytes once the kernel is up; zeros would only make a token that is easy to guess. */
	ssize_t got = getrandom(random, sizeof(random), 0);
	(void)got;
	for (size_t i = 0; i < sizeof(random) && n + 3 <= len; i++)
		n += (size_t)snprintf(out + n, len - n, "%02x", random[i]);
}

static void
set_str(char **slot, const char *text)
{
	free(*slot);
	*slot = ls_strdup(text);
}

static void
copy_tool(const struct tool_facts *from, struct tool_facts *to)
{
	to->name = ls_strdup(from->name);
	to->path = ls_strdup(from->path);
	to->version = ls_strdup(from->version);
	to->problem = ls_strdup(from->problem);
}

/* The node's facts as a copy: JSON is not needed for that, as only strings and the list of programs are owned. */
static void
copy_facts(const struct node_facts *from, struct node_facts *to)
{
	field_struct_fini(&node_facts_desc, to);
	*to = *from;
	for (size_t i = 0; i < node_facts_desc.field_count; i++) {
		const struct field_desc *f = &node_facts_desc.fields[i];
		char **slot = (char **)(void *)((char *)to + f->offset);

		if (f->kind == FIELD_STR)
			*slot = ls_strdup(*slot);
	}
	to->tools = from->tools_count > 0 ? ls_calloc(from->tools_count, sizeof(*to->tools)) : NULL;
	for (size_t i = 0; i < from->tools_count; i++)
		copy_tool(&from->tools[i], &to->tools[i]);
	to->limits = NULL;
	to->volume = NULL;
	to->host = NULL;
}

/* What still hangs there may hold the volume, and counts into what is measured. */
static void
warn_hung(struct run *run, const struct node *n)
{
	for (size_t i = 0; i < n->hung.runners_count; i++) {
		const struct hung_runner *h = &n->hung.runners[i];

		run_warn(run, "node %s: a runner of run %s still hangs in the kernel there%s%s%s%s", n->name, h->run,
		    h->call != NULL ? ", in " : "", h->call != NULL ? h->call : "", h->file != NULL ? " of " : "",
		    h->file != NULL ? h->file : "");
	}
}

/* Its own cap, which agents apply to each phase; what is measured is the cap then. */
static void
warn_node_cap(struct run *run, const struct node *n)
{
	char rate[32];

	if (n->facts.limits == NULL || n->facts.limits->max_bandwidth == 0)
		return;
	run_warn(run, "node %s: its workers together were held to %s (max_bandwidth of its agent.conf)", n->name,
	    units_format_rate((double)n->facts.limits->max_bandwidth, rate, sizeof(rate)));
}

static void
adopt(struct run *run, struct node *const *picked, size_t count)
{
	run_set_members(run, count);
	for (size_t i = 0; i < count; i++) {
		struct member *m = &run->members[i];
		char token[2 * TOKEN_BYTES + 1];

		make_token(token, sizeof(token));
		set_str(&m->record.token, token);
		set_str(&m->record.info.name, picked[i]->name);
		set_str(&m->record.info.address, picked[i]->address);
		copy_facts(&picked[i]->facts, &m->record.info.facts);
		clock_sync_fill(&picked[i]->clock, ls_mono_now(), &m->record.info.clock);
		warn_hung(run, picked[i]);
		warn_node_cap(run, picked[i]);
		m->node = picked[i];
		picked[i]->run = run;
		picked[i]->member = i;
	}
}

/* The job as it fits these nodes: solo phases are written out, each phase's own nodes are looked for. */
static enum gather_result
fit_phases(struct run *run, struct node *const *picked, size_t count, struct ls_err *err)
{
	char **names = ls_calloc(count + 1, sizeof(*names));
	enum ls_rc rc;

	for (size_t i = 0; i < count; i++)
		names[i] = picked[i]->name;
	rc = job_check_phase_nodes(&run->job, names, count, err);
	if (rc == LS_OK)
		rc = job_hold(&run->job, count, err);
	if (rc == LS_OK)
		rc = job_expand_solo(&run->job, names, count, err);
	if (rc == LS_OK)
		rc = job_expand_cluster(&run->job, names, count, err);
	free(names);
	if (rc != LS_OK)
		return GATHER_REFUSED;
	job_settle_caches(&run->job);
	run->job_saved = false;
	return GATHER_READY;
}

enum gather_result
run_gather(struct run *run, struct ls_err *err)
{
	size_t room = LS_MAX(run->daemon->registry.count, run->job.nodes_count);
	struct node **picked = ls_calloc(room + 1, sizeof(struct node *));
	enum gather_result result;
	size_t count = 0;

	if (run->job.nodes_count > 0 && run->job.nodes_count < run->job.min_nodes)
		result = refuse(err, "the job names fewer nodes than its min_nodes");
	else if (run->job.nodes_count > 0)
		result = pick_named(run, picked, &count, err);
	else
		result = pick_connected(run, picked, &count, err);
	if (result == GATHER_READY)
		result = check_builds(run, picked, count, err);
	if (result == GATHER_READY)
		result = check_tools(run, picked, count, err);
	if (result == GATHER_READY)
		result = fit_phases(run, picked, count, err);
	if (result == GATHER_READY)
		adopt(run, picked, count);
	free(picked);
	return result;
}

static bool
facts_outstanding(const struct daemon *d)
{
	for (size_t i = 0; i < d->registry.count; i++)
		if (d->registry.nodes[i]->session != NULL && !d->registry.nodes[i]->facts_known)
			return true;
	return false;
}

/* Each time that it is something else: who has been waited for may have come, and another one not. */
static void
tell_waits_for(struct run *run, const char *what)
{
	char line[1100];

	if (run->waits_for != NULL && strcmp(run->waits_for, what) == 0)
		return;
	free(run->waits_for);
	run->waits_for = ls_strdup(what);
	snprintf(line, sizeof(line), "waiting: %s", what);
	watch_tell(run, line);
}

void
run_act_wait(struct run *run)
{
	struct ls_err err = { 0 };
	int64_t wait_ns = LS_MAX(run->wait_ns, facts_outstanding(run->daemon) ? FACTS_WAIT_NS : 0);

	switch (run_gather(run, &err)) {
	case GATHER_READY:
		run_raise(run, EV_NODES_READY);
		return;
	case GATHER_WAIT:
		if (!loop_timer_armed(run->deadline) && wait_ns == 0)
			break;
		if (!loop_timer_armed(run->deadline))
			run_set_deadline(run, wait_ns);
		tell_waits_for(run, err.text);
		return;
	case GATHER_REFUSED:
		break;
	}
	run_decide(run, RUN_REFUSED, "%s", err.text);
	run_raise(run, EV_REFUSED);
}

/* --- assign ---------------------------------------------------------------------------------------------------------------- */

/* The raw devices of all phases, each once, borrowed; the list is the caller's. */
static char **
raw_devices(const struct job *job, size_t *count)
{
	char **list = ls_calloc(job->phases_count + 1, sizeof(*list));

	*count = 0;
	for (size_t p = 0; p < job->phases_count; p++) {
		size_t i = 0;

		if (!phase_reads_device(&job->phases[p]))
			continue;
		while (i < *count && strcmp(list[i], job->phases[p].device) != 0)
			i++;
		if (i == *count)
			list[(*count)++] = job->phases[p].device;
	}
	return list;
}

void
run_send_assign(struct run *run, size_t i)
{
	struct msg_assign m;
	const struct member *member = &run->members[i];

	msg_body_init(MSG_ASSIGN, &m);
	msg_body_fini(MSG_ASSIGN, &m);
	m.run = run->id;
	m.job = run->job; /* borrowed, without its phases */
	m.job.phases = NULL;
	m.job.phases_count = 0;
	m.node = member->record.info.name;
	m.node_index = i;
	m.node_count = run->member_count;
	m.token = member->record.token;
	m.max_workers = 1;
	for (size_t p = 0; p < run->job.phases_count; p++) {
		const struct phase *phase = &run->job.phases[p];

		m.max_workers = LS_MAX(m.max_workers, job_phase_workers(&run->job, phase));
		m.need_io_uring |= phase->engine == ENGINE_IO_URING;
		m.need_libaio |= phase->engine == ENGINE_LIBAIO;
		m.need_io_poll |= phase->io_poll;
		m.need_sq_poll |= phase->sq_poll;
	}
	progress_footprint(&run->job, run->member_count, &m.need_bytes, &m.need_files);
	m.direct_align = progress_direct_align(&run->job);
	m.check_only = run->check_only;
	m.need_fadvise = job_empties_caches(&run->job, CACHES_FADVISE);
	m.need_drop = job_empties_caches(&run->job, CACHES_DROP);
	m.need_remount = job_empties_caches(&run->job, CACHES_REMOUNT);
	m.devices = raw_devices(&run->job, &m.devices_count);
	run_send(run, i, MSG_ASSIGN, &m);
	free(m.devices);
}

void
run_act_assign(struct run *run)
{
	bool *wanted = run_present(run);

	tally_reset(&run->answers, wanted);
	free(wanted);
	run_set_deadline(run, run->check_only ? CHECK_WAIT_NS : ASSIGN_WAIT_NS);
	for (size_t i = 0; i < run->member_count; i++)
		run_send_assign(run, i);
	run_save(run);
	watch_tell(run, NULL);
}

static void
check_prepared(struct run *run)
{
	if (!tally_complete(&run->answers))
		return;
	for (size_t i = 0; i < run->member_count; i++) {
		if (run->members[i].refused == NULL)
			continue;
		if (run->check_only)
			run_check(run);
		run_decide(run, RUN_REFUSED, "node %s: %s", run->members[i].record.info.name, run->members[i].refused);
		run_raise(run, EV_REFUSED);
		return;
	}
	run_raise(run, EV_ALL_PREPARED);
}

void
run_on_prepared(struct run *run, size_t i, struct msg_prepared *m)
{
	struct node_facts *facts = &run->members[i].record.info.facts;

	if (run->stage != STAGE_ASSIGNING || !tally_give(&run->answers, i)) {
		run->stale++;
		return;
	}
	if (facts->volume == NULL)
		facts->volume = ls_calloc(1, sizeof(*facts->volume));
	field_struct_fini(&volume_facts_desc, facts->volume);
	*facts->volume = m->volume;
	field_struct_init(&volume_facts_desc, &m->volume);
	if (facts->host != NULL)
		field_struct_fini(&host_facts_desc, facts->host);
	free(facts->host);
	facts->host = m->host;
	m->host = NULL;
	run->members[i].prepared = true;
	run->nodes_changed = true;
	check_prepared(run);
}

void
run_on_refused(struct run *run, size_t i, const struct msg_refused *m)
{
	const char *text =
	    m->error.text != NULL && m->error.text[0] != '\0' ? m->error.text : "refused without a reason";

	if (run->stage == STAGE_VERIFYING) {
		run_decide(run, RUN_REFUSED, "node %s: %s", run->members[i].record.info.name, text);
		run_raise(run, EV_REFUSED);
		return;
	}
	if (run->stage != STAGE_ASSIGNING || !tally_give(&run->answers, i)) {
		run->stale++;
		return;
	}
	set_str(&run->members[i].refused, text);

	/* A check tells about all nodes; a run is over with the first that refuses. */
	if (!run->check_only) {
		run_decide(run, RUN_REFUSED, "node %s: %s", run->members[i].record.info.name, text);
		run_raise(run, EV_REFUSED);
		return;
	}
	check_prepared(run);
}

/* --- one volume -------------------------------------------------------------------------------------------------------------- */

void
run_send_verify(struct run *run, size_t i)
{
	struct msg_verify_volume m = { .run = run->id, .timeout_ns = VERIFY_TIMEOUT_NS };

	m.tokens_count = i == 0 ? run->member_count : 1;
	m.tokens = ls_calloc(m.tokens_count, sizeof(*m.tokens));
	for (size_t k = 0; k < m.tokens_count; k++) {
		m.tokens[k].node = run->members[k].record.info.name;
		m.tokens[k].token = run->members[k].record.token;
	}
	run_send(run, i, MSG_VERIFY_VOLUME, &m);
	free(m.tokens);
}

void
run_act_verify(struct run *run)
{
	bool *wanted = run_present(run);

	tally_reset(&run->answers, wanted);
	free(wanted);
	run_set_deadline(run, run->check_only ? CHECK_VERIFY_WAIT_NS : VERIFY_WAIT_NS);
	for (size_t i = 0; i < run->member_count; i++)
		run_send_verify(run, i);
}

/* A reason against the run among what the nodes saw of the volume; decides it. */
static bool
volume_refused(struct run *run)
{
	for (size_t i = 0; i < run->member_count; i++) {
		const struct member *m = &run->members[i];
		const struct volume_facts *v = m->record.info.facts.volume;
		const char *want = run->job.expect_fs;

		if (m->blind_to != NULL && !run->job.allow_separate_volumes)
			run_decide(run, RUN_REFUSED,
			    "%s is not the same volume on all nodes: %s does not see what was written by %s; see "
			    "allow_separate_volumes",
			    run->job.path, m->record.info.name, m->blind_to);
		else if (want != NULL && want[0] != '\0' && v != NULL && v->fs_type != NULL &&
		    !check_fs_is(want, v->fs_type))
			run_decide(run, RUN_REFUSED, "node %s: %s lies on %s, not on %s", m->record.info.name,
			    run->job.path, v->fs_type, want);
		else
			continue;
		return true;
	}
	return false;
}

static void
check_verified(struct run *run)
{
	if (!tally_complete(&run->answers))
		return;
	if (run->check_only) {
		enum check_level worst = run_check(run);

		if (worst == CHECK_FAILED)
			run_decide(run, RUN_REFUSED, "the check found what would refuse a run");
		run_raise(run, EV_CHECKED);
		return;
	}
	if (volume_refused(run)) {
		run_raise(run, EV_REFUSED);
		return;
	}
	if (run_check(run) == CHECK_FAILED) {
		run_raise(run, EV_REFUSED);
		return;
	}
	run_raise(run, EV_ALL_VERIFIED);
}

/* The names of those whose files a node does not see, as a list for people. */
static void
set_blind(struct member *member, const struct msg_volume_verified *m)
{
	struct sink names = { 0 };

	for (size_t k = 0; k < m->missing_count && k < NAMES_MAX; k++)
		sink_printf(&names, "%s%s", k > 0 ? ", " : "", m->missing[k]);
	if (m->missing_count > NAMES_MAX)
		sink_printf(&names, " and %zu more", m->missing_count - NAMES_MAX);
	set_str(&member->blind_to, names.text);
	sink_free(&names);
}

void
run_on_verified(struct run *run, size_t i, const struct msg_volume_verified *m)
{
	if (run->stage != STAGE_VERIFYING || !tally_give(&run->answers, i)) {
		run->stale++;
		return;
	}
	run->members[i].verified = true;
	run->members[i].fcntl_lock = (enum lock_outcome)m->fcntl_lock;
	run->members[i].flock = (enum lock_outcome)m->flock;
	if (m->missing_count > 0)
		set_blind(&run->members[i], m);
	check_verified(run);
}

void
run_on_deadline_prepare(struct run *run)
{
	struct ls_err err = { 0 };
	char names[512];

	if (run->stage == STAGE_WAITING) {
		if (run_gather(run, &err) == GATHER_READY) {
			run_raise(run, EV_NODES_READY);
			return;
		}
		run_decide(run, RUN_REFUSED, "%s", err.text);
	} else if (run->stage == STAGE_RESUMING) {
		run_decide(run, RUN_FAILED,
		    "interrupted: the coordinator was restarted and not all nodes came back: %s",
		    run_missing(run, &run->answers, names, sizeof(names)));
	} else if (run->check_only && (run->stage == STAGE_ASSIGNING || run->stage == STAGE_VERIFYING)) {
		int64_t waited_ns = run->stage == STAGE_ASSIGNING ? CHECK_WAIT_NS : CHECK_VERIFY_WAIT_NS;

		run_check_silent(run, waited_ns);
		run_decide(run, RUN_REFUSED, "no answer within %lld s from %s", (long long)(waited_ns / NS_PER_S),
		    run_missing(run, &run->answers, names, sizeof(names)));
	} else {
		run_decide(run, RUN_REFUSED, "no answer within %lld s from %s", ASSIGN_WAIT_NS / NS_PER_S,
		    run_missing(run, &run->answers, names, sizeof(names)));
	}
	run_raise(run, EV_DEADLINE);
}
