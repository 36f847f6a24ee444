/*
 * The directory that a job names, and the volume below it: opening it without being led elsewhere, and what the kernel
 * says about it.
 */
#ifndef LS_AGENT_RUNNER_VOLUME_H
#define LS_AGENT_RUNNER_VOLUME_H

#include <stdbool.h>

#include "agent/runner/space.h"
#include "common/base/err.h"
#include "proto/model/results.h"

/*
 * Opens path (O_PATH) and makes sure that it is what its text says: the agent checked that text against its allow
 * list, so a symbolic link in it would lead past the list. out_fd: owned by the caller.
 * Errors: LS_E_SYS (does not exist, is no directory), LS_E_REFUSED (a component is a link; names the real path).
 */
enum ls_rc volume_open(const char *path, int *out_fd, struct ls_err *err) LS_MUST_CHECK;

/* Are these the same path but for repeated slashes, "." components and a slash at the end? Pure. */
bool volume_path_equal(const char *a, const char *b);

/*
 * Mount, type, ids and sizes into facts (initialised by the caller), the same sizes into space. What cannot be known (the
 * mount, in a chroot) stays unknown. Direct and asynchronous I/O are not looked at here. Errors: LS_E_SYS.
 */
enum ls_rc volume_read(
    int fd, const char *path, struct volume_facts *facts, struct space *space, struct ls_err *err) LS_MUST_CHECK;

/* Does a file system of type actual satisfy the wish for expected? "nfs" also takes nfs4. Pure. */
bool volume_type_matches(const char *expected, const char *actual);

#endif
