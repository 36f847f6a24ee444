#include "agent/daemon/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/daemon/agent_int.h"
#include "agent/daemon/allow.h"
#include "agent/daemon/dispatch.h"
#include "agent/daemon/facts.h"
#include "agent/daemon/limits.h"
#include "agent/daemon/pidfile.h"
#include "agent/daemon/tools.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/pathname.h"
#include "common/base/version.h"

#define QUIT_LIMIT_NS  (4900 * NS_PER_MS) /* SIGTERM to exit: within 5 s */
#define LIMITS_LOOK_NS NS_PER_S
#define QUIT_POLL_NS   (5 * NS_PER_MS)
#define QUIT_FLUSH_NS  (500 * NS_PER_MS) /* for the last results: disk, network, runners that end */

bool
agent_send(struct agent *agent, enum msg_type type, const void *body)
{
	char *text = NULL;
	size_t len;
	struct ls_err err;
	bool sent = false;

	if (msg_encode(type, body, &text, &len, &err))
		ls_log(LS_LOG_ERROR, "a message cannot be encoded", "error=\"%s\"", err.text);
	else
		sent = session_send(agent->session, text, len);
	free(text);
	return sent;
}

static bool
send_message(enum msg_type type, const void *body, void *arg)
{
	return agent_send(arg, type, body);
}

/* --- what the session asks --- */

static char *
make_hello(size_t *len, void *arg)
{
	struct agent *agent = arg;
	char *version = ls_strdup(lockstep_version), *build = ls_strdup(lockstep_build);
	char *run = agent->run ? ls_strdup(run_id(agent->run)) : NULL;
	struct msg_hello body = {
		.protocol = MSG_PROTOCOL_MAJOR,
		.protocol_minor = MSG_PROTOCOL_MINOR,
		.version = version,
		.build = build,
		.name = agent->identity.name,
		.boot_id = agent->facts.boot_id,
		.instance = agent->instance,
		.run = run,
	};
	char *text = NULL;
	struct ls_err err;

	if (msg_encode(MSG_HELLO, &body, &text, len, &err)) {
		ls_log(LS_LOG_ERROR, "hello cannot be encoded", "error=\"%s\"", err.text);
		text = ls_strdup("{}");
		*len = 2;
	}
	free(version);
	free(build);
	free(run);
	return text;
}

static enum ls_rc
on_frame(const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	return dispatch_frame(arg, data, len, received, err);
}

static void
tell_hung(struct agent *agent, bool even_if_none)
{
	struct msg_hung body = hung_message(agent->hung);

	if (body.runners_count > 0 || even_if_none)
		agent_send(agent, MSG_HUNG, &body);
	free(body.runners);
}

static void
on_hung_changed(void *arg)
{
	tell_hung(arg, true);
}

static void
on_up(void *arg)
{
	struct agent *agent = arg;
	struct msg_facts body = { .facts = agent->facts };

	svc_ready(agent->svc, "connected to the coordinator");
	agent_send(agent, MSG_FACTS, &body);
	tell_hung(agent, false);
	spool_resend(agent->spool);
	renewal_connected(agent->renewal);
	if (agent->run)
		run_connected(agent->run);
}

static void
on_down(void *arg)
{
	struct agent *agent = arg;

	if (agent->run)
		run_disconnected(agent->run);
}

static const struct session_events session_events = { make_hello, on_frame, on_up, on_down };

/* --- what a run asks --- */

static bool
send_now(const char *text, size_t len, void *arg)
{
	struct agent *agent = arg;
	return agent->session && session_send(agent->session, text, len);
}

/* A message that waits for the disk. */
struct held {
	struct agent *agent;
	char *text;
	size_t len;
};

static void
held_nothing(void *arg)
{
	(void)arg;
}

static void
held_send(void *arg)
{
	struct held *held = arg;

	held->agent->held--;
	send_now(held->text, held->len, held->agent);
	free(held->text);
	free(held);
}

/* "aborted" must not be there before the result that it follows, which is sent when the disk has it: the same way for both. */
static bool
port_send(const char *text, size_t len, void *arg)
{
	struct agent *agent = arg;

	if (spool_writing(agent->spool) == 0 && agent->held == 0)
		return send_now(text, len, agent);

	struct held *held = ls_malloc(sizeof(*held));
	*held = (struct held){ .agent = agent, .text = ls_strndup(text, len), .len = len };
	agent->held++;
	offload_submit(agent->disk, held_nothing, held_send, held);
	return session_state(agent->session) == SESSION_UP;
}

