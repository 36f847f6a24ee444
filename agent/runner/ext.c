#include "agent/runner/ext.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/engine/path.h"
#include "agent/runner/ext_helper.h"
#include "agent/runner/ext_int.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#define TOOL_DIR   "tool"
#define ASK_NS     (100 * NS_PER_MS) /* how often "stopped" is asked */
#define STILL_NS   (120 * NS_PER_S)  /* a program that does nothing for so long before its first phase hangs */
#define LAST_WORDS 512

static const struct ext_program *const programs[TOOL_COUNT] = {
	[TOOL_FIO] = &ext_fio,
	[TOOL_BONNIE] = &ext_bonnie,
	[TOOL_IOZONE] = &ext_iozone,
};

/* Where the program stands. */
enum ext_state {
	EXT_NONE = 0, /* none runs */
	EXT_WAITS,    /* at the gate before step */
	EXT_RUNS,     /* let go into step */
	EXT_BETWEEN,  /* step is over, the program lives */
};

struct ext {
	struct ext_config config;
	enum ext_state state;
	const struct ext_program *program;
	struct ext_run run;
	size_t step;
	struct ext_counts before;
	struct tool_result result;
	char *command;
	bool has_result;
};

/* --- helpers of the programs ---------------------------------------------------------------------------------------- */

void
ext_args_add(struct ext_args *args, const char *fmt, ...)
{
	char text[PATH_MAX + 64];
	va_list ap;

	if (args->count >= EXT_ARGS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	args->at[args->count++] = ls_strdup(text);
	args->at[args->count] = NULL;
}

void
ext_args_fini(struct ext_args *args)
{
	for (size_t i = 0; i < args->count; i++)
		free(args->at[i]);
	args->count = 0;
}

enum ls_rc
ext_gate_command(const char *option, char *buf, size_t len, struct ls_err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n < 0)
		return ls_err_sys(err, errno, "/proc/self/exe");
	program[n] = '\0';
	/* iozone has room for 255 bytes, the name of the test included */
	if (strspn(program, plain) != (size_t)n || n > 200)
		return ls_err_set(err, LS_E_REFUSED,
		    "%.200s: the runner's own path must be short and plain (letters, digits, / . _ + -), as programs "
		    "call it through a shell",
		    program);
	snprintf(buf, len, "%s %s", program, option);
	return LS_OK;
}

enum ls_rc
ext_ended_error(const struct ext_run *run, int status, struct ls_err *err)
{
	char words[LAST_WORDS];
	char why[128];

	if (status >= EXT_NOT_STARTED)
		return ls_err_set(err, LS_E_SYS, "%s cannot be started: %s", run->tool->path,
		    ls_strerror(status - EXT_NOT_STARTED, why, sizeof(why)));
	ext_process_last_words(run->process, words, sizeof(words));
	if (WIFSIGNALED(status))
		return ls_err_set(err, LS_E_STATE, "%s was ended by signal %d; its last words: %s", run->tool->name,
		    WTERMSIG(status), words[0] != '\0' ? words : "none");
	return ls_err_set(err, LS_E_STATE, "%s exited with status %d; its last words: %s", run->tool->name,
	    WEXITSTATUS(status), words[0] != '\0' ? words : "none");
}

static enum ls_rc
start_process(
    struct ext_run *run, const struct ext_args *argv, const struct ext_args *more_env, bool held, struct ls_err *err)
{
	const char *env[EXT_ARGS_MAX + 8] = { "PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/", "LANG=C" };
	size_t n = 4;

	for (size_t i = 0; more_env != NULL && i < more_env->count; i++)
		env[n++] = more_env->at[i];
	env[n] = NULL;

	struct ext_start start = {
		.argv = (const char *const *)(uintptr_t)argv->at,
		.env = env,
		.cwd_fd = run->dir_fd,
		.held = held,
		.semaphores = run->semaphores,
	};

	return ext_process_start(&start, &run->process, err);
}

