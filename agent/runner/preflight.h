/*
 * May this run happen here? What a node looks at before a run, in one place. Makes nothing on the volume except for the
 * moment of trying direct I/O.
 */
#ifndef LS_AGENT_RUNNER_PREFLIGHT_H
#define LS_AGENT_RUNNER_PREFLIGHT_H

#include "agent/runner/rundir.h"
#include "common/base/err.h"
#include "proto/codec/msg.h"

/*
 * Opens the job's path; looks at mount, type of file system, space, inodes, and whether the back ends that the job needs can
 * be used. facts: initialised by the caller, filled as far as known also on error. out_fd: the path, owned by the caller.
 * Errors: LS_E_REFUSED and others, each with a sentence that says what would change it.
 */
enum ls_rc preflight_volume(
    const struct msg_assign *assign, struct volume_facts *facts, int *out_fd, struct ls_err *err) LS_MUST_CHECK;

/*
 * Which alignment direct I/O needs, if a phase is direct, and whether the job's sizes have it. Errors: LS_E_REFUSED,
 * LS_E_SYS.
 */
enum ls_rc preflight_direct(const struct msg_assign *assign, const struct rundir *rd, struct volume_facts *facts,
    struct ls_err *err) LS_MUST_CHECK;

#endif