static size_t
port_unsent(void *arg)
{
	return session_unsent(((struct agent *)arg)->session);
}

static uint64_t
port_net_bytes(void *arg)
{
	return session_net_bytes(((struct agent *)arg)->session);
}

static void
port_result(const struct epoch *epoch, char *document, size_t len, void *arg)
{
	spool_add(((struct agent *)arg)->spool, epoch, document, len);
}

static void
port_discard(const struct epoch *epoch, void *arg)
{
	spool_discard(((struct agent *)arg)->spool, epoch);
}

static void
port_sweep(const char *run, void *arg)
{
	struct agent *agent = arg;

	if (agent->sweep) /* else the agent is ending: its successor cleans up */
		sweep_add(agent->sweep, run);
}

static void
port_abandon(struct runner *runner, const char *run, const struct stall *stall, void *arg)
{
	struct agent *agent = arg;

	if (agent->sweep)
		sweep_abandon(agent->sweep, runner, run, stall);
	else
		runner_abandon(runner, NULL, NULL);
}

static void
free_run(void *arg)
{
	run_free(arg);
}

static void
port_gone(struct run *run, void *arg)
{
	struct agent *agent = arg;

	agent->run = NULL;
	heartbeat_end(agent->heartbeat);
	loop_defer(agent->loop, free_run, run);
	if (agent->quitting)
		loop_timer_set(agent->quit_poll, 0);
}

static const struct run_ports run_ports = {
	.send = port_send,
	.unsent = port_unsent,
	.net_bytes = port_net_bytes,
	.result = port_result,
	.discard = port_discard,
	.sweep = port_sweep,
	.abandon = port_abandon,
	.gone = port_gone,
};

/* While a run goes on: is it still within what this node allows? */
static void
on_limits(void *arg)
{
	struct agent *agent = arg;
	struct ls_err why;

	if (!agent->run)
		return;
	int64_t ran = ls_mono_now().ns - agent->run_began.ns;
	if (limits_go_on(agent->config, ran, limits_minute_now(), &why)) {
		ls_log(LS_LOG_WARN, "run stopped by this node", "run=%s why=\"%s\"", run_id(agent->run), why.text);
		run_stop(agent->run, why.text);
		return;
	}
	loop_timer_set(agent->limits, LIMITS_LOOK_NS);
}

static void
on_old_heartbeat(const char *why, void *arg)
{
	struct agent *agent = arg;

	if (agent->run != NULL)
		run_stop(agent->run, why);
}

enum ls_rc
agent_begin_run(struct agent *agent, struct msg *assign, struct ls_err *err)
{
	const struct msg_assign *body = assign->body;

	if (agent->quitting)
		return ls_err_set(err, LS_E_REFUSED, "the agent is ending");
	if (agent->run)
		return ls_err_set(err, LS_E_REFUSED, "the node is busy with run %s", run_id(agent->run));
	if (sweep_has(agent->sweep, body->run))
		return ls_err_set(err, LS_E_REFUSED,
		    "the agent was restarted in this run, or its runner hangs; its files are being removed");
	if (body->job.path && pathname_lies_below(body->job.path, agent->config->spool))
		return ls_err_set(err, LS_E_REFUSED, "%s: the agent's spool (%s) lies below it", body->job.path,
		    agent->config->spool);
	enum ls_rc rc = limits_check(agent->config, body, limits_minute_now(), err);
	if (rc)
		return rc;

	const struct run_env env = {
		.loop = agent->loop,
		.config = agent->config,
		.assignments = agent->assignments,
		.spin_ns = agent->spin_ns,
		.facts = &agent->facts,
		.ports = &run_ports,
		.arg = agent,
	};
	rc = run_new(&env, assign, &agent->run, err);
	if (rc)
		return rc;
	ls_log(LS_LOG_INFO, "run begins on this node", "run=%s", run_id(agent->run));
	agent->run_began = ls_mono_now();
	heartbeat_begin(agent->heartbeat);
	loop_timer_set(agent->limits, LIMITS_LOOK_NS);
	return LS_OK;
}