/* Has it done anything since the last look? A sum of all that moves. */
static uint64_t
activity(const struct ext_process *p)
{
	struct ext_counts c;

	ext_process_counts(p, &c);
	return c.read_bytes + c.write_bytes + c.reads + c.writes + c.device_read + c.device_write +
	    (uint64_t)(c.user_ns + c.system_ns);
}

/* Waits for something that the program does before a phase. */
struct patience {
	uint64_t activity;
	int64_t still_since_ns, asked_ns;
};

static enum ls_rc
be_patient(struct ext_run *run, struct patience *w, bool (*stopped)(void *), void *arg, struct ls_err *err)
{
	int64_t now_ns = ls_mono_now().ns;
	char words[LAST_WORDS];

	if (stopped(arg))
		return ls_err_set(err, LS_E_CLOSED, "stopped while %s was made ready", run->tool->name);
	if (now_ns < w->asked_ns + ASK_NS)
		return LS_OK;
	w->asked_ns = now_ns;

	uint64_t now = activity(run->process);

	if (now != w->activity || w->still_since_ns == 0)
		w->still_since_ns = now_ns;
	w->activity = now;
	if (now_ns - w->still_since_ns < STILL_NS)
		return LS_OK;
	return ls_err_set(err, LS_E_TIMEOUT, "%s hangs: it has done nothing for %lld s; its last words: %s",
	    run->tool->name, (long long)(STILL_NS / NS_PER_S),
	    ext_process_last_words(run->process, words, sizeof(words)));
}

enum ls_rc
ext_run_once(struct ext_run *run, const struct ext_args *argv, bool (*stopped)(void *), void *arg, struct ls_err *err)
{
	struct patience w = { 0 };
	int status;
	enum ls_rc rc = start_process(run, argv, NULL, false, err);

	if (rc != LS_OK)
		return rc;
	while (rc == LS_OK && !ext_process_ended(run->process, &status)) {
		ext_process_wait(run->process, ls_mono_now().ns + ASK_NS);
		rc = be_patient(run, &w, stopped, arg, err);
	}
	if (rc == LS_OK && status != 0)
		rc = ext_ended_error(run, status, err);
	ext_process_free(run->process);
	run->process = NULL;
	return rc;
}

/* --- one run of a program ------------------------------------------------------------------------------------------- */

static void
end_run(struct ext *ext)
{
	if (ext->run.process != NULL)
		ext_process_free(ext->run.process);
	ext->run.process = NULL;
	if (ext->program != NULL && ext->program->end != NULL)
		ext->program->end(&ext->run);
	if (ext->run.dir_fd >= 0)
		close(ext->run.dir_fd);
	field_struct_fini(&phase_desc, &ext->run.spec);
	ext->run = (struct ext_run){ .ext = ext, .dir_fd = -1, .semaphores = -1 };
	ext->program = NULL;
	ext->state = EXT_NONE;
}

/* <run>/n<index>/tool, made if it is not there. */
static enum ls_rc
open_dir(const struct ext *ext, int *out, struct ls_err *err)
{
	char name[PATH_MAX_REL];
	int node = -1;

	snprintf(name, sizeof(name), "n%llu", (unsigned long long)ext->config.node_index);
	node = path_open(ext->config.run_dir_fd, name, O_RDONLY | O_DIRECTORY, 0);
	if (node < 0)
		return ls_err_sys(err, errno, "%s", name);
	if (path_mkdir(node, TOOL_DIR) != 0 || (*out = path_open(node, TOOL_DIR, O_RDONLY | O_DIRECTORY, 0)) < 0) {
		int errnum = errno;

		close(node);
		return ls_err_sys(err, errnum, "%s/" TOOL_DIR, name);
	}
	close(node);
	return LS_OK;
}

