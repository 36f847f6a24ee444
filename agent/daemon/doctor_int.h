/*
 * Inside of doctor.c: its parts. Included nowhere else.
 */
#ifndef LS_AGENT_DAEMON_DOCTOR_INT_H
#define LS_AGENT_DAEMON_DOCTOR_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/daemon/config.h"
#include "common/base/err.h"

enum finding { FINDING_OK = 0, FINDING_WARNING, FINDING_FAILED, FINDING_COUNT };

struct doctor {
	const struct agent_config *config;
	const char *volume; /* of --volume, or NULL */
	bool quiet;         /* only what failed */
	unsigned count[FINDING_COUNT];
};

/* One line on standard output: a finding, a check's name, a sentence and, unless all is well, what to do (NULL: nothing). */
void doctor_say(struct doctor *d, enum finding finding, const char *check, const char *advice, const char *fmt, ...)
    LS_PRINTF(5, 6);

/* A directory as a process of its own saw it. */
struct dir_look {
	int errnum;    /* 0, or why it cannot be looked at */
	int writable;  /* 0, or why not */
	int64_t magic; /* of its file system (statfs) */
	uint64_t free_bytes, total_bytes;
};

/*
 * Looks at a directory (statfs, access) in a child, which is killed and left behind when it has not answered by the deadline: a file
 * system that hangs holds up nobody else. Errors: LS_E_TIMEOUT, LS_E_SYS (no child, or it ended without an answer).
 */
enum ls_rc doctor_look(const char *dir, int64_t deadline_ns, struct dir_look *out, struct ls_err *err) LS_MUST_CHECK;

/* Of a file system shared by machines, its name; else NULL. Static. Pure. */
const char *doctor_shared_fs(int64_t magic);

/* The file system's name as far as it is known, else "0x..." in buf. Pure. */
const char *doctor_fs_name(int64_t magic, char *buf, size_t len);

/*
 * Dials the coordinator with this node's certificate and waits whether it is let in: TLS done, and not thrown out within a second. Says
 * nothing, so that nobody takes it for the agent. Errors: why not, LS_E_TIMEOUT after 10 s.
 */
enum ls_rc doctor_dial(const struct agent_config *config, struct ls_err *err) LS_MUST_CHECK;

#endif
