/*
 * Phases that an external program does: fio, bonnie++, iozone. A job names one phase for the whole program; lockstep takes it apart into
 * the phases that the program itself has, so that each has a barrier of its own. Pure.
 */
#ifndef LS_PROTO_MODEL_TOOL_H
#define LS_PROTO_MODEL_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "proto/model/job.h"

enum tool_kind {
#define TOOL(ID, id, kind, name, oldest, help) TOOL_##ID,
#include "proto/model/tools.def"
#undef TOOL
	TOOL_COUNT
};

struct tool_info {
	const char *name;
	const char *key;    /* of agent.conf */
	const char *oldest; /* version */
	const char *help;
	enum phase_kind kind;
};

#define TOOL_STEPS_MAX 64

/* One of a program's own phases. */
struct tool_step {
	uint64_t number;      /* the program's own number of it; for fio the stage */
	const char *title;    /* NULL: made from the job (fio) */
	enum phase_kind kind; /* the nearest of ours */
	const char *test;     /* its name in imports; NULL: the whole output is about it */
	const char *gate;     /* what the program says when it waits there; NULL: nothing */
	bool timed_wait;      /* its own clock runs while it waits at the barrier */
};

extern const char *const tool_names[TOOL_COUNT + 1];

/* The row of a tool; in range. Static. */
const struct tool_info *tool_info(enum tool_kind tool);

/* Which tool does that kind of phase? TOOL_COUNT: none, it is one of our own. */
enum tool_kind tool_of(enum phase_kind kind);

/* The phases that the program goes through with these parameters, in its order; the phase is valid. Returns how many, at most max. */
size_t tool_steps(const struct phase *phase, struct tool_step *out, size_t max);

/* The step that a phase is. False: it is none of a program, or its parameters do not fit. */
bool tool_step_of(const struct phase *phase, struct tool_step *out);

/* What it does, in a line: "16 MiB in chunks of 8 KiB; 1024 files of 0 B". Returns buf. */
const char *tool_about(const struct phase *phase, char *buf, size_t len);

/*
 * Checks the parameters of such a phase, and where it was taken apart that step and steps fit. Errors: LS_E_INVALID, LS_E_RANGE; the
 * sentence begins with the field.
 */
enum ls_rc tool_phase_validate(const struct phase *phase, struct ls_err *err) LS_MUST_CHECK;

/*
 * Replaces each phase of a program that was not taken apart by those of its steps. Errors: LS_E_RANGE, LS_E_INVALID; the job is unchanged
 * then.
 */
enum ls_rc job_expand_tools(struct job *job, struct ls_err *err) LS_MUST_CHECK;

/* Bytes and files that the program makes on each node. Saturates. */
void tool_footprint(const struct phase *phase, uint64_t *out_bytes, uint64_t *out_files);

/* Is version a ("2.00a", "fio-3.33") older than b? Numbers between points are compared, then the letter. */
bool tool_version_older(const char *a, const char *b);

/*
 * Do two versions of the program measure the same in that step? NULL where they do, else why not (static). Unknown versions (NULL) are
 * comparable with nothing.
 */
const char *tool_versions_differ(enum tool_kind tool, const struct tool_step *step, const char *a, const char *b);

#endif
