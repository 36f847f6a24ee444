#include "agent/runner/preflight.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/engine/engine.h"
#include "agent/engine/io.h"
#include "agent/engine/raw_device.h"
#include "agent/runner/probe.h"
#include "agent/runner/space.h"
#include "agent/runner/volume.h"
#include "common/base/mem.h"

static enum ls_rc
check_type(const struct job *job, const struct volume_facts *facts, struct ls_err *err)
{
	if (job->expect_fs == NULL || *job->expect_fs == '\0')
		return LS_OK;
	if (facts->fs_type == NULL)
		return ls_err_set(err, LS_E_REFUSED,
		    "path %s: its mount is not in /proc/self/mountinfo, so that nothing says whether it is %s "
		    "(expect_fs)",
		    job->path, job->expect_fs);
	if (volume_type_matches(job->expect_fs, facts->fs_type))
		return LS_OK;
	return ls_err_set(err, LS_E_REFUSED, "path %s lies on %s (%s, mounted at %s), the job expects %s (expect_fs)",
	    job->path, facts->fs_type, facts->source, facts->mount_point, job->expect_fs);
}

static enum ls_rc
check_back_ends(const struct msg_assign *assign, struct volume_facts *facts, struct ls_err *err)
{
	enum ls_rc rc = engine_supports(ENGINE_IO_URING, err);

	facts->io_uring = rc == LS_OK;
	if (rc != LS_OK && assign->need_io_uring && !assign->check_only)
		return rc;
	if (assign->need_sq_poll)
		rc = io_uring_can_sq_poll(err);
	if (assign->need_sq_poll && rc != LS_OK)
		return rc;
	rc = engine_supports(ENGINE_LIBAIO, err);
	facts->libaio = rc == LS_OK;
	return assign->need_libaio && !assign->check_only ? rc : LS_OK;
}

static enum ls_rc
check_devices(const struct msg_assign *assign, struct ls_err *err)
{
	struct raw_device device;
	enum ls_rc rc = LS_OK;

	for (size_t i = 0; rc == LS_OK && i < assign->devices_count; i++) {
		rc = raw_device_open(assign->devices[i], &device, err);
		if (rc == LS_OK)
			close(device.fd);
	}
	return rc;
}

enum ls_rc
preflight_volume(const struct msg_assign *assign, struct volume_facts *facts, int *out_fd, struct ls_err *err)
{
	const struct job *job = &assign->job;
	struct space space;
	int fd = -1;
	enum ls_rc rc = volume_open(job->path, &fd, err);

	if (rc != LS_OK)
		return rc;
	rc = volume_read(fd, job->path, facts, &space, err);
	if (rc != LS_OK)
		goto out;
	if (!assign->check_only)
		rc = check_type(job, facts, err);
	if (rc == LS_OK && !assign->check_only)
		rc = space_check(
		    job->path, &space, assign->need_bytes, assign->need_files, (unsigned)job->reserve_percent, err);
	if (rc != LS_OK)
		goto out;
	rc = check_back_ends(assign, facts, err);
	if (rc == LS_OK)
		rc = check_devices(assign, err);
	if (rc != LS_OK)
		goto out;
	*out_fd = fd;
	fd = -1;
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

enum ls_rc
preflight_direct(
    const struct msg_assign *assign, const struct rundir *rd, struct volume_facts *facts, struct ls_err *err)
{
	struct probe_direct probe;

	if (assign->direct_align == 0 && !assign->check_only)
		return LS_OK;

	enum ls_rc rc = probe_direct(rundir_fd(rd), rundir_probe_name(rd), &probe, err);

	if (rc != LS_OK) {
		ls_err_wrap(err, "%s", rundir_path(rd));
		return rc;
	}
	facts->dio_align = probe.align;
	free(facts->dio_source);
	facts->dio_source = ls_strdup(probe.source);
	if (assign->check_only && probe.align == LS_UNKNOWN_U64)
		return LS_OK;
	if (!assign->check_only)
		rc = probe_direct_check(&probe, assign->job.path, assign->direct_align, err);
	if (rc == LS_OK && assign->need_io_poll)
		rc = probe_polling(rundir_fd(rd), rundir_probe_name(rd), err);
	return rc;
}
