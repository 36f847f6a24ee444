/*
 * How old o2cb's heartbeat is: the time since this machine has last written its slot in a region, and the age at which it fences itself.
 */
#ifndef LS_AGENT_HELPER_HEARTBEAT_H
#define LS_AGENT_HELPER_HEARTBEAT_H

#include "agent/helper/wire.h"

/*
 * Reads all regions below sys (as the configuration has it). Source: fs/ocfs2/cluster/heartbeat.c: debugfs file elapsed_time_in_ms of
 * a region, and O2HB_MAX_WRITE_TIMEOUT_MS from the dead threshold. Errors: LS_E_NOTFOUND (no o2cb on this machine, debugfs not
 * mounted, no region), LS_E_LIMIT.
 */
enum ls_rc heartbeat_read(const char *sys, struct helper_beats *out, struct ls_err *err) LS_MUST_CHECK;

#endif
