/*
 * The alignment that direct I/O needs on a volume, found out before a run.
 */
#ifndef LS_AGENT_RUNNER_PROBE_H
#define LS_AGENT_RUNNER_PROBE_H

#include <stdint.h>

#include "common/base/err.h"

struct probe_direct {
	uint64_t align;     /* of offsets, lengths and memory; LS_UNKNOWN_U64: direct I/O is not possible */
	const char *source; /* "statx" or "a trial write" (static); where align was learned */
	char why[128];      /* if not possible: the reason */
};

/*
 * Finds the alignment by a file of that name, which it makes in the directory and removes again: from statx (STATX_DIOALIGN, Linux
 * 6.1) where the file system tells, else by writing with O_DIRECT. Errors: LS_E_SYS when the file cannot be made.
 */
enum ls_rc probe_direct(int dir_fd, const char *name, struct probe_direct *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * Is that enough for a job whose direct sizes are multiples of job_align (a power of two)? Pure.
 * Errors: LS_E_REFUSED, the sentence says what is needed and where that was learned.
 */
enum ls_rc probe_direct_check(
    const struct probe_direct *probe, const char *path, uint64_t job_align, struct ls_err *err) LS_MUST_CHECK;

/*
 * Can completions be polled for on the volume? Tried with a read of a file of that name, which is made and removed. Errors:
 * LS_E_REFUSED with the reason, LS_E_SYS.
 */
enum ls_rc probe_polling(int dir_fd, const char *name, struct ls_err *err) LS_MUST_CHECK;

#endif
