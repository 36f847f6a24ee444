#include "coordinator/cli/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"
#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/base/version.h"
#include "common/net/addr.h"
#include "common/net/conn.h"

#define DEFAULT_SERVER "unix:/run/lockstep/lockstepd.sock"
#define DEFAULT_CA     LS_SYSCONFDIR "/lockstep/ca.crt"
#define DEFAULT_CERT   LS_SYSCONFDIR "/lockstep/operator.crt"
#define DEFAULT_KEY    LS_SYSCONFDIR "/lockstep/operator.key"

struct queued {
	struct queued *next;
	struct msg msg;
};

struct client {
	struct loop *loop;
	struct tls_ctx *tls;
	struct conn *conn; /* NULL once closed */
	char address[300];
	const struct cli *cli;
	bool open, woken;
	struct queued *first, **last;
	struct ls_err why; /* why it closed */
};

static const char *
setting(const char *given, const char *variable, const char *otherwise)
{
	const char *env = ls_env(variable);

	if (given != NULL)
		return given;
	return env != NULL ? env : otherwise;
}

/* --- events of the connection ------------------------------------------------------------------------------------- */

static void
on_open(struct conn *conn, void *arg)
{
	struct client *client = arg;

	(void)conn;
	client->open = true;
	loop_stop(client->loop);
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct client *client = arg;
	struct msg msg;

	(void)conn;
	(void)received;
	enum ls_rc rc = msg_decode((const char *)data, len, MSG_TO_OPERATOR, &msg, err);
	if (rc == LS_E_NOTFOUND) /* a newer daemon may say more than this command knows */
		return LS_OK;
	if (rc != LS_OK)
		return rc;

	struct queued *q = ls_calloc(1, sizeof(*q));
	q->msg = msg;
	*client->last = q;
	client->last = &q->next;
	loop_stop(client->loop);
	return LS_OK;
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct client *client = arg;

	(void)conn;
	client->conn = NULL;
	client->why = *why;
	loop_stop(client->loop);
}

static const struct conn_events events = { on_open, on_frame, on_close };

/* --- life --------------------------------------------------------------------------------------------------------- */

static enum ls_rc
open_tls(const struct cli *cli, struct client *client, struct ls_err *err)
{
	struct tls_files files = {
		.ca = setting(cli->ca, "LOCKSTEP_CA", DEFAULT_CA),
		.cert = setting(cli->cert, "LOCKSTEP_CERT", DEFAULT_CERT),
		.key = setting(cli->key, "LOCKSTEP_KEY", DEFAULT_KEY),
	};

	return tls_ctx_new(TLS_CLIENT, &files, MSG_ALPN, &client->tls, err);
}

static enum ls_rc
dial(const struct cli *cli, struct client *client, struct ls_err *err)
{
	const struct conn_config config = { .frame_max = MSG_FRAME_MAX };
	struct addr addr;
	enum ls_rc rc = addr_parse(client->address, LOCKSTEP_PORT, &addr, err);

	if (rc != LS_OK)
		return ls_err_wrap(err, "--server");
	if (!addr.is_unix)
		rc = open_tls(cli, client, err);
	if (rc != LS_OK)
		return rc;
	addr_format(&addr, client->address, sizeof(client->address));
	rc = conn_dial(client->loop, client->address, client->tls, &config, &events, client, &client->conn, err);
	if (rc != LS_OK)
		return rc;
	while (!client->open && client->conn != NULL) {
		rc = loop_run(client->loop, err);
		if (rc != LS_OK)
			return rc;
	}
	if (client->open)
		return LS_OK;
	*err = client->why;
	ls_err_wrap(err, "no connection to lockstepd");
	size_t len = strlen(err->text);
	if (addr.is_unix)
		snprintf(err->text + len, sizeof(err->text) - len, "; is lockstepd running? --local N needs none");
	err->rc = LS_E_CLOSED; /* the command line was right, whatever the code was */
	return err->rc;
}