/* --- signals and the end --- */

static bool
has_children(void)
{
	siginfo_t info;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Ends the loop once the last results are on the disk and on their way, and no runner is left. */
static void
on_quit_poll(void *arg)
{
	struct agent *agent = arg;
	struct ls_mono now = ls_mono_now();

	if (agent->quit_poll_until.ns == 0)
		agent->quit_poll_until.ns = now.ns + QUIT_FLUSH_NS;
	bool busy = offload_pending(agent->disk) > 0 || session_unsent(agent->session) > 0 || has_children();
	if (busy && now.ns < agent->quit_poll_until.ns)
		loop_timer_set(agent->quit_poll, QUIT_POLL_NS);
	else
		loop_stop(agent->loop);
}

static void
on_quit_limit(void *arg)
{
	struct agent *agent = arg;

	ls_log(LS_LOG_WARN, "the runner did not end in time and is killed", "run=%s",
	    agent->run ? run_id(agent->run) : "-");
	loop_stop(agent->loop);
}

static void
on_quit(void *arg)
{
	struct agent *agent = arg;

	if (agent->quitting)
		return;
	ls_log(LS_LOG_INFO, "ending", NULL);
	agent->quitting = true;
	svc_stopping(agent->svc);
	loop_timer_set(agent->quit_limit, QUIT_LIMIT_NS);
	if (agent->run)
		run_quit(agent->run);
	else
		loop_timer_set(agent->quit_poll, 0);
}

static void
on_reload(void *arg)
{
	struct agent *agent = arg;
	struct ls_err err;

	if (tls_ctx_reload(agent->tls, &err))
		ls_log(LS_LOG_ERROR, "certificates stay as they were", "error=\"%s\"", err.text);
	else
		ls_log(LS_LOG_INFO, "certificates were read again", NULL);
	tools_probe(agent->config, &agent->facts);
	if (session_state(agent->session) == SESSION_UP) {
		struct msg_facts body = { .facts = agent->facts };

		agent_send(agent, MSG_FACTS, &body);
	}
}

static void
on_stop(void *arg)
{
	struct agent *agent = arg;

	if (agent->run)
		run_stop(agent->run, "the load was stopped on this node (lockstep-agent stop)");
	else
		ls_log(LS_LOG_INFO, "asked to stop the load, but there is none", NULL);
}

/* --- begin and end --- */

enum ls_rc
agent_check_identity(const struct agent_config *config, char *name, size_t len, struct ls_err *err)
{
	struct identity id;
	const struct tls_files files = { .ca = config->ca, .cert = config->cert, .key = config->key };
	struct tls_ctx *tls;

	enum ls_rc rc = identity_from_cert_file(config->cert, &id, NULL, NULL, err);
	if (rc)
		return rc;
	if (id.role != ROLE_AGENT)
		return ls_err_set(err, LS_E_INVALID, "cert: %s: it is for role %s, not agent", config->cert,
		    identity_role_names[id.role]);
	rc = tls_ctx_new(TLS_CLIENT, &files, MSG_ALPN, &tls, err);
	if (rc)
		return rc;
	tls_ctx_free(tls);
	(void)snprintf(name, len, "%s", id.name);
	return LS_OK;
}

static void
make_instance(char *out, size_t len)
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		memset(random, 0, sizeof(random)); /* before the kernel's pool is ready: not for a daemon */
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(out + 2 * i, len - 2 * i, "%02x", random[i]);
}

static enum ls_rc
learn_who_and_what(struct agent *agent, struct ls_err *err)
{
	int64_t lateness = facts_wakeup_lateness_ns();

	make_instance(agent->instance, sizeof(agent->instance));
	field_struct_init(&node_facts_desc, &agent->facts);
	facts_collect(lateness, &agent->facts);
	tools_probe(agent->config, &agent->facts);
	agent->facts.limits = ls_malloc(sizeof(*agent->facts.limits));
	field_struct_init(&node_limits_desc, agent->facts.limits);
	limits_tell(agent->config, agent->facts.limits);
	agent->spin_ns = facts_spin_ns(lateness);
	return agent_check_identity(agent->config, agent->identity.name, sizeof(agent->identity.name), err);
}

