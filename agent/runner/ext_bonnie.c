/*
 * bonnie++: from 1.9x on it prints the number of each phase and waits for a line (-y p). 1.03 waits in a set of System V semaphores
 * with a fixed key (-y): one of them falls by one when the program stands before that phase, and the phase begins at zero.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

#include "agent/runner/ext_int.h"
#include "common/base/clock.h"

#define SEM_KEY      4711 /* of bonnie++ */
#define SEM_COUNT    12
#define SEM_LOOK_NS  (2 * NS_PER_MS)
#define FIRST_FILES  6 /* number of its first phase over small files */
#define FIRST_PROMPT "1.9"
#define READ_DONE    "Reading intelligently...done"

union semun_arg {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

static bool
prompts(const struct ext_run *run)
{
	return run->tool->version == NULL || !tool_version_older(run->tool->version, FIRST_PROMPT);
}

static void
add_sizes(const struct phase *spec, struct ext_args *argv)
{
	ext_args_add(argv, "-s");
	if (spec->file_size > 0)
		ext_args_add(argv, "%llu:%llu", (unsigned long long)(spec->file_size >> 20),
		    (unsigned long long)spec->chunk_size);
	else
		ext_args_add(argv, "0");
	ext_args_add(argv, "-n");
	if (spec->file_count > 0)
		ext_args_add(argv, "%llu:%llu:%llu:%llu", (unsigned long long)spec->file_count,
		    (unsigned long long)spec->file_max, (unsigned long long)spec->file_min,
		    (unsigned long long)spec->file_dirs);
	else
		ext_args_add(argv, "0");
	/* 0: lockstep itself warns of files that fit into the memory */
	ext_args_add(argv, "-r");
	ext_args_add(argv, "0");
}

/* Makes the set: each semaphore holds the program and us. */
static enum ls_rc
make_semaphores(struct ext_run *run, struct ls_err *err)
{
	unsigned short values[SEM_COUNT];
	union semun_arg arg = { .array = values };

	for (size_t i = 0; i < SEM_COUNT; i++)
		values[i] = 2;
	run->semaphores = semget(SEM_KEY, SEM_COUNT, IPC_CREAT | IPC_EXCL | 0600);
	if (run->semaphores < 0 && errno == EEXIST)
		return ls_err_set(err, LS_E_REFUSED,
		    "the semaphores with key %d are in use: another bonnie++ 1.03 of this machine waits there (ipcrm "
		    "-S %d removes them if not)",
		    SEM_KEY, SEM_KEY);
	if (run->semaphores < 0)
		return ls_err_sys(err, errno, "semget");
	if (semctl(run->semaphores, 0, SETALL, arg) != 0)
		return ls_err_sys(err, errno, "semctl");
	return LS_OK;
}

static enum ls_rc
bonnie_start(struct ext_run *run, struct ext_args *argv, struct ext_args *env, bool *held, struct ls_err *err)
{
	const struct phase *spec = &run->spec;

	(void)env;
	(void)held;
	ext_args_add(argv, "%s", run->tool->path);
	ext_args_add(argv, "-d");
	ext_args_add(argv, ".");
	add_sizes(spec, argv);
	ext_args_add(argv, "-m");
	ext_args_add(argv, "%s", run->node);
	if (!spec->characters)
		ext_args_add(argv, "-f");
	if (spec->fsync)
		ext_args_add(argv, "-b");
	if (spec->direct)
		ext_args_add(argv, "-D");
	if (geteuid() == 0) {
		ext_args_add(argv, "-u");
		ext_args_add(argv, "root");
	}
	ext_args_add(argv, "-y");
	if (!prompts(run))
		return make_semaphores(run, err);
	ext_args_add(argv, "p");
	return LS_OK;
}

/* Is "N:" a line of standard output that was not seen before? */
static bool
prompt_seen(struct ext_run *run, const char *gate, struct ls_err *err)
{
	const struct sink *out = ext_process_out(run->process);
	const char *from = out->text != NULL ? out->text + run->seen : "";
	const char *end = strstr(from, ":\n");

	if (end == NULL)
		return false;

	const char *begin = end;

	while (begin > out->text && begin[-1] != '\n')
		begin--;
	size_t len = (size_t)(end - begin);
	if (len != strlen(gate) || strncmp(begin, gate, len) != 0) {
		(void)ls_err_set(err, LS_E_PROTO, "%s should wait before its phase %s, but says \"%.*s\"",
		    run->tool->name, gate, (int)LS_MIN(len, (size_t)60), begin);
		return false;
	}
	return true;
}

static bool
sem_is(const struct ext_run *run, uint64_t number, int value)
{
	return semctl(run->semaphores, (int)number, GETVAL) == value;
}

static bool
bonnie_arrived(struct ext_run *run, size_t step, struct ls_err *err)
{
	if (prompts(run))
		return prompt_seen(run, run->steps[step].gate, err);
	return sem_is(run, run->steps[step].number, 1);
}

static enum ls_rc
bonnie_release(struct ext_run *run, size_t step, struct ls_err *err)
{
	struct sembuf op = { .sem_num = (unsigned short)run->steps[step].number, .sem_op = -1 };

	if (prompts(run)) {
		const char *at = strstr(ext_process_out(run->process)->text + run->seen, ":\n");

		if (at != NULL)
			run->seen = (size_t)(at - ext_process_out(run->process)->text) + 2;
		return ext_process_say(run->process, "\n", err);
	}
	return semop(run->semaphores, &op, 1) != 0 ? ls_err_sys(err, errno, "semop") : LS_OK;
}

/*
 * When it stands before the next one. But before the seeks it sleeps for 3 or 5 seconds, which are no time of the phase before them: that is
 * over when it says so.
 */
static bool
bonnie_over(struct ext_run *run, size_t step, struct ls_err *err)
{
	const struct sink *said = ext_process_err(run->process);

	if (run->steps[step].kind == PHASE_BLOCK_IN && said->text != NULL && strstr(said->text, READ_DONE) != NULL)
		return true;
	return step + 1 < run->steps_count && bonnie_arrived(run, step + 1, err);
}

static void
bonnie_end(struct ext_run *run)
{
	/* The guard has done so, unless it could not be started. */
	if (run->semaphores >= 0)
		semctl(run->semaphores, 0, IPC_RMID);
	run->semaphores = -1;
}

static enum ext_counted
bonnie_counted(const struct ext_run *run, size_t step)
{
	bool files = run->steps[step].number >= FIRST_FILES;

	/* empty files: what it reads and writes then is not theirs */
	return files && run->spec.file_max == 0 ? EXT_COUNTED_NOTHING : EXT_COUNTED_CALLS;
}

const struct ext_program ext_bonnie = {
	.tool = TOOL_BONNIE,
	.start = bonnie_start,
	.arrived = bonnie_arrived,
	.release = bonnie_release,
	.over = bonnie_over,
	.end = bonnie_end,
	.counted = bonnie_counted,
	.look_ns = SEM_LOOK_NS,
};
