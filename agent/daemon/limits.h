/*
 * What this node lets a run do, whatever its coordinator says: bytes, files, workers, time, hours of the day. Keys of agent.conf.
 */
#ifndef LS_AGENT_DAEMON_LIMITS_H
#define LS_AGENT_DAEMON_LIMITS_H

#include "agent/daemon/config.h"
#include "common/base/err.h"
#include "proto/codec/msg.h"

/* Are the limits of a configuration well-formed? Errors: LS_E_INVALID, the sentence names the key. Pure. */
enum ls_rc limits_config_check(const struct agent_config *config, struct ls_err *err) LS_MUST_CHECK;

/* Minutes since local midnight, now. */
unsigned limits_minute_now(void);

/* May a run be begun that is assigned at that minute of the day? Errors: LS_E_REFUSED, the sentence names figure and key. Pure. */
enum ls_rc limits_check(const struct agent_config *config, const struct msg_assign *assign, unsigned minute,
    struct ls_err *err) LS_MUST_CHECK;

/*
 * Must a run that has gone on for ran_ns be stopped at that minute of the day? LS_OK: no. Errors: LS_E_LIMIT, the sentence is the reason.
 * Pure.
 */
enum ls_rc limits_go_on(
    const struct agent_config *config, int64_t ran_ns, unsigned minute, struct ls_err *err) LS_MUST_CHECK;

/*
 * Holds a phase that is to be armed to max_bandwidth: its rate_bytes becomes the workers' equal share, unless it is lower already.
 * workers: of this node in the phase; 0: nothing to hold. Errors: LS_E_INVALID for a phase that moves data and has no rate to set (an
 * external program, small files); LS_E_RANGE when the share is less than a byte per second. Pure.
 */
enum ls_rc limits_hold(
    const struct agent_config *config, struct phase *spec, uint64_t workers, struct ls_err *err) LS_MUST_CHECK;

/* The limits as facts tell them; out is initialised, field_struct_fini(&node_limits_desc, out) ends it. */
void limits_tell(const struct agent_config *config, struct node_limits *out);

/* May caches be emptied that way? Errors: LS_E_REFUSED, the sentence names the key. Pure. */
enum ls_rc limits_caches(const struct agent_config *config, enum phase_caches how, struct ls_err *err) LS_MUST_CHECK;

#endif
