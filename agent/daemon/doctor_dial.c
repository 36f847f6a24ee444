/* Is the coordinator there, and does it let this node's certificate in? */
#include "agent/daemon/doctor_int.h"
#include "common/net/conn.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "proto/codec/msg.h"

#define LIMIT_NS (10 * NS_PER_S)
#define QUIET_NS NS_PER_S /* whoever is not let in is told so at once after the handshake */

struct dial {
	struct loop *loop;
	struct conn *conn;
	struct loop_timer *timer;
	bool open;
	enum ls_rc rc;
	struct ls_err *err;
};

static void
end(struct dial *d, enum ls_rc rc)
{
	d->rc = rc;
	loop_stop(d->loop);
}

static void
on_open(struct conn *conn, void *arg)
{
	struct dial *d = arg;
	const struct identity *peer = conn_peer(conn);

	if (peer->role != ROLE_COORDINATOR) {
		end(d,
		    ls_err_set(d->err, LS_E_TLS, "the other side's certificate is that of %s %s, not of a coordinator",
			identity_role_names[peer->role], peer->name));
		return;
	}
	d->open = true;
	loop_timer_set(d->timer, QUIET_NS);
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct dial *d = arg;
	struct msg msg;

	(void)conn;
	(void)received;
	(void)err;
	enum ls_rc rc = msg_decode((const char *)data, len, MSG_TO_AGENT, &msg, d->err);
	if (rc == LS_OK) {
		rc = msg.type == MSG_ERROR
		    ? ls_err_set(d->err, LS_E_REFUSED, "%s", ((struct msg_error *)msg.body)->text)
		    : LS_OK;
		msg_fini(&msg);
	}
	end(d, rc);
	return LS_OK;
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct dial *d = arg;

	(void)conn;
	d->conn = NULL;
	*d->err = *why;
	end(d, why->rc);
}

static void
on_timer(void *arg)
{
	struct dial *d = arg;

	end(d,
	    d->open ? LS_OK
		    : ls_err_set(d->err, LS_E_TIMEOUT, "no connection within %d s", (int)(LIMIT_NS / NS_PER_S)));
}

enum ls_rc
doctor_dial(const struct agent_config *config, struct ls_err *err)
{
	static const struct conn_events events = { on_open, on_frame, on_close };
	const struct conn_config limits = { .frame_max = MSG_FRAME_MAX };
	const struct tls_files files = { .ca = config->ca, .cert = config->cert, .key = config->key };
	struct dial d = { .err = err };
	struct tls_ctx *tls = NULL;
	enum ls_rc rc = loop_new(&d.loop, err);

	if (rc == LS_OK)
		rc = tls_ctx_new(TLS_CLIENT, &files, MSG_ALPN, &tls, err);
	if (rc == LS_OK)
		rc = conn_dial(d.loop, config->coordinator, tls, &limits, &events, &d, &d.conn, err);
	if (rc == LS_OK) {
		d.timer = loop_timer_new(d.loop, on_timer, &d);
		loop_timer_set(d.timer, LIMIT_NS);
		rc = loop_run(d.loop, err);
		if (rc == LS_OK)
			rc = d.rc;
	}
	conn_drop(d.conn);
	loop_timer_free(d.timer);
	tls_ctx_free(tls);
	loop_free(d.loop);
	return rc;
}
