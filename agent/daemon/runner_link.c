#include "agent/daemon/runner_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/daemon/supervise.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/net/conn.h"

/* How long a dead runner's socket may take to show its end, and a silent one's process to end after its socket. */
#define LINK_GRACE_NS (200 * NS_PER_MS)
#define EXIT_GRACE_NS (2 * NS_PER_S)

struct runner {
	struct loop *loop;
	struct child *child;
	struct conn *conn; /* NULL once closed */
	struct loop_timer *grace;
	struct runner_events events;
	void *arg;
	bool gone;       /* the process */
	bool released;   /* freed or abandoned: no more events */
	bool told;       /* on_exit was called */
	char how[1200];  /* how it ended */
	loop_fn on_gone; /* abandoned */
	void *on_gone_arg;
};

static void
runner_destroy(void *arg)
{
	struct runner *r = arg;

	conn_drop(r->conn);
	loop_timer_free(r->grace);
	child_free(r->child);
	free(r);
}

static void
tell_exit(struct runner *r)
{
	if (r->told || !r->gone)
		return;
	r->told = true;
	if (!r->released)
		r->events.on_exit(r->how, r->arg);
}

static void
on_child_exit(const char *how, void *arg)
{
	struct runner *r = arg;

	r->gone = true;
	if (r->how[0] == '\0')
		(void)snprintf(r->how, sizeof(r->how), "%s", how);
	if (r->released) {
		if (r->on_gone)
			r->on_gone(r->on_gone_arg);
		loop_defer(r->loop, runner_destroy, r);
		return;
	}
	if (r->conn)
		loop_timer_set(r->grace, LINK_GRACE_NS); /* what it said last may still be on its way */
	else
		tell_exit(r);
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct runner *r = arg;
	struct msg msg = { 0 };

	(void)conn;
	(void)received;
	if (r->released)
		return LS_OK;
	enum ls_rc rc = msg_decode((const char *)data, len, MSG_TO_AGENT, &msg, err);
	if (rc)
		return rc;
	r->events.on_message(&msg, r->arg);
	msg_fini(&msg);
	return LS_OK;
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct runner *r = arg;

	(void)conn;
	r->conn = NULL;
	if (r->released)
		return;
	if (r->gone) {
		tell_exit(r);
		return;
	}
	if (why->rc != LS_E_CLOSED && why->rc != LS_E_SYS) {
		(void)snprintf(r->how, sizeof(r->how), "broke the protocol (%s)", why->text);
		child_signal(r->child, SIGKILL);
	}
	loop_timer_set(r->grace, EXIT_GRACE_NS);
}

static void
on_open(struct conn *conn, void *arg)
{
	(void)conn;
	(void)arg;
}

static void
on_grace(void *arg)
{
	struct runner *r = arg;

	if (!r->gone) {
		runner_kill(r);
		return;
	}
	conn_drop(r->conn);
	r->conn = NULL;
	tell_exit(r);
}

static const struct conn_events link_events = { on_open, on_frame, on_close };

enum ls_rc
runner_start(struct loop *loop, const char *program, struct shm_map *map, const struct runner_events *events, void *arg,
    struct runner **out, struct ls_err *err)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return ls_err_sys(err, errno, "socketpair for the runner");

	struct runner *r = ls_calloc(1, sizeof(*r));
	*r = (struct runner){ .loop = loop, .events = *events, .arg = arg };
	enum ls_rc rc = child_start(loop, program, ends[1], shm_map_fd(map), on_child_exit, r, &r->child, err);
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		free(r);
		return rc;
	}

	const struct conn_config config = { .frame_max = MSG_FRAME_MAX };
	r->grace = loop_timer_new(loop, on_grace, r);
	rc = conn_accept(loop, ends[0], NULL, &config, &link_events, r, &r->conn, err);
	if (rc) {
		r->conn = NULL;
		runner_abandon(r, NULL, NULL);
		return rc;
	}
	*out = r;
	return LS_OK;
}

void
runner_send(struct runner *r, enum msg_type type, const void *body)
{
	char *text = NULL;
	size_t len;
	struct ls_err err;

	if (!r || !r->conn)
		return;
	if (msg_encode(type, body, &text, &len, &err))
		ls_log(LS_LOG_ERROR, "a message to the runner cannot be encoded", "error=\"%s\"", err.text);
	else
		conn_send(r->conn, text, len);
	free(text);
}

pid_t
runner_pid(const struct runner *r)
{
	return r ? child_pid(r->child) : 0;
}

void
runner_kill(struct runner *r)
{
	if (r)
		child_signal(r->child, SIGKILL);
}

void
runner_abandon(struct runner *r, loop_fn on_gone, void *arg)
{
	r->released = true;
	r->on_gone = on_gone;
	r->on_gone_arg = arg;
	loop_timer_cancel(r->grace);
	conn_drop(r->conn);
	r->conn = NULL;
	child_signal(r->child, SIGKILL);
	if (r->gone) {
		if (on_gone)
			on_gone(arg);
		loop_defer(r->loop, runner_destroy, r);
	}
}

void
runner_free(struct runner *r)
{
	if (!r)
		return;

	/* A process that still lives is watched on until it is reaped: closing its socket makes it clean up and end. */
	r->released = true;
	loop_timer_cancel(r->grace);
	conn_close(r->conn);
	r->conn = NULL;
	if (r->gone)
		loop_defer(r->loop, runner_destroy, r);
}
