#include "coordinator/daemon/enroll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/pki/pki_enroll.h"
#include "coordinator/daemon/certs.h"
#include "coordinator/daemon/operator.h"
#include "proto/codec/msg.h"

/* One request on its way through the writer thread. */
struct request {
	struct daemon *daemon;
	uint64_t session;
	const char *dir;
	unsigned days;
	struct pki_token token;
	int64_t valid_s;
	char *pem; /* the certificate request */

	struct identity id; /* known from the start, or by the token */
	char text[PKI_TOKEN_LEN + 1];
	int64_t expires;
	char *cert, *ca;
	size_t revoked;
	enum ls_rc rc;
	struct ls_err err;
};

static bool
has_pki(const struct daemon *d)
{
	return config_is_set(d->config->pki);
}

static const char no_pki[] = "lockstepd has no authority: set pki = DIR (of \"lockstep pki init\") in lockstepd.conf, "
			     "or use \"lockstep pki\" by hand";

static struct request *
request_new(struct session *s, const char *node)
{
	struct request *r = ls_calloc(1, sizeof(*r));

	r->daemon = s->daemon;
	r->session = s->number;
	r->dir = s->daemon->config->pki;
	r->days = (unsigned)s->daemon->config->certificate_days;
	r->id.role = ROLE_AGENT;
	if (node != NULL)
		snprintf(r->id.name, sizeof(r->id.name), "%s", node);
	return r;
}

static void
request_free(struct request *r)
{
	free(r->pem);
	free(r->cert);
	free(r->ca);
	free(r);
}

static void
submit(struct request *r, loop_fn work, loop_fn done)
{
	daemon_write(r->daemon, work, done, r);
}

/* --- a node enrolls ----------------------------------------------------------------------------------------------------------- */

static void
enroll_work(void *arg)
{
	struct request *r = arg;

	/* The request first: a token is not used up by a broken one. */
	r->rc = pki_request_valid(r->pem, &r->err);
	if (r->rc == LS_OK)
		r->rc = pki_token_take(r->dir, r->token.secret, r->id.name, &r->err);
	if (r->rc == LS_OK)
		r->rc = pki_sign(r->dir, r->pem, &r->id, r->days, &r->cert, &r->ca, &r->err);
}

static void
enroll_done(void *arg)
{
	struct request *r = arg;
	struct session *s = r->daemon->stopping ? NULL : session_find(r->daemon, r->session);

	if (s != NULL && r->rc != LS_OK) {
		session_fail(s, &r->err);
	} else if (s != NULL) {
		struct msg_enrolled answer = { .node = r->id.name, .certificate = r->cert, .ca = r->ca };

		ls_log(LS_LOG_INFO, "node enrolled", "node=%s address=%s", r->id.name, conn_peer_address(s->conn));
		session_send(s, MSG_ENROLLED, &answer);
		session_end(s, "enrolled");
	}
	request_free(r);
}

enum ls_rc
enroll_on_enroll(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_enroll *m = body;
	struct request *r;

	(void)received;
	if (!has_pki(s->daemon))
		return ls_err_set(err, LS_E_REFUSED, "%s", no_pki);
	if (s->busy)
		return ls_err_set(err, LS_E_PROTO, "one request at a time");
	r = request_new(s, NULL);
	enum ls_rc rc = pki_token_parse(m->token, &r->token, err);
	if (rc != LS_OK) {
		request_free(r);
		return rc;
	}
	s->busy = true;
	r->pem = m->request;
	m->request = NULL;
	submit(r, enroll_work, enroll_done);
	return LS_OK;
}

/* --- an agent renews ---------------------------------------------------------------------------------------------------------- */

static void
renew_work(void *arg)
{
	struct request *r = arg;

	r->rc = pki_sign(r->dir, r->pem, &r->id, r->days, &r->cert, &r->ca, &r->err);
}

static void
renew_done(void *arg)
{
	struct request *r = arg;
	struct session *s = r->daemon->stopping ? NULL : session_find(r->daemon, r->session);

	if (s != NULL) {
		struct msg_renewed answer = {
			.certificate = r->cert, .ca = r->ca, .reason = r->rc == LS_OK ? NULL : r->err.text
		};

		s->busy = false;
		ls_log(r->rc == LS_OK ? LS_LOG_INFO : LS_LOG_WARN,
		    r->rc == LS_OK ? "certificate renewed" : "certificate not renewed", "node=%s why=\"%s\"",
		    r->id.name, r->rc == LS_OK ? "asked for" : r->err.text);
		session_send(s, MSG_RENEWED, &answer);
	}
	request_free(r);
}