static enum ls_rc
find_tool(const struct ext *ext, enum tool_kind kind, const struct tool_facts **out, struct ls_err *err)
{
	const struct tool_info *info = tool_info(kind);

	for (size_t i = 0; i < ext->config.tools_count; i++) {
		const struct tool_facts *t = &ext->config.tools[i];

		if (strcmp(t->name, info->name) != 0 || t->path == NULL || t->path[0] != '/')
			continue;
		if (t->problem != NULL && t->problem[0] != '\0')
			return ls_err_set(err, LS_E_REFUSED, "%s: %s", t->path, t->problem);
		*out = t;
		return LS_OK;
	}
	return ls_err_set(err, LS_E_REFUSED,
	    "this node's agent may not run %s: its agent.conf has no line \"%s = /path/to/%s\"", info->name, info->key,
	    info->name);
}

static char *
join(const struct ext_args *argv)
{
	struct sink s = { 0 };

	for (size_t i = 0; i < argv->count; i++)
		sink_printf(&s, "%s%s", i > 0 ? " " : "", argv->at[i]);
	return s.text;
}

static enum ls_rc
begin_run(struct ext *ext, const struct phase *spec, bool (*stopped)(void *), void *arg, struct ls_err *err)
{
	enum tool_kind kind = tool_of((enum phase_kind)spec->kind);
	struct ext_run *run = &ext->run;
	struct ext_args argv = { 0 }, env = { 0 };
	bool held = false;
	enum ls_rc rc;

	if (kind == TOOL_COUNT)
		return ls_err_set(err, LS_E_INVALID, "no external program does this");
	end_run(ext);
	rc = find_tool(ext, kind, &run->tool, err);
	if (rc == LS_OK)
		rc = tool_phase_validate(spec, err);
	if (rc == LS_OK)
		rc = open_dir(ext, &run->dir_fd, err);
	if (rc != LS_OK)
		return rc;
	ext->program = programs[kind];
	phase_copy(spec, &run->spec);
	run->node = ext->config.node;
	run->steps_count = tool_steps(spec, run->steps, TOOL_STEPS_MAX);
	if (ext->program->prepare != NULL)
		rc = ext->program->prepare(run, stopped, arg, err);
	if (rc == LS_OK)
		rc = ext->program->start(run, &argv, &env, &held, err);
	if (rc == LS_OK) {
		free(ext->command);
		ext->command = join(&argv);
		rc = start_process(run, &argv, &env, held, err);
	}
	if (rc == LS_OK && ext->program->started != NULL)
		rc = ext->program->started(run, err);
	ext_args_fini(&argv);
	ext_args_fini(&env);
	return rc;
}

/* --- the engine's side ---------------------------------------------------------------------------------------------- */

static void
clear_result(struct ext *ext)
{
	field_struct_fini(&tool_result_desc, &ext->result);
	field_struct_init(&tool_result_desc, &ext->result);
	ext->has_result = false;
}

static enum ls_rc
ended_early(const struct ext_run *run, int status, size_t step, struct ls_err *err)
{
	enum ls_rc rc = ext_ended_error(run, status, err);

	(void)ls_err_wrap(err, "before its phase %zu of %zu", step + 1, run->steps_count);
	return rc;
}

/* Until it stands before the step. */
static enum ls_rc
wait_at_gate(struct ext *ext, size_t step, bool (*stopped)(void *), void *arg, struct ls_err *err)
{
	struct ext_run *run = &ext->run;
	struct patience w = { 0 };
	int64_t look_ns = ext->program->look_ns > 0 ? ext->program->look_ns : ASK_NS;
	int status;

	for (;;) {
		err->rc = LS_OK;
		if (ext->program->arrived(run, step, err)) {
			ext->state = EXT_WAITS;
			ext->step = step;
			return LS_OK;
		}
		if (err->rc != LS_OK)
			return err->rc;
		if (ext_process_ended(run->process, &status))
			return ended_early(run, status, step, err);
		ext_process_wait(run->process, ls_mono_now().ns + look_ns);
		enum ls_rc rc = be_patient(run, &w, stopped, arg, err);
		if (rc != LS_OK)
			return rc;
	}
}