static enum ls_rc
greet(struct client *client, struct ls_err *err)
{
	struct msg_hello hello;
	struct msg welcome;
	const char *user = ls_env("USER");

	msg_body_init(MSG_HELLO, &hello);
	hello.protocol = MSG_PROTOCOL_MAJOR;
	hello.protocol_minor = MSG_PROTOCOL_MINOR;
	free(hello.version);
	free(hello.build);
	free(hello.name);
	hello.version = ls_strdup(lockstep_version);
	hello.build = ls_strdup(lockstep_build);
	hello.name = ls_strndup(user != NULL && user[0] != '\0' ? user : "operator", 63);
	enum ls_rc rc = client_send(client, MSG_HELLO, &hello, err);
	msg_body_fini(MSG_HELLO, &hello);
	if (rc != LS_OK)
		return rc;
	rc = client_expect(client, MSG_WELCOME, &welcome, err);
	if (rc != LS_OK) {
		ls_err_wrap(err, "lockstepd at %s", client->address);
		err->rc = LS_E_CLOSED;
		return err->rc;
	}
	msg_fini(&welcome);
	return LS_OK;
}

enum ls_rc
client_open(const struct cli *cli, const char *address, struct client **out, struct ls_err *err)
{
	struct client *client = ls_calloc(1, sizeof(*client));
	enum ls_rc rc;

	client->last = &client->first;
	client->cli = cli;
	snprintf(client->address, sizeof(client->address), "%s",
	    address != NULL ? address : setting(cli->server, "LOCKSTEP_SERVER", DEFAULT_SERVER));
	rc = loop_new(&client->loop, err);
	if (rc == LS_OK)
		rc = dial(cli, client, err);
	cli_trace(cli, "lockstepd at %s: %s", client->address, rc == LS_OK ? "connected" : err->text);
	if (rc == LS_OK)
		rc = greet(client, err);
	if (rc != LS_OK) {
		client_close(client);
		return rc;
	}
	*out = client;
	return LS_OK;
}

void
client_close(struct client *client)
{
	if (client == NULL)
		return;
	conn_drop(client->conn);
	while (client->first != NULL) {
		struct queued *q = client->first;

		client->first = q->next;
		msg_fini(&q->msg);
		free(q);
	}
	loop_free(client->loop);
	tls_ctx_free(client->tls);
	free(client);
}

struct loop *
client_loop(struct client *client)
{
	return client->loop;
}