enum ls_rc
enroll_on_renew(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	struct msg_renew *m = body;
	struct msg_renewed no = { .reason = (char *)(uintptr_t)no_pki };
	struct request *r;

	(void)received;
	if (s->busy)
		return ls_err_set(err, LS_E_PROTO, "one request at a time");
	if (!has_pki(s->daemon)) {
		session_send(s, MSG_RENEWED, &no);
		return LS_OK;
	}
	/* The name of the certificate that it is connected with, which is not revoked, and no other. */
	r = request_new(s, conn_peer(s->conn)->name);
	r->pem = m->request;
	m->request = NULL;
	s->busy = true;
	submit(r, renew_work, renew_done);
	return LS_OK;
}

/* --- operators ---------------------------------------------------------------------------------------------------------------- */

/* Where nodes reach this lockstepd: the address that it listens on, or by its host's name where that is all addresses. */
static void
own_address(const struct daemon *d, char *out, size_t len)
{
	const char *listens = d->tls_listener != NULL ? listener_address(d->tls_listener) : "";
	const char *port = strrchr(listens, ':');
	char host[256] = "";

	if (port != NULL && strncmp(listens, "0.0.0.0:", 8) != 0 && strncmp(listens, "[::]:", 5) != 0 &&
	    listens[0] != ':') {
		snprintf(out, len, "%s", listens);
		return;
	}
	if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
		snprintf(host, sizeof(host), "COORDINATOR");
	snprintf(out, len, "%s%s", host, port != NULL ? port : "");
}

static void
add_work(void *arg)
{
	struct request *r = arg;

	r->rc = pki_token_new(r->dir, r->id.name, r->valid_s, r->text, &r->expires, &r->err);
}

static void
add_done(void *arg)
{
	struct request *r = arg;
	struct session *s = r->daemon->stopping ? NULL : session_find(r->daemon, r->session);
	char until[40], address[300];

	if (s != NULL && r->rc != LS_OK) {
		operator_done(s, r->rc == LS_E_INVALID ? DONE_REFUSED : DONE_FAILED, r->err.text);
	} else if (s != NULL) {
		own_address(r->daemon, address, sizeof(address));
		struct msg_node_added answer = { .node = r->id.name,
			.token = r->text,
			.expires_at = (char *)(uintptr_t)ls_wall_format(
			    (struct ls_wall){ r->expires * NS_PER_S }, until, sizeof(until)),
			.address = address };

		ls_log(LS_LOG_INFO, "token for a node made", "node=%s until=%s", r->id.name, until);
		session_send(s, MSG_NODE_ADDED, &answer);
		operator_done(s, DONE_OK, NULL);
	}
	request_free(r);
}

/* A request of an operator that has begun; NULL when it was refused, which has been said. */
static struct request *
operator_request(struct session *s, const char *node)
{
	const char *why = NULL;

	if (!has_pki(s->daemon))
		why = no_pki;
	else if (!identity_name_valid(node))
		why = "a node's name has 1 to 63 of A-Z a-z 0-9 . _ - and does not begin with . or -";
	if (why != NULL) {
		operator_done(s, DONE_REFUSED, why);
		return NULL;
	}
	return request_new(s, node);
}

enum ls_rc
enroll_on_node_add(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_node_add *m = body;
	struct request *r;

	(void)received;
	enum ls_rc rc = operator_begin(s, err);
	if (rc != LS_OK)
		return rc;
	r = operator_request(s, m->node);
	if (r == NULL)
		return LS_OK;
	r->valid_s = m->valid_ns / NS_PER_S;
	submit(r, add_work, add_done);
	return LS_OK;
}

static void
remove_work(void *arg)
{
	struct request *r = arg;

	r->rc = pki_revoke(r->dir, &r->id, &r->revoked, &r->err);
}

static void
remove_done(void *arg)
{
	struct request *r = arg;
	struct session *s = r->daemon->stopping ? NULL : session_find(r->daemon, r->session);

	if (r->rc == LS_OK && !r->daemon->stopping) {
		ls_log(LS_LOG_WARN, "node removed: its certificates are revoked", "node=%s certificates=%zu",
		    r->id.name, r->revoked);
		certs_read_again(r->daemon);
	}
	if (s != NULL)
		operator_done(s,
		    r->rc == LS_OK               ? DONE_OK
			: r->rc == LS_E_NOTFOUND ? DONE_REFUSED
						 : DONE_FAILED,
		    r->rc == LS_OK ? NULL : r->err.text);
	request_free(r);
}

enum ls_rc
enroll_on_node_remove(struct session *s, void *body, struct ls_mono received, struct ls_err *err)
{
	const struct msg_node_remove *m = body;
	struct request *r;

	(void)received;
	enum ls_rc rc = operator_begin(s, err);
	if (rc != LS_OK)
		return rc;
	r = operator_request(s, m->node);
	if (r != NULL)
		submit(r, remove_work, remove_done);
	return LS_OK;
}
