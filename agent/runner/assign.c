#include <stdlib.h>
#include <unistd.h>

#include "agent/runner/host.h"
#include "agent/runner/preflight.h"
#include "agent/runner/runner_int.h"
#include "agent/runner/volume.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"

static struct rundir_id
id_of(const struct msg_assign *assign)
{
	return (struct rundir_id){
		.path = assign->job.path,
		.run = assign->run,
		.node = assign->node,
		.node_index = assign->node_index,
	};
}

/* FNV-1a of the run's id: the same on all nodes, different for each run. */
static uint64_t
seed_of(const char *run)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *run != '\0'; run++)
		h = (h ^ (unsigned char)*run) * 0x100000001b3ULL;
	return h;
}

static enum ls_rc
make_engine(struct runner *r, const struct msg_assign *assign, struct ls_err *err)
{
	struct ext_config ext = {
		.run_dir_fd = rundir_fd(r->rundir),
		.node_index = assign->node_index,
		.node = assign->node,
		.tools = assign->tools,
		.tools_count = assign->tools_count,
	};

	r->ext = ext_new(&ext);

	struct engine_config config = {
		.run_dir_fd = rundir_fd(r->rundir),
		.run_dir = rundir_path(r->rundir),
		.node_index = assign->node_index,
		.node_count = assign->node_count,
		.seed = seed_of(assign->run),
		.spin_ns = assign->spin_ns,
		.map = r->map,
		.dio_align = r->volume.dio_align != LS_UNKNOWN_U64 ? r->volume.dio_align : 0,
		.tools = &ext_engine_tools,
		.tools_arg = r->ext,
	};

	return engine_new(&config, &r->engine, err);
}

static enum ls_rc
refuse(struct runner *r, const char *step, enum ls_rc rc)
{
	free(r->refusal.step);
	r->refusal.step = ls_strdup(step);
	return rc;
}

static void
read_host(struct runner *r)
{
	r->host = ls_calloc(1, sizeof(*r->host));
	field_struct_init(&host_facts_desc, r->host);
	host_read("", r->volume.device, r->host);
}

static void
take_locks(struct runner *r, const struct msg_assign *assign)
{
	for (enum locktest_kind kind = 0; kind < LOCKTEST_KINDS; kind++) {
		char *name = rundir_lock_name(assign->node, kind);

		if (name != NULL)
			r->locks[kind] = locktest_take(rundir_fd(r->rundir), name, kind, &r->lock_fds[kind]);
		free(name);
	}
}

void
runner_drop_locks(struct runner *r)
{
	for (size_t i = 0; i < LOCKTEST_KINDS; i++) {
		if (r->lock_fds[i] >= 0)
			close(r->lock_fds[i]);
		r->lock_fds[i] = -1;
	}
}

enum ls_rc
runner_prepare(struct runner *r, struct ls_err *err)
{
	const struct msg_assign *assign = r->assign.body;
	struct rundir_id id = id_of(assign);
	int fd = -1;
	enum ls_rc rc = preflight_volume(assign, &r->volume, &fd, err);

	if (rc != LS_OK)
		return refuse(r, "preflight", rc);
	if (assign->node_index >= assign->node_count) {
		close(fd);
		return refuse(r, "prepare",
		    ls_err_set(err, LS_E_RANGE, "node_index %llu is not below node_count",
			(unsigned long long)assign->node_index));
	}
	rc = rundir_make(fd, &id, assign->token, &r->rundir, err);
	if (rc != LS_OK)
		return refuse(r, "prepare", rc);
	read_host(r);
	if (assign->check_only && assign->node_index == 0)
		take_locks(r, assign);
	rc = preflight_direct(assign, r->rundir, &r->volume, err);
	if (rc != LS_OK) {
		runner_clean(r);
		return refuse(r, "preflight", rc);
	}
	rc = make_engine(r, assign, err);
	if (rc == LS_OK && assign->job.abort_if != NULL && assign->job.abort_if->free_space > 0)
		rc = spacewatch_new(rundir_fd(r->rundir), shm_map_control(r->map), &r->space, err);
	if (rc != LS_OK) {
		runner_clean(r);
		return refuse(r, "prepare", rc);
	}
	if (r->space != NULL)
		spacewatch_start(r->space);
	return LS_OK;
}

void
runner_find_old(struct runner *r)
{
	const struct msg_assign *assign = r->assign.body;
	struct rundir_id id = id_of(assign);
	struct ls_err err = { 0 };
	int fd = -1;
	enum ls_rc rc = volume_open(assign->job.path, &fd, &err);

	if (rc == LS_OK)
		rc = rundir_find(fd, &id, &r->rundir, &err);
	if (rc == LS_OK || rc == LS_E_NOTFOUND)
		return;
	r->left = ls_grow(r->left, r->left_count, sizeof(*r->left));
	r->left[r->left_count++] = ls_strdup(err.text);
}

void
runner_clean(struct runner *r)
{
	char text[256];
	int64_t start_ns = ls_mono_now().ns;

	engine_free(r->engine);
	r->engine = NULL;
	ext_free(r->ext);
	r->ext = NULL;
	spacewatch_free(r->space);
	r->space = NULL;
	runner_drop_locks(r);
	if (r->rundir == NULL)
		return;
	rundir_clean(r->rundir, r->keep_files, &r->left, &r->left_count);
	for (size_t i = 0; i < r->left_count && i < 8; i++)
		ls_log(LS_LOG_WARN, "could not be removed", "run=%s file=\"%s\"", runner_run_id(r),
		    ls_log_escape(r->left[i], text, sizeof(text)));
	ls_log(
	    LS_LOG_DEBUG, "cleaned up", "run=%s ns=%lld", runner_run_id(r), (long long)(ls_mono_now().ns - start_ns));
	rundir_free(r->rundir);
	r->rundir = NULL;
}
