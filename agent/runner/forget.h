/*
 * Has the kernel forget what it has cached of files.
 */
#ifndef LS_AGENT_RUNNER_FORGET_H
#define LS_AGENT_RUNNER_FORGET_H

#include <stdbool.h>

#include "common/base/err.h"

/*
 * posix_fadvise(POSIX_FADV_DONTNEED) on each file in the directory of that name below dir_fd, at any depth; links are not followed. Of what is
 * dirty nothing is forgotten: flush before. A directory that is not there has no files. stopped is asked now and then.
 * Errors: LS_E_SYS, LS_E_LIMIT (too deep), LS_E_CLOSED (stopped).
 */
enum ls_rc forget_files(
    int dir_fd, const char *name, bool (*stopped)(void *arg), void *arg, struct ls_err *err) LS_MUST_CHECK;

#endif
