/*
 * Does a run fit onto its volume, with the reserve left free? Pure arithmetic.
 */
#ifndef LS_AGENT_RUNNER_SPACE_H
#define LS_AGENT_RUNNER_SPACE_H

#include <stdint.h>

#include "common/base/err.h"

struct space {
	uint64_t total_bytes, free_bytes;   /* free: for ordinary users */
	uint64_t total_inodes, free_inodes; /* LS_UNKNOWN_U64 where the file system has no such limit */
};

/*
 * need_bytes and need_files: what the run makes, all nodes together; 0 is not checked: it takes nothing.
 * reserve_percent (0..99) of the total must stay free of each. path: for the sentence.
 * Errors: LS_E_REFUSED with the numbers and what would change them.
 */
enum ls_rc space_check(const char *path, const struct space *space, uint64_t need_bytes, uint64_t need_files,
    unsigned reserve_percent, struct ls_err *err) LS_MUST_CHECK;

#endif
