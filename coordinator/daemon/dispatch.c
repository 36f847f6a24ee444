#include "coordinator/daemon/dispatch.h"

#include "coordinator/daemon/agent.h"
#include "coordinator/daemon/enroll.h"
#include "coordinator/daemon/hello.h"
#include "coordinator/daemon/operator.h"

/* What both sides may say in any state. */
#define ANY (SESSION_NEW | SESSION_AGENT | SESSION_OPERATOR | SESSION_STRANGER)

static const struct dispatch_row rows[] = {
	{ MSG_HELLO, SESSION_NEW, hello_on_hello },
	{ MSG_ERROR, ANY, hello_on_error },
	{ MSG_ENROLL, SESSION_STRANGER, enroll_on_enroll },
	{ MSG_RENEW, SESSION_AGENT, enroll_on_renew },

	{ MSG_FACTS, SESSION_AGENT, agent_on_facts },
	{ MSG_HUNG, SESSION_AGENT, agent_on_hung },
	{ MSG_PONG, SESSION_AGENT, agent_on_pong },
	{ MSG_PREPARED, SESSION_AGENT, agent_on_prepared },
	{ MSG_REFUSED, SESSION_AGENT, agent_on_refused },
	{ MSG_VOLUME_VERIFIED, SESSION_AGENT, agent_on_volume_verified },
	{ MSG_ARMED, SESSION_AGENT, agent_on_armed },
	{ MSG_FAILED, SESSION_AGENT, agent_on_failed },
	{ MSG_SET, SESSION_AGENT, agent_on_set },
	{ MSG_MISSED, SESSION_AGENT, agent_on_missed },
	{ MSG_VOIDED, SESSION_AGENT, agent_on_voided },
	{ MSG_SAMPLE, SESSION_AGENT, agent_on_sample },
	{ MSG_FSYNCED, SESSION_AGENT, agent_on_fsynced },
	{ MSG_RESULT_PART, SESSION_AGENT, agent_on_result_part },
	{ MSG_ABORTED, SESSION_AGENT, agent_on_aborted },
	{ MSG_FINISHED, SESSION_AGENT, agent_on_finished },

	{ MSG_SUBMIT, SESSION_OPERATOR, operator_on_submit },
	{ MSG_WATCH, SESSION_OPERATOR, operator_on_watch },
	{ MSG_ABORT, SESSION_OPERATOR, operator_on_abort },
	{ MSG_LIST, SESSION_OPERATOR, operator_on_list },
	{ MSG_NODES, SESSION_OPERATOR, operator_on_nodes },
	{ MSG_NODE_ADD, SESSION_OPERATOR, enroll_on_node_add },
	{ MSG_NODE_REMOVE, SESSION_OPERATOR, enroll_on_node_remove },
	{ MSG_EXPORT, SESSION_OPERATOR, operator_on_export },
	{ MSG_IMPORT, SESSION_OPERATOR, operator_on_import },
	{ MSG_TAG, SESSION_OPERATOR, operator_on_tag },
	{ MSG_REMOVE, SESSION_OPERATOR, operator_on_remove },
};

const struct dispatch_row *
dispatch_find(enum msg_type type)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static const char *
state_name(enum session_state state)
{
	switch (state) {
	case SESSION_NEW:
		return "a peer that has not said hello";
	case SESSION_AGENT:
		return "an agent";
	case SESSION_OPERATOR:
		return "an operator";
	case SESSION_STRANGER:
		return "a peer without a certificate";
	}
	return "a peer";
}

void
dispatch_frame(struct session *s, const char *text, size_t len, struct ls_mono received)
{
	struct ls_err err = { 0 };
	struct msg msg = { 0 };
	const struct dispatch_row *row;
	enum ls_rc rc = msg_decode(text, len, MSG_TO_COORDINATOR, &msg, &err);

	if (rc != LS_OK) {
		session_fail(s, &err);
		return;
	}
	row = dispatch_find(msg.type);
	if (s->node != NULL)
		s->node->heard = received;
	if (row == NULL || (row->states & (unsigned)s->state) == 0)
		rc = ls_err_set(&err, LS_E_PROTO, "message %s is not for %s to send", msg_info(msg.type)->name,
		    state_name(s->state));
	else
		rc = row->handle(s, msg.body, received, &err);
	msg_fini(&msg);
	if (rc != LS_OK)
		session_fail(s, &err);
}