void
client_wake(struct client *client)
{
	client->woken = true;
	loop_stop(client->loop);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

enum ls_rc
client_send(struct client *client, enum msg_type type, const void *body, struct ls_err *err)
{
	char *text;
	size_t len;
	enum ls_rc rc = msg_encode(type, body, &text, &len, err);

	if (rc != LS_OK)
		return rc;
	cli_trace(client->cli, "to lockstepd: %s, %zu bytes", msg_info(type)->name, len);
	if (client->conn != NULL)
		conn_send(client->conn, text, len);
	free(text);
	return LS_OK;
}

static enum ls_rc
take_first(struct client *client, struct msg *out, struct ls_err *err)
{
	struct queued *q = client->first;

	client->first = q->next;
	if (client->first == NULL)
		client->last = &client->first;
	*out = q->msg;
	free(q);
	cli_trace(client->cli, "from lockstepd: %s", msg_info(out->type)->name);
	if (out->type != MSG_ERROR)
		return LS_OK;
	ls_err_set(err, LS_E_PROTO, "%s", ((struct msg_error *)out->body)->text);
	msg_fini(out);
	return LS_E_PROTO;
}

enum ls_rc
client_next(struct client *client, struct msg *out, bool *out_message, struct ls_err *err)
{
	for (;;) {
		if (client->first != NULL) {
			*out_message = true;
			return take_first(client, out, err);
		}
		if (client->woken) {
			client->woken = false;
			*out_message = false;
			return LS_OK;
		}
		if (client->conn == NULL) {
			*err = client->why;
			ls_err_wrap(err, "the connection to lockstepd ended");
			err->rc = LS_E_CLOSED;
			return err->rc;
		}
		enum ls_rc rc = loop_run(client->loop, err);
		if (rc != LS_OK)
			return rc;
	}
}

/* What an early done means for who waits for something else. */
static enum ls_rc
done_instead(const struct msg_done *done, struct ls_err *err)
{
	const char *text = done->text != NULL ? done->text : "no reason given";

	if (done->outcome == DONE_REFUSED)
		return ls_err_set(err, LS_E_REFUSED, "%s", text);
	if (done->outcome == DONE_FAILED)
		return ls_err_set(err, LS_E_STATE, "%s", text);
	return ls_err_set(err, LS_E_NOTFOUND, "lockstepd has no more to say");
}

enum ls_rc
client_expect(struct client *client, enum msg_type type, struct msg *out, struct ls_err *err)
{
	struct msg msg;
	bool message = false;

	while (!message) {
		enum ls_rc rc = client_next(client, &msg, &message, err);
		if (rc != LS_OK)
			return rc;
	}
	if (msg.type == type) {
		*out = msg;
		return LS_OK;
	}

	enum ls_rc rc;
	if (msg.type == MSG_DONE)
		rc = done_instead(msg.body, err);
	else
		rc = ls_err_set(err, LS_E_PROTO, "lockstepd sent %s where %s was due", msg_info(msg.type)->name,
		    msg_info(type)->name);
	msg_fini(&msg);
	return rc;
}

enum ls_rc
client_expect_done(struct client *client, struct ls_err *err)
{
	struct msg msg;
	bool message = false;
	enum ls_rc rc = LS_OK;

	while (!message && rc == LS_OK)
		rc = client_next(client, &msg, &message, err);
	if (rc != LS_OK)
		return rc;
	if (msg.type == MSG_DONE)
		rc = done_instead(msg.body, err);
	else
		rc = ls_err_set(err, LS_E_PROTO, "lockstepd sent %s where done was due", msg_info(msg.type)->name);
	msg_fini(&msg);
	return rc == LS_E_NOTFOUND ? LS_OK : rc;
}

enum ls_rc
client_export(
    struct client *client, const char *run, enum client_wants wants, char **out, size_t *out_len, struct ls_err *err)
{
	struct msg_export ask;
	struct sink text = { 0 };
	uint64_t parts = 1;

	msg_body_init(MSG_EXPORT, &ask);
	ask.run = run == NULL || strcmp(run, "last") == 0 ? NULL : ls_strdup(run);
	ask.summary = wants == CLIENT_SUMMARY;
	ask.whole = wants == CLIENT_WHOLE;
	enum ls_rc rc = client_send(client, MSG_EXPORT, &ask, err);
	msg_body_fini(MSG_EXPORT, &ask);

	for (uint64_t part = 0; rc == LS_OK && part < parts; part++) {
		struct msg msg;

		rc = client_expect(client, MSG_DOCUMENT_PART, &msg, err);
		if (rc != LS_OK)
			break;
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): set, as ls_err_set never gives LS_OK */
		const struct msg_document_part *p = msg.body;
		if (p->part != part)
			rc = ls_err_set(err, LS_E_PROTO, "part %llu of the document came where %llu was due",
			    (unsigned long long)p->part, (unsigned long long)part);
		else
			sink_add(&text, p->data, strlen(p->data));
		parts = p->parts;
		msg_fini(&msg);
	}
	if (rc == LS_OK)
		rc = client_expect_done(client, err);
	if (rc != LS_OK) {
		sink_free(&text);
		return rc;
	}
	*out = text.text;
	*out_len = text.len;
	return LS_OK;
}

#define IMPORT_PART (192UL << 10)

static enum ls_rc
send_part(struct client *client, const char *text, size_t len, uint64_t part, uint64_t parts, struct ls_err *err)
{
	struct msg_import m = { .part = part, .parts = parts };
	size_t from = (size_t)part * IMPORT_PART;

	m.data = ls_strndup(text + from, LS_MIN(len - from, (size_t)IMPORT_PART));
	enum ls_rc rc = client_send(client, MSG_IMPORT, &m, err);
	free(m.data);
	return rc;
}

enum ls_rc
client_import(struct client *client, const char *text, size_t len, bool *known, struct ls_err *err)
{
	uint64_t parts = LS_MAX((len + IMPORT_PART - 1) / IMPORT_PART, 1UL);
	enum ls_rc rc = LS_OK;
	struct msg msg = { 0 };

	for (uint64_t part = 0; part < parts && rc == LS_OK; part++)
		rc = send_part(client, text, len, part, parts, err);
	if (rc == LS_OK)
		rc = client_expect(client, MSG_IMPORTED, &msg, err);
	if (rc != LS_OK)
		return rc;
	const struct msg_imported *m = msg.body;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): ls_err_set never returns LS_OK, so the body is there */
	*known = m->known;
	msg_fini(&msg);
	return client_expect_done(client, err);
}
