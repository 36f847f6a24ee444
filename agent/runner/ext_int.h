/* What ext.c and the files of the single programs share. Included nowhere else. */
#ifndef LS_AGENT_RUNNER_EXT_INT_H
#define LS_AGENT_RUNNER_EXT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runner/ext.h"
#include "agent/runner/ext_process.h"
#include "proto/model/tool.h"

#define EXT_ARGS_MAX 64
#define EXT_TEXT_MAX 320

/* A command line in the making: texts are copied. */
struct ext_args {
	char *at[EXT_ARGS_MAX + 1];
	size_t count;
};

void ext_args_add(struct ext_args *args, const char *fmt, ...) LS_PRINTF(2, 3);
void ext_args_fini(struct ext_args *args);

/* One run of a program, from its start to its end. */
struct ext_run {
	const struct ext *ext;
	const struct tool_facts *tool;
	struct phase spec; /* a copy */
	struct tool_step steps[TOOL_STEPS_MAX];
	size_t steps_count;
	int dir_fd; /* borrowed: where it works */
	const char *node;
	struct ext_process *process; /* NULL: not started, or ended and freed */
	uint64_t waiters;            /* processes that wait at a gate */
	size_t seen;                 /* bytes of standard output that were looked at for prompts */
	int semaphores;              /* bonnie++ 1.03: the set; -1: none */
};

enum ext_counted { EXT_COUNTED_CALLS, EXT_COUNTED_DEVICE, EXT_COUNTED_NOTHING };

/* How one program is held and let go. */
struct ext_program {
	enum tool_kind tool;

	/* Makes what it needs before its first phase; blocks, as a rule because files are laid out. NULL: nothing. */
	enum ls_rc (*prepare)(struct ext_run *run, bool (*stopped)(void *), void *arg, struct ls_err *err);
	/* Command line and environment; *held: it does not begin before the release. */
	enum ls_rc (*start)(
	    struct ext_run *run, struct ext_args *argv, struct ext_args *env, bool *held, struct ls_err *err);
	/* After the process is there. NULL: nothing. */
	enum ls_rc (*started)(struct ext_run *run, struct ls_err *err);
	/* Does it wait at the gate before that step? Also false with an error when it waits at another. */
	bool (*arrived)(struct ext_run *run, size_t step, struct ls_err *err);
	enum ls_rc (*release)(struct ext_run *run, size_t step, struct ls_err *err);
	/* Is that step over while the program lives on? */
	bool (*over)(struct ext_run *run, size_t step, struct ls_err *err);
	void (*end)(struct ext_run *run); /* NULL: nothing */
	/* What of /proc/PID/io is its work in that step. */
	enum ext_counted (*counted)(const struct ext_run *run, size_t step);
	int64_t look_ns; /* how often arrived and over must be asked; 0: when the program says something */
};

extern const struct ext_program ext_fio, ext_bonnie, ext_iozone;

/* Runs a process of the program to its end, before any phase. Errors: its last words. */
enum ls_rc ext_run_once(struct ext_run *run, const struct ext_args *argv, bool (*stopped)(void *), void *arg,
    struct ls_err *err) LS_MUST_CHECK;

/* The command by which a program calls the gate; fit for a shell and for fio's job files. Errors: LS_E_REFUSED. */
enum ls_rc ext_gate_command(const char *option, char *buf, size_t len, struct ls_err *err) LS_MUST_CHECK;

/* The error for a process that has ended: how, and its last words. */
enum ls_rc ext_ended_error(const struct ext_run *run, int status, struct ls_err *err);

#endif
