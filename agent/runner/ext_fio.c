/*
 * fio: one process group for each stage of the job file. Files are laid out first by a fio of its own (create_only), then each job process
 * waits in exec_prerun, which fio runs after its files are there and before its clock starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine/path.h"
#include "agent/runner/ext_int.h"
#include "proto/model/fio_job.h"

#define LAYOUT_FILE "lockstep-layout.fio"
#define JOB_FILE    "lockstep.fio"

static enum ls_rc
write_file(int dir_fd, const char *name, const struct sink *text, struct ls_err *err)
{
	int fd = path_open(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	size_t done = 0;

	if (fd < 0)
		return ls_err_sys(err, errno, "%s", name);
	while (done < text->len) {
		ssize_t n = write(fd, text->text + done, text->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int errnum = n < 0 ? errno : EIO;

			close(fd);
			return ls_err_sys(err, errnum, "%s", name);
		}
		done += (size_t)n;
	}
	if (close(fd) != 0)
		return ls_err_sys(err, errno, "%s", name);
	return LS_OK;
}

static enum ls_rc
write_job(struct ext_run *run, const char *name, const char *extra, uint64_t *processes, struct ls_err *err)
{
	struct fio_job job;
	struct sink text = { 0 };
	enum ls_rc rc = fio_job_parse(run->spec.fio_job, &job, err);

	if (rc != LS_OK)
		return rc;
	fio_job_render(&job, run->spec.step, extra, &text);
	*processes = fio_job_processes(&job, run->spec.step);
	rc = write_file(run->dir_fd, name, &text, err);
	sink_free(&text);
	fio_job_fini(&job);
	return rc;
}

static void
add_common(const struct ext_run *run, struct ext_args *argv)
{
	ext_args_add(argv, "%s", run->tool->path);
	ext_args_add(argv, "--output-format=json+");
	ext_args_add(argv, "--eta=never");
}

static enum ls_rc
fio_prepare(struct ext_run *run, bool (*stopped)(void *), void *arg, struct ls_err *err)
{
	struct ext_args argv = { 0 };
	uint64_t processes;
	enum ls_rc rc = write_job(run, LAYOUT_FILE, "create_only=1\n", &processes, err);

	if (rc != LS_OK)
		return rc;
	add_common(run, &argv);
	ext_args_add(&argv, LAYOUT_FILE);
	rc = ext_run_once(run, &argv, stopped, arg, err);
	ext_args_fini(&argv);
	return rc == LS_OK ? LS_OK : ls_err_wrap(err, "laying out its files");
}

static enum ls_rc
fio_start(struct ext_run *run, struct ext_args *argv, struct ext_args *env, bool *held, struct ls_err *err)
{
	char gate[EXT_TEXT_MAX], extra[EXT_TEXT_MAX + 32];
	enum ls_rc rc = ext_gate_command("--gate", gate, sizeof(gate), err);

	(void)env;
	(void)held;
	if (rc != LS_OK)
		return rc;
	snprintf(extra, sizeof(extra), "exec_prerun=%s\n", gate);
	rc = write_job(run, JOB_FILE, extra, &run->waiters, err);
	add_common(run, argv);
	ext_args_add(argv, JOB_FILE);
	return rc;
}

static bool
fio_arrived(struct ext_run *run, size_t step, struct ls_err *err)
{
	uint64_t lines = 0;

	(void)step;
	(void)err;
	for (const char *p = ext_process_gate(run->process); (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	return lines >= run->waiters;
}

static enum ls_rc
fio_release(struct ext_run *run, size_t step, struct ls_err *err)
{
	(void)step;
	return ext_process_let_go(run->process, run->waiters, err);
}

/* With its end only. */
static bool
fio_over(struct ext_run *run, size_t step, struct ls_err *err)
{
	(void)run;
	(void)step;
	(void)err;
	return false;
}

static enum ext_counted
fio_counted(const struct ext_run *run, size_t step)
{
	struct fio_job job;
	enum ext_counted counted = EXT_COUNTED_NOTHING;

	(void)step;
	if (fio_job_parse(run->spec.fio_job, &job, NULL) != LS_OK)
		return counted;
	if (job.counts == FIO_COUNTS_CALLS)
		counted = EXT_COUNTED_CALLS;
	else if (job.counts == FIO_COUNTS_DEVICE && job.direct)
		counted = EXT_COUNTED_DEVICE;
	fio_job_fini(&job);
	return counted;
}

const struct ext_program ext_fio = {
	.tool = TOOL_FIO,
	.prepare = fio_prepare,
	.start = fio_start,
	.arrived = fio_arrived,
	.release = fio_release,
	.over = fio_over,
	.counted = fio_counted,
};
