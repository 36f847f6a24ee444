#include "agent/daemon/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "agent/daemon/agent_int.h"
#include "common/base/log.h"
#include "common/base/mem.h"

/* When a message is allowed. */
enum {
	IN_HELLO = 1U << SESSION_HELLO,
	IN_UP = 1U << SESSION_UP,
};

typedef enum ls_rc (*handler_fn)(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err);

static enum ls_rc
on_ping(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	const struct msg_ping *ping = msg->body;
	struct msg_pong pong = { .seq = ping->seq, .t0 = ping->t0, .t1 = received.ns, .t2 = ls_mono_now().ns };

	(void)err;
	heartbeat_now(agent->heartbeat, &pong.heartbeat_age_ns, &pong.heartbeat_dead_ns);
	agent_send(agent, MSG_PONG, &pong);
	return LS_OK;
}

static enum ls_rc
on_welcome(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	const struct msg_welcome *welcome = msg->body;

	(void)received;
	(void)err;
	session_welcome(agent->session, welcome->heartbeat_ns);
	return LS_OK;
}

static enum ls_rc
on_error(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	const struct msg_error *error = msg->body;
	char shown[1100];

	(void)agent;
	(void)received;
	return ls_err_set(
	    err, LS_E_CLOSED, "the coordinator says: %s", ls_log_escape(error->text, shown, sizeof(shown)));
}

static enum ls_rc
on_ack(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	const struct msg_ack *ack = msg->body;

	(void)received;
	(void)err;
	spool_ack(agent->spool, &ack->epoch, ack->part);
	return LS_OK;
}

static enum ls_rc
on_renewed(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	(void)received;
	(void)err;
	renewal_answered(agent->renewal, msg->body);
	return LS_OK;
}

static void
tell_refused(struct agent *agent, char *run, const char *why)
{
	struct msg_refused body = { .run = run };
	char shown[1100];

	field_struct_init(&io_error_desc, &body.error);
	body.error.step = ls_strdup("preflight");
	free(body.error.text);
	body.error.text = ls_strdup(why);
	agent_send(agent, MSG_REFUSED, &body);
	field_struct_fini(&io_error_desc, &body.error);
	ls_log(LS_LOG_WARN, "run refused", "reason=\"%s\"", ls_log_escape(why, shown, sizeof(shown)));
}

static enum ls_rc
on_assign(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	struct msg_assign *assign = msg->body;
	struct ls_err why;

	(void)received;
	if (agent->run && strcmp(run_id(agent->run), assign->run) == 0)
		return run_message(agent->run, msg, err);
	if (agent_begin_run(agent, msg, &why))
		tell_refused(agent, assign->run, why.text);
	return LS_OK;
}

/* --- about a run that this agent does not know: it has finished it, or was restarted in it --- */

static const char *const unknown_run = "this agent does not know the run: it was restarted, or has refused it";

static void
answer_failed(struct agent *agent, const struct epoch *epoch)
{
	struct msg_failed body = { .epoch = *epoch };

	field_struct_init(&io_error_desc, &body.error);
	body.error.step = ls_strdup("arm");
	free(body.error.text);
	body.error.text = ls_strdup(unknown_run);
	agent_send(agent, MSG_FAILED, &body);
	field_struct_fini(&io_error_desc, &body.error);
}

static void
answer_for_unknown_run(struct agent *agent, const struct msg *msg)
{
	if (msg->type == MSG_ARM) {
		answer_failed(agent, msg->body);
	} else if (msg->type == MSG_VOID) {
		struct msg_voided body = { .epoch = *(const struct epoch *)msg->body };
		agent_send(agent, MSG_VOIDED, &body);
	} else if (msg->type == MSG_VERIFY_VOLUME) {
		tell_refused(agent, ((const struct msg_verify_volume *)msg->body)->run, unknown_run);
	} else if (msg->type == MSG_ABORT) {
		struct msg_aborted body = { .run = ((const struct msg_abort *)msg->body)->run };
		agent_send(agent, MSG_ABORTED, &body);
	} else if (msg->type == MSG_FINISH) {
		struct msg_finished body = { .run = ((const struct msg_finish *)msg->body)->run };
		agent_send(agent, MSG_FINISHED, &body);
	} else {
		ls_log(LS_LOG_DEBUG, "stale message dropped", "type=%s", msg_info(msg->type)->name);
	}
}

/* Every body about a run begins with its id, by itself or as the first member of an epoch. */
static const char *
run_of(const struct msg *msg)
{
	_Static_assert(offsetof(struct epoch, run) == 0, "the run comes first in an epoch");
	_Static_assert(offsetof(struct msg_abort, run) == 0 && offsetof(struct msg_finish, run) == 0 &&
		offsetof(struct msg_verify_volume, run) == 0,
	    "the run comes first");
	return *(char *const *)msg->body;
}

static enum ls_rc
on_run_message(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	(void)received;
	if (agent->run && strcmp(run_id(agent->run), run_of(msg)) == 0)
		return run_message(agent->run, msg, err);
	answer_for_unknown_run(agent, msg);
	return LS_OK;
}

static const struct {
	enum msg_type type;
	unsigned allowed;
	handler_fn handler;
} table[] = {
	{ MSG_PING, IN_UP, on_ping }, /* first: it is a measurement */
	{ MSG_COMMIT, IN_UP, on_run_message },
	{ MSG_GO, IN_UP, on_run_message },
	{ MSG_END_AT, IN_UP, on_run_message },
	{ MSG_ARM, IN_UP, on_run_message },
	{ MSG_ACK, IN_UP, on_ack },
	{ MSG_VOID, IN_UP, on_run_message },
	{ MSG_ASSIGN, IN_UP, on_assign },
	{ MSG_VERIFY_VOLUME, IN_UP, on_run_message },
	{ MSG_ABORT, IN_UP, on_run_message },
	{ MSG_FINISH, IN_UP, on_run_message },
	{ MSG_RENEWED, IN_UP, on_renewed },
	{ MSG_WELCOME, IN_HELLO, on_welcome },
	{ MSG_ERROR, IN_HELLO | IN_UP, on_error },
};

static enum ls_rc
handle(struct agent *agent, struct msg *msg, struct ls_mono received, struct ls_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (table[i].type != msg->type)
			continue;
		if (!(table[i].allowed & 1U << session_state(agent->session)))
			break;
		return table[i].handler(agent, msg, received, err);
	}
	return ls_err_set(err, LS_E_PROTO, "%s is not expected now", msg_info(msg->type)->name);
}

enum ls_rc
dispatch_frame(struct agent *agent, const uint8_t *data, size_t len, struct ls_mono received, struct ls_err *err)
{
	struct msg msg = { 0 };
	struct ls_err why;
	char shown[1100];

	enum ls_rc rc = msg_decode((const char *)data, len, MSG_TO_AGENT, &msg, &why);
	if (rc == LS_E_NOTFOUND) {
		ls_log(LS_LOG_WARN, "message of an unknown type", "error=\"%s\"",
		    ls_log_escape(why.text, shown, sizeof(shown)));
		struct msg_error body = { .text = why.text };
		agent_send(agent, MSG_ERROR, &body);
		return LS_OK;
	}
	if (rc)
		return ls_err_set(err, LS_E_PROTO, "%s", why.text);

	rc = handle(agent, &msg, received, err);
	msg_fini(&msg);
	return rc;
}