/* A step that is not the first needs the program where the one before has left it. */
static enum ls_rc
check_order(const struct ext *ext, const struct phase *spec, struct ls_err *err)
{
	const char *name = tool_info(tool_of((enum phase_kind)spec->kind))->name;

	bool next = ext->state == EXT_BETWEEN && ext->step + 1 == spec->step;

	if (next && ext->run.spec.kind == spec->kind)
		return LS_OK;
	if (ext->state != EXT_NONE && ext->step == spec->step)
		return ls_err_set(err, LS_E_STATE,
		    "%s was let go into phase %llu in an attempt that was void, and cannot go back to before it", name,
		    (unsigned long long)spec->step + 1);
	return ls_err_set(err, LS_E_STATE, "%s does not run: its phase %llu needs those before it", name,
	    (unsigned long long)spec->step + 1);
}

static enum ls_rc
tools_arm(void *arg, const struct phase *spec, bool (*stopped)(void *), void *stopped_arg, struct ls_err *err)
{
	struct ext *ext = arg;
	bool starts = spec->step == 0 || spec->kind == PHASE_RUN_FIO;
	bool there = ext->state == EXT_WAITS && ext->step == spec->step && ext->run.spec.kind == spec->kind;
	enum ls_rc rc;

	clear_result(ext);
	if (there) /* an attempt that nobody here was let go in */
		return LS_OK;
	rc = starts ? begin_run(ext, spec, stopped, stopped_arg, err) : check_order(ext, spec, err);
	if (rc == LS_OK)
		rc = wait_at_gate(ext, spec->step, stopped, stopped_arg, err);
	if (rc != LS_OK)
		end_run(ext);
	return rc;
}

static enum ls_rc
tools_release(void *arg, struct ls_err *err)
{
	struct ext *ext = arg;

	ext->state = EXT_RUNS;
	ext_process_counts(ext->run.process, &ext->before);
	return ext->program->release(&ext->run, ext->step, err);
}

static void
copy_output(struct ext *ext)
{
	const struct sink *out = ext_process_out(ext->run.process), *errors = ext_process_err(ext->run.process);

	ext->result.out = ls_strndup(out->text != NULL ? out->text : "", out->len);
	ext->result.err = ls_strndup(errors->text != NULL ? errors->text : "", errors->len);
	ext->result.cut_bytes = ext_process_cut(ext->run.process);
}

