/*
 * An external program as the runner sees it: a guard that starts it and ends all of it, its standard streams, the gate at which it waits.
 * One thread at a time.
 */
#ifndef LS_AGENT_RUNNER_EXT_PROCESS_H
#define LS_AGENT_RUNNER_EXT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runner/ext_tree.h"
#include "common/base/err.h"
#include "common/base/sink.h"

#define EXT_OUT_MAX (3U << 20)   /* bytes of standard output that are kept: the first */
#define EXT_ERR_MAX (256U << 10) /* of standard error: the last */

struct ext_process;

struct ext_start {
	const char *const *argv; /* argv[0] absolute; NULL-terminated */
	const char *const *env;  /* the whole environment, NULL-terminated */
	int cwd_fd;
	bool held;      /* does not become the program before ext_process_let_go */
	int semaphores; /* id of a System V set that is removed when all has ended, whatever becomes of us; -1: none */
};

/* Errors: LS_E_SYS. That the program cannot be executed shows later, as its end. */
enum ls_rc ext_process_start(const struct ext_start *start, struct ext_process **out, struct ls_err *err) LS_MUST_CHECK;

/* Takes what there is from streams and gate, waiting until that instant at most for the first of it. */
void ext_process_wait(struct ext_process *p, int64_t until_ns);

/* What it has said so far; borrowed, and may be looked at until the next call. */
const struct sink *ext_process_out(const struct ext_process *p);
const struct sink *ext_process_err(const struct ext_process *p);
uint64_t ext_process_cut(const struct ext_process *p); /* bytes that were dropped */

/* Lines of the gate since the last ext_process_gate_clear: "name" arrived, "=name" is over. */
const char *ext_process_gate(const struct ext_process *p);
void ext_process_gate_clear(struct ext_process *p);

/* Lets count processes that wait at the gate go on. */
enum ls_rc ext_process_let_go(struct ext_process *p, uint64_t count, struct ls_err *err) LS_MUST_CHECK;

/* Writes a line to its standard input. */
enum ls_rc ext_process_say(struct ext_process *p, const char *text, struct ls_err *err) LS_MUST_CHECK;

/* Has the program itself ended, with all that it said read? status: as of waitpid, or EXT_NOT_STARTED + errno. */
bool ext_process_ended(const struct ext_process *p, int *status);

/* Counters of it and all that it has started, ended ones included; without what it said to us and heard from us. */
void ext_process_counts(const struct ext_process *p, struct ext_counts *out);

/* Its last lines, for an error: standard error's, else standard output's. Printable, cut to fit. Returns buf. */
const char *ext_process_last_words(const struct ext_process *p, char *buf, size_t len);

/* Ends it and all that it has started, and frees. NULL-safe. Takes a few milliseconds, and 6 s when something hangs in the kernel. */
void ext_process_free(struct ext_process *p);

#endif