static enum ls_rc
open_disk(struct agent *agent, struct ls_err *err)
{
	const char *dir = agent->config->spool;

	enum ls_rc rc = pidfile_lock(dir, &agent->pidfile, err);
	if (!rc)
		rc = offload_new(agent->loop, "spool", &agent->disk, err);
	if (!rc)
		rc = spool_new(dir, agent->disk, send_now, agent, &agent->spool, err);
	if (!rc)
		rc = assignments_new(dir, agent->disk, &agent->assignments, err);
	return rc;
}

enum ls_rc
agent_new(const struct agent_config *config, struct agent **out, struct ls_err *err)
{
	struct agent *agent = ls_calloc(1, sizeof(*agent));
	agent->config = config;
	agent->pidfile = -1;

	const struct tls_files files = { .ca = config->ca, .cert = config->cert, .key = config->key };
	enum ls_rc rc = learn_who_and_what(agent, err);
	if (!rc)
		rc = loop_new(&agent->loop, err);
	if (!rc)
		rc = open_disk(agent, err);
	if (!rc)
		rc = tls_ctx_new(TLS_CLIENT, &files, MSG_ALPN, &agent->tls, err);
	if (rc) {
		agent_free(agent);
		return rc;
	}

	agent->quit_limit = loop_timer_new(agent->loop, on_quit_limit, agent);
	agent->limits = loop_timer_new(agent->loop, on_limits, agent);
	agent->quit_poll = loop_timer_new(agent->loop, on_quit_poll, agent);
	agent->on_term = loop_signal_new(agent->loop, SIGTERM, on_quit, agent);
	agent->on_int = loop_signal_new(agent->loop, SIGINT, on_quit, agent);
	agent->on_hup = loop_signal_new(agent->loop, SIGHUP, on_reload, agent);
	agent->on_usr1 = loop_signal_new(agent->loop, SIGUSR1, on_stop, agent);
	agent->svc = svc_new(agent->loop);
	agent->heartbeat = heartbeat_new(agent->loop, config, on_old_heartbeat, agent);
	agent->hung = hung_new(agent->loop, on_hung_changed, agent);
	agent->sweep = sweep_new(agent->loop, config, agent->assignments, agent->hung);
	agent->renewal =
	    renewal_new(agent->loop, config, agent->identity.name, agent->disk, agent->tls, send_message, agent);
	agent->session = session_new(agent->loop, config->coordinator, agent->tls, &session_events, agent);
	*out = agent;
	return LS_OK;
}

enum ls_rc
agent_run(struct agent *agent, struct ls_err *err)
{
	ls_log(LS_LOG_INFO, "agent starts", "node=%s version=%s build=%s spool=%s wakeup_lateness_us=%lld",
	    agent->identity.name, lockstep_version, lockstep_build, agent->config->spool,
	    (long long)(agent->facts.wakeup_lateness_ns / NS_PER_US));
	if (agent->config->allow_count == 0)
		ls_log(LS_LOG_WARN, "no path is allowed: every run will be refused", "key=allow");

	sweep_add_all(agent->sweep);
	svc_ready(agent->svc, "looking for the coordinator");
	return loop_run(agent->loop, err);
}

void
agent_free(struct agent *agent)
{
	if (!agent)
		return;
	run_free(agent->run);
	heartbeat_free(agent->heartbeat);
	session_free(agent->session);
	agent->session = NULL;
	sweep_free(agent->sweep);
	agent->sweep = NULL;
	hung_free(agent->hung);
	offload_free(agent->disk); /* waits for what is being written */
	renewal_free(agent->renewal);
	assignments_free(agent->assignments);
	spool_free(agent->spool);
	tls_ctx_free(agent->tls);
	svc_free(agent->svc);
	loop_signal_free(agent->on_usr1);
	loop_signal_free(agent->on_hup);
	loop_signal_free(agent->on_int);
	loop_signal_free(agent->on_term);
	loop_timer_free(agent->limits);
	loop_timer_free(agent->quit_poll);
	loop_timer_free(agent->quit_limit);
	loop_free(agent->loop);
	if (agent->pidfile >= 0)
		close(agent->pidfile);
	field_struct_fini(&node_facts_desc, &agent->facts);
	free(agent);
}