static void
fill_result(struct ext *ext, const struct ext_counts *c, bool ended, int status)
{
	struct tool_result *r = &ext->result;

	clear_result(ext);
	ext->has_result = true;
	free(r->name);
	r->name = ls_strdup(ext->run.tool->name);
	r->version = ls_strdup(ext->run.tool->version);
	r->command = ls_strdup(ext->command);
	r->read_call_bytes = c->read_bytes;
	r->write_call_bytes = c->write_bytes;
	r->read_device_bytes = c->device_read;
	r->write_device_bytes = c->device_write;
	r->ended = ended;
	if (ended && status < EXT_NOT_STARTED)
		r->exit_status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static uint64_t
since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void
count(struct ext *ext, struct ext_counts *c, struct engine_tool_counts *out)
{
	const struct ext_counts *b = &ext->before;

	ext_process_counts(ext->run.process, c);
	c->read_bytes = since(c->read_bytes, b->read_bytes);
	c->write_bytes = since(c->write_bytes, b->write_bytes);
	c->reads = since(c->reads, b->reads);
	c->writes = since(c->writes, b->writes);
	c->device_read = since(c->device_read, b->device_read);
	c->device_write = since(c->device_write, b->device_write);
	*out = (struct engine_tool_counts){
		.ops = c->reads + c->writes,
		.cpu_user_ns = LS_MAX(c->user_ns - b->user_ns, (int64_t)0),
		.cpu_system_ns = LS_MAX(c->system_ns - b->system_ns, (int64_t)0),
	};
	if (ext->program->counted(&ext->run, ext->step) == EXT_COUNTED_CALLS)
		out->bytes = c->read_bytes + c->write_bytes;
	else if (ext->program->counted(&ext->run, ext->step) == EXT_COUNTED_DEVICE)
		out->bytes = c->device_read + c->device_write;
}

/* The program is gone. After its last step that is how it should be. */
static enum engine_tool_state
take_end(struct ext *ext, int status, struct ls_err *err)
{
	bool last = ext->run.spec.kind == PHASE_RUN_FIO || ext->step + 1 == ext->run.steps_count;
	enum engine_tool_state state = ENGINE_TOOL_DONE;

	copy_output(ext);
	if (status != 0 || !last) {
		(void)ext_ended_error(&ext->run, status, err);
		if (status == 0)
			ls_err_wrap(err, "%zu of %zu phases", ext->step + 1, ext->run.steps_count);
		state = ENGINE_TOOL_FAILED;
	}
	end_run(ext);
	return state;
}

static enum engine_tool_state
tools_poll(void *arg, int64_t until_ns, struct engine_tool_counts *counts, int64_t *end_ns, struct ls_err *err)
{
	struct ext *ext = arg;
	struct ext_counts c;
	int status = 0;

	err->rc = LS_OK;
	for (;;) {
		int64_t now_ns = ls_mono_now().ns;
		int64_t look_ns = ext->program->look_ns > 0 ? now_ns + ext->program->look_ns : until_ns;

		ext_process_wait(ext->run.process, LS_MIN(until_ns, look_ns));
		*end_ns = ls_mono_now().ns;
		if (ext_process_ended(ext->run.process, &status)) {
			count(ext, &c, counts);
			fill_result(ext, &c, true, status);
			return take_end(ext, status, err);
		}
		if (ext->program->over(&ext->run, ext->step, err)) {
			count(ext, &c, counts);
			fill_result(ext, &c, false, 0);
			ext->state = EXT_BETWEEN;
			return ENGINE_TOOL_DONE;
		}
		if (err->rc != LS_OK)
			break;
		if (*end_ns >= until_ns)
			break;
	}
	count(ext, &c, counts);
	if (err->rc == LS_OK)
		return ENGINE_TOOL_RUNS;
	fill_result(ext, &c, false, 0);
	copy_output(ext);
	return ENGINE_TOOL_FAILED;
}

static void
tools_stop(void *arg)
{
	struct ext *ext = arg;

	if (ext->state != EXT_NONE && ext->run.process != NULL) {
		struct ext_counts c;
		struct engine_tool_counts counts;

		if (ext->state == EXT_RUNS) {
			count(ext, &c, &counts);
			fill_result(ext, &c, false, 0);
			copy_output(ext);
		}
	}
	bool ran = ext->state == EXT_RUNS;
	end_run(ext);
	if (ran) /* only the first phase can be begun anew */
		ext->state = EXT_RUNS;
}

const struct engine_tools ext_engine_tools = { tools_arm, tools_release, tools_poll, tools_stop };

/* --- life ----------------------------------------------------------------------------------------------------------- */

struct ext *
ext_new(const struct ext_config *config)
{
	struct ext *ext = ls_calloc(1, sizeof(*ext));

	ext->config = *config;
	ext->run = (struct ext_run){ .ext = ext, .dir_fd = -1, .semaphores = -1 };
	field_struct_init(&tool_result_desc, &ext->result);
	return ext;
}

void
ext_free(struct ext *ext)
{
	if (ext == NULL)
		return;
	end_run(ext);
	field_struct_fini(&tool_result_desc, &ext->result);
	free(ext->command);
	free(ext);
}

const struct tool_result *
ext_result(const struct ext *ext)
{
	return ext != NULL && ext->has_result ? &ext->result : NULL;
}
