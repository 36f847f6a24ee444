/*
 * iozone: in throughput mode it runs a command before and after each test (IMON_START, IMON_STOP) and waits for it (IMON_SYNC). With one
 * stream there is no such hook: then its start is held.
 */
#include <stdio.h>
#include <string.h>

#include "agent/runner/ext_int.h"

static enum ls_rc
add_hooks(struct ext_args *env, struct ls_err *err)
{
	char start[EXT_TEXT_MAX], stop[EXT_TEXT_MAX];
	enum ls_rc rc = ext_gate_command("--gate", start, sizeof(start), err);

	if (rc == LS_OK)
		rc = ext_gate_command("--gate-end", stop, sizeof(stop), err);
	if (rc != LS_OK)
		return rc;
	ext_args_add(env, "IMON_SYNC=1");
	ext_args_add(env, "IMON_START=%s", start);
	ext_args_add(env, "IMON_STOP=%s", stop);
	return LS_OK;
}

static enum ls_rc
iozone_start(struct ext_run *run, struct ext_args *argv, struct ext_args *env, bool *held, struct ls_err *err)
{
	static const int64_t usual[] = { 0, 1 };
	const struct phase *spec = &run->spec;
	const int64_t *tests = spec->tests_count > 0 ? spec->tests : usual;
	size_t count = spec->tests_count > 0 ? spec->tests_count : ARRAY_LEN(usual);

	ext_args_add(argv, "%s", run->tool->path);
	if (spec->mode == TOOL_THROUGHPUT) {
		ext_args_add(argv, "-t");
		ext_args_add(argv, "%llu", (unsigned long long)spec->streams);
		ext_args_add(argv, "-C");
	}
	ext_args_add(argv, "-s");
	ext_args_add(argv, "%lluk", (unsigned long long)(spec->file_size >> 10));
	ext_args_add(argv, "-r");
	ext_args_add(argv, "%lluk", (unsigned long long)(spec->record_size >> 10));
	for (size_t i = 0; i < count; i++) {
		ext_args_add(argv, "-i");
		ext_args_add(argv, "%lld", (long long)tests[i]);
	}
	if (spec->direct)
		ext_args_add(argv, "-I");
	if (spec->fsync)
		ext_args_add(argv, "-e");
	if (spec->close)
		ext_args_add(argv, "-c");
	*held = spec->mode == TOOL_SINGLE;
	run->waiters = 1;
	return *held ? LS_OK : add_hooks(env, err);
}

/* A whole line of the gate. */
static bool
has_line(const char *text, const char *prefix, const char *name)
{
	size_t skip = strlen(prefix), len = strlen(name);

	for (const char *p = text; *p != '\0'; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, prefix, skip) == 0 && strncmp(p + skip, name, len) == 0 && p[skip + len] == '\n')
			return true;
	return false;
}

static bool
iozone_arrived(struct ext_run *run, size_t step, struct ls_err *err)
{
	const char *gate = run->steps[step].gate != NULL ? run->steps[step].gate : "start";
	const char *said = ext_process_gate(run->process);
	const char *p = said;

	if (has_line(said, "", gate))
		return true;
	while (*p == '=') { /* ends of tests before */
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	if (strchr(p, '\n') != NULL)
		(void)ls_err_set(err, LS_E_PROTO, "%s should wait before its test %s, but says \"%.*s\"",
		    run->tool->name, gate, (int)strcspn(p, "\n"), p);
	return false;
}

static enum ls_rc
iozone_release(struct ext_run *run, size_t step, struct ls_err *err)
{
	(void)step;
	ext_process_gate_clear(run->process);
	return ext_process_let_go(run->process, 1, err);
}

static bool
iozone_over(struct ext_run *run, size_t step, struct ls_err *err)
{
	const char *gate = run->steps[step].gate;

	(void)err;
	return step + 1 < run->steps_count && has_line(ext_process_gate(run->process), "=", gate);
}

static enum ext_counted
iozone_counted(const struct ext_run *run, size_t step)
{
	(void)run;
	(void)step;
	return EXT_COUNTED_CALLS;
}

const struct ext_program ext_iozone = {
	.tool = TOOL_IOZONE,
	.start = iozone_start,
	.arrived = iozone_arrived,
	.release = iozone_release,
	.over = iozone_over,
	.counted = iozone_counted,
};
