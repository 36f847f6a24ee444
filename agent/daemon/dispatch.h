/*
 * What the coordinator may say and who answers it: the agent's table of messages.
 */
#ifndef LS_AGENT_DAEMON_DISPATCH_H
#define LS_AGENT_DAEMON_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/err.h"

struct agent;

/*
 * One frame. An unknown type is answered with an error and otherwise ignored. Errors: LS_E_PROTO for a malformed message or
 * one that is not allowed now; the connection must end.
 */
enum ls_rc dispatch_frame(
    struct agent *agent, const uint8_t *data, size_t len, struct ls_mono received, struct ls_err *err) LS_MUST_CHECK;

#endif
