/*
 * What agents say, handed to the registry, the collector or the run that the node is in.
 */
#ifndef LS_COORDINATOR_DAEMON_AGENT_H
#define LS_COORDINATOR_DAEMON_AGENT_H

#include "coordinator/daemon/session.h"

/* Handlers, see dispatch.h. */
enum ls_rc agent_on_facts(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_hung(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_pong(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_prepared(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_refused(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_volume_verified(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_armed(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_failed(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_set(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_missed(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_voided(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_sample(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_fsynced(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_result_part(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_aborted(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc agent_on_finished(struct session *s, void *body, struct ls_mono received, struct ls_err *err);

#endif
