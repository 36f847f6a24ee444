/*
 * Inside of agent.c and dispatch.c: the agent's parts. Included nowhere else.
 */
#ifndef LS_AGENT_DAEMON_AGENT_INT_H
#define LS_AGENT_DAEMON_AGENT_INT_H

#include "agent/daemon/agent.h"
#include "agent/daemon/assignments.h"
#include "agent/daemon/heartbeat.h"
#include "agent/daemon/hung.h"
#include "agent/daemon/renewal.h"
#include "agent/daemon/run.h"
#include "agent/daemon/session.h"
#include "agent/daemon/spool.h"
#include "agent/daemon/sweep.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "common/pki/identity.h"
#include "common/svc/svc.h"
#include "proto/codec/msg.h"

struct agent {
	const struct agent_config *config;
	struct identity identity;
	struct node_facts facts;
	int64_t spin_ns;
	char instance[33]; /* of this start */
	int pidfile;       /* -1: none */

	struct loop *loop;
	struct svc *svc;
	struct loop_signal *on_term, *on_int, *on_hup, *on_usr1;
	struct offload *disk;
	struct spool *spool;
	struct assignments *assignments;
	struct hung *hung;
	struct sweep *sweep;
	struct tls_ctx *tls;
	struct renewal *renewal;
	struct session *session;
	struct run *run; /* NULL: idle */
	struct ls_mono run_began;
	struct heartbeat *heartbeat; /* NULL: not watched */
	struct loop_timer *limits;   /* while a run goes on */
	size_t held;                 /* messages that wait until results before them are on the disk */

	bool quitting;
	struct loop_timer *quit_limit, *quit_poll;
	struct ls_mono quit_poll_until;
};

/* Encodes and sends to the coordinator; false unless connected. */
bool agent_send(struct agent *agent, enum msg_type type, const void *body);

/* Begins a run with an assign message, whose body may be taken over. */
enum ls_rc agent_begin_run(struct agent *agent, struct msg *assign, struct ls_err *err) LS_MUST_CHECK;

#endif
