#include "coordinator/daemon/hello.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/version.h"
#include "coordinator/daemon/run.h"
#include "proto/codec/msg.h"

static const char *
text_or_empty(const char *text)
{
	return text != NULL ? text : "";
}

/* Another live agent of that name? The same instance replaces its connection, another one is refused. */
static enum ls_rc
check_duplicate(struct session *s, const struct node *n, const struct msg_hello *hello, struct ls_err *err)
{
	if (n->session == NULL)
		return LS_OK;
	if (strcmp(n->instance, text_or_empty(hello->instance)) != 0)
		return ls_err_set(err, LS_E_REFUSED, "node %s is already connected from %s; refused the one from %s",
		    n->name, conn_peer_address(n->session->conn), conn_peer_address(s->conn));
	session_end(n->session, "replaced by a new connection of the same agent");
	return LS_OK;
}

static void
forget_foreign_run(struct session *s, const char *run)
{
	struct msg_finish finish = { .run = (char *)(uintptr_t)run };

	ls_log(LS_LOG_INFO, "node is in a run that is over", "node=%s", s->node->name);
	session_send(s, MSG_FINISH, &finish);
}

static enum ls_rc
accept_agent(struct session *s, const struct msg_hello *hello, struct ls_mono received, struct ls_err *err)
{
	const struct identity *peer = conn_peer(s->conn);
	struct node *n = NULL;
	enum ls_rc rc;

	if (strcmp(hello->name, peer->name) != 0)
		return ls_err_set(err, LS_E_REFUSED, "hello says node %s, but the certificate is that of agent %s",
		    hello->name, peer->name);
	rc = registry_get(&s->daemon->registry, hello->name, &n, err);
	if (rc == LS_OK)
		rc = check_duplicate(s, n, hello, err);
	if (rc != LS_OK)
		return rc;

	if (strcmp(n->instance, text_or_empty(hello->instance)) != 0)
		clock_sync_reset(&n->clock);
	snprintf(n->instance, sizeof(n->instance), "%s", text_or_empty(hello->instance));
	snprintf(n->address, sizeof(n->address), "%s", conn_peer_address(s->conn));
	snprintf(n->version, sizeof(n->version), "%s", hello->version);
	snprintf(n->build, sizeof(n->build), "%s", hello->build);
	n->session = s;
	node_set_hung(n, NULL, ls_mono_now()); /* told again if it is still so */
	n->heard = received;
	n->facts_known = false;
	s->node = n;
	session_welcome(s, SESSION_AGENT);
	ls_log(LS_LOG_INFO, "node connected", "node=%s address=%s version=%s", n->name, n->address, n->version);

	bool same_run = n->run != NULL && hello->run != NULL && strcmp(hello->run, run_id(n->run)) == 0;

	if (hello->run != NULL && hello->run[0] != '\0' && !same_run)
		forget_foreign_run(s, hello->run);
	clock_sync_begin_burst(&n->clock, CLOCK_SYNC_BURST);
	session_ping(s);
	if (n->run != NULL)
		run_on_back(n->run, n->member, same_run);
	return LS_OK;
}

static enum ls_rc
accept_operator(struct session *s, struct ls_err *err)
{
	if (s->daemon->operator_count >= s->daemon->config->max_operators)
		return ls_err_set(
		    err, LS_E_LIMIT, "%zu operators are connected already (max_operators)", s->daemon->operator_count);
	session_welcome(s, SESSION_OPERATOR);
	return LS_OK;
}

enum ls_rc
hello_on_hello(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_hello *hello = body;

	if (hello->protocol != MSG_PROTOCOL_MAJOR)
		return ls_err_set(err, LS_E_REFUSED,
		    "protocol version %llu (lockstep %s) does not work with version %d (lockstepd %s)",
		    (unsigned long long)hello->protocol, hello->version, MSG_PROTOCOL_MAJOR, lockstep_version);
	if (conn_peer(s->conn)->role == ROLE_AGENT)
		return accept_agent(s, hello, received, err);
	return accept_operator(s, err);
}

enum ls_rc
hello_on_error(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_error *e = body;
	char text[512];

	(void)received;
	(void)err;
	ls_log(LS_LOG_WARN, "peer reports an error", "session=%llu peer=%s text=\"%s\"", (unsigned long long)s->number,
	    conn_peer_address(s->conn), ls_log_escape(e->text, text, sizeof(text)));
	session_end(s, e->text);
	return LS_OK;
}
