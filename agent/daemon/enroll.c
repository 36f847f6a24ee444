#include "agent/daemon/enroll.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/daemon/allow.h"
#include "agent/daemon/config.h"
#include "common/base/mem.h"
#include "common/base/pathname.h"
#include "common/base/version.h"
#include "common/conf/options.h"
#include "common/net/addr.h"
#include "common/net/conn.h"
#include "common/net/loop.h"
#include "common/pki/pki_enroll.h"
#include "proto/codec/msg.h"

#define EXIT_USAGE 2
#define LIMIT_NS   (30 * NS_PER_S)
#define ALLOW_MAX  64
#define DROP_IN    "50-enrolled.conf"
#define USUAL_USER "lockstep"

struct enroll {
	/* what was asked for */
	const char *address, *config, *spool, *user;
	struct option_texts allow;
	bool quiet, verbose, help;
	struct pki_token token;
	const char *token_text;

	/* on the way */
	struct loop *loop;
	struct conn *conn;
	struct pki_request request;
	bool ended;
	enum ls_rc rc;
	struct ls_err err;
	char *cert, *ca;
	struct identity id;
};

#define E(member) offsetof(struct enroll, member)

static const struct option_row rows[] = {
	{ "allow", 'a', OPTION_TEXTS, E(allow), "DIR",
	    "directory below which runs may work; can be repeated. Without one every run is refused", 0, 0 },
	{ "spool", 's', OPTION_TEXT, E(spool), "DIR",
	    "the agent's directory; key and certificates go to DIR/pki. Default " AGENT_SPOOL_DEFAULT, 0, 0 },
	{ "config", 'c', OPTION_TEXT, E(config), "FILE",
	    "the agent's configuration; FILE.d/" DROP_IN " is written. Default " LS_SYSCONFDIR "/lockstep/agent.conf",
	    0, 0 },
	{ "user", 'u', OPTION_TEXT, E(user), "NAME",
	    "who owns the key; default " USUAL_USER ", which the packages make, else the present user", 0, 0 },
	{ "quiet", 'q', OPTION_FLAG, E(quiet), NULL, "only errors", 0, 0 },
	{ "verbose", 'v', OPTION_FLAG, E(verbose), NULL, "tell what is done and which files are written", 0, 0 },
	{ "help", 'h', OPTION_FLAG, E(help), NULL, "explain and exit", 0, 0 },
	{ 0 },
};

static int
complain(const struct ls_err *err, int status)
{
	(void)fprintf(stderr, "lockstep-agent: enroll: %s\n", err->text);
	return status;
}

static int
usage(FILE *out)
{
	struct sink text = { 0 };

	sink_printf(&text,
	    "usage: lockstep-agent enroll HOST:PORT TOKEN [options]\n"
	    "\n"
	    "Makes a key on this node, gets its certificate from lockstepd at HOST:PORT and writes the agent's "
	    "configuration.\n"
	    "\"lockstep node add NAME\" on the coordinator's machine prints this command with its token, which works "
	    "once.\n"
	    "\n");
	options_help(rows, &text);
	sink_printf(&text,
	    "\n"
	    "example:\n"
	    "  lockstep-agent enroll admin:7437 ls1-... --allow /mnt/shared/bench\n"
	    "  systemctl enable --now lockstep-agent\n");
	(void)fputs(text.text, out);
	sink_free(&text);
	return out == stdout ? EXIT_SUCCESS : EXIT_USAGE;
}

static void LS_PRINTF(2, 3) tell(const struct enroll *e, const char *fmt, ...)
{
	va_list ap;

	if (!e->verbose)
		return;
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
}

/* --- the conversation -------------------------------------------------------------------------------------------------------- */

static void
end(struct enroll *e, enum ls_rc rc)
{
	e->rc = rc;
	e->ended = true;
	loop_stop(e->loop);
}

static void
on_open(struct conn *conn, void *arg)
{
	struct enroll *e = arg;
	struct msg_enroll body = {
		.version = (char *)(uintptr_t)lockstep_version,
		.token = (char *)(uintptr_t)e->token_text,
		.request = e->request.request,
	};
	char *text = NULL;
	size_t len;

	if (conn_peer(conn)->role != ROLE_COORDINATOR) {
		end(e,
		    ls_err_set(&e->err, LS_E_TLS, "the other side is no coordinator, but %s %s",
			identity_role_names[conn_peer(conn)->role], conn_peer(conn)->name));
		return;
	}
	enum ls_rc rc = msg_encode(MSG_ENROLL, &body, &text, &len, &e->err);
	if (rc != LS_OK)
		end(e, rc);
	else
		conn_send(conn, text, len);
	free(text);
}

static enum ls_rc
take_answer(struct enroll *e, const struct msg *msg)
{
	struct msg_enrolled *m = msg->body;
	const struct msg_error *refusal = msg->body;

	if (msg->type == MSG_ERROR)
		return ls_err_set(&e->err, LS_E_REFUSED, "%s", refusal->text);
	if (msg->type != MSG_ENROLLED)
		return ls_err_set(&e->err, LS_E_PROTO, "lockstepd answers with %s", msg_info(msg->type)->name);
	enum ls_rc rc =
	    pki_request_check(&e->request, m->certificate, m->ca, e->token.fingerprint, m->node, &e->id, &e->err);
	if (rc != LS_OK)
		return rc;
	e->cert = ls_strdup(m->certificate);
	e->ca = ls_strdup(m->ca);
	return LS_OK;
}

static enum ls_rc
on_frame(struct conn *conn, const uint8_t *data, size_t len, struct ls_mono received, void *arg, struct ls_err *err)
{
	struct enroll *e = arg;
	struct msg msg = { 0 };

	(void)conn;
	(void)received;
	(void)err;
	enum ls_rc rc = msg_decode((const char *)data, len, MSG_TO_AGENT, &msg, &e->err);
	if (rc == LS_OK) {
		rc = take_answer(e, &msg);
		msg_fini(&msg);
	}
	end(e, rc);
	return LS_OK;
}

static void
on_close(struct conn *conn, const struct ls_err *why, void *arg)
{
	struct enroll *e = arg;

	(void)conn;
	e->conn = NULL;
	if (e->ended)
		return;
	e->err = *why;
	end(e, why->rc);
}

static void
on_limit(void *arg)
{
	struct enroll *e = arg;

	end(e, ls_err_set(&e->err, LS_E_TIMEOUT, "no answer within %d s", (int)(LIMIT_NS / NS_PER_S)));
}

static enum ls_rc
converse(struct enroll *e)
{
	static const struct conn_events events = { on_open, on_frame, on_close };
	const struct conn_config config = { .frame_max = MSG_FRAME_MAX };
	struct tls_ctx *tls = NULL;
	struct loop_timer *limit = NULL;
	struct ls_err err;

	enum ls_rc rc = loop_new(&e->loop, &e->err);
	if (rc == LS_OK)
		rc = tls_ctx_new_pinned(e->token.fingerprint, MSG_ALPN_ENROLL, &tls, &e->err);
	if (rc == LS_OK)
		rc = conn_dial(e->loop, e->address, tls, &config, &events, e, &e->conn, &e->err);
	if (rc == LS_OK) {
		limit = loop_timer_new(e->loop, on_limit, e);
		loop_timer_set(limit, LIMIT_NS);
		rc = loop_run(e->loop, &err);
		if (rc == LS_OK)
			rc = e->rc;
	}
	conn_drop(e->conn);
	loop_timer_free(limit);
	tls_ctx_free(tls);
	loop_free(e->loop);
	return rc;
}

/* --- what is written ---------------------------------------------------------------------------------------------------------- */

static enum ls_rc
make_dir(const char *path, mode_t mode, const struct passwd *owner, struct ls_err *err)
{
	if (mkdir(path, mode) != 0)
		return errno == EEXIST ? LS_OK : ls_err_sys(err, errno, "%s: mkdir", path);
	if (owner != NULL && chown(path, owner->pw_uid, owner->pw_gid) != 0)
		return ls_err_sys(err, errno, "%s: chown", path);
	return LS_OK;
}

/* What the drop-in belongs to: packages bring one, `make install` does not. */
static enum ls_rc
ensure_config(const char *path, struct ls_err *err)
{
	if (access(path, F_OK) == 0)
		return LS_OK;
	FILE *f = fopen(path, "we");
	if (f == NULL)
		return ls_err_sys(err, errno, "%s: open", path);
	(void)fputs(
	    "# lockstep-agent: see lockstep-agent(8), and the files of the folder with .d behind this name.\n", f);
	return fclose(f) == 0 ? LS_OK : ls_err_sys(err, errno, "%s: write", path);
}

static enum ls_rc
write_drop_in(const struct enroll *e, const char *pki, struct ls_err *err)
{
	char *dir = ls_asprintf("%s.d", e->config);
	char *path = ls_asprintf("%s/" DROP_IN, dir);
	enum ls_rc rc = ensure_config(e->config, err);
	if (rc == LS_OK)
		rc = make_dir(dir, 0755, NULL, err);
	FILE *f = rc == LS_OK ? fopen(path, "we") : NULL;

	if (rc == LS_OK && f == NULL)
		rc = ls_err_sys(err, errno, "%s: open", path);
	if (f != NULL) {
		(void)fprintf(f,
		    "# Written by lockstep-agent enroll.\n[" AGENT_CONFIG_SECTION
		    "]\ncoordinator = %s\nca = %s/ca.crt\ncert = %s/agent.crt\n"
		    "key = %s/agent.key\n",
		    e->address, pki, pki, pki);
		if (strcmp(e->spool, AGENT_SPOOL_DEFAULT) != 0)
			(void)fprintf(f, "spool = %s\n", e->spool);
		for (size_t i = 0; i < e->allow.count; i++)
			(void)fprintf(f, "allow = %s\n", e->allow.items[i]);
		bool bad = ferror(f) != 0;
		if (fclose(f) != 0 || bad)
			rc = ls_err_sys(err, errno, "%s: write", path);
	}
	if (rc == LS_OK)
		printf("wrote %s\n", path);
	free(path);
	free(dir);
	return rc;
}

static enum ls_rc
store(struct enroll *e, const char *pki, const struct passwd *owner)
{
	char *key = ls_asprintf("%s/agent.key", pki), *cert = ls_asprintf("%s/agent.crt", pki),
	     *ca = ls_asprintf("%s/ca.crt", pki);
	const char *const paths[] = { key, cert, ca };
	enum ls_rc rc = pki_request_store(&e->request, e->cert, e->ca, key, cert, ca, &e->err);

	for (size_t i = 0; rc == LS_OK && owner != NULL && i < ARRAY_LEN(paths); i++)
		if (chown(paths[i], owner->pw_uid, owner->pw_gid) != 0)
			rc = ls_err_sys(&e->err, errno, "%s: chown", paths[i]);
	if (rc == LS_OK)
		printf("wrote %s, %s and %s\n", key, cert, ca);
	free(key);
	free(cert);
	free(ca);
	return rc;
}

/* Whom the files shall belong to; NULL: to us. */
static enum ls_rc
find_owner(const struct enroll *e, const struct passwd **out, struct ls_err *err)
{
	*out = NULL;
	if (e->user == NULL && geteuid() != 0)
		return LS_OK;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	*out = getpwnam(e->user != NULL ? e->user : USUAL_USER);
	if (*out == NULL && e->user != NULL)
		return ls_err_set(err, LS_E_INVALID, "there is no user %s", e->user);
	return LS_OK;
}

static enum ls_rc
enroll(struct enroll *e)
{
	const struct passwd *owner;
	char *pki = ls_asprintf("%s/pki", e->spool);

	/* All that can fail here is tried before the token is used up. */
	enum ls_rc rc = find_owner(e, &owner, &e->err);
	if (rc == LS_OK)
		rc = make_dir(e->spool, 0750, owner, &e->err);
	if (rc == LS_OK)
		rc = make_dir(pki, 0700, owner, &e->err);
	if (rc == LS_OK && access(pki, W_OK) != 0)
		rc = ls_err_sys(&e->err, errno, "%s", pki);
	if (rc == LS_OK)
		rc = pki_request_new(&e->request, &e->err);
	if (rc == LS_OK) {
		tell(e, "a key is made; asking %s for its certificate\n", e->address);
		rc = converse(e);
	}
	if (rc == LS_OK) {
		tell(e, "certificate of node %s; writing to %s\n", e->id.name, pki);
		rc = store(e, pki, owner);
	}
	if (rc == LS_OK) {
		tell(e, "writing %s.d/" DROP_IN "\n", e->config);
		rc = write_drop_in(e, pki, &e->err);
	}
	free(pki);
	return rc;
}

/* --- the command ---------------------------------------------------------------------------------------------------------------- */

/* -1: go on; else the exit status. */
static int
parse(int argc, char **argv, struct enroll *e)
{
	const struct option_set set = { rows, e };
	struct option_texts words = { 0 };
	enum ls_rc rc = options_parse(argc - 1, argv + 1, &set, 1, false, &words, NULL, &e->err);
	size_t count = words.count;

	for (size_t i = 0; rc == LS_OK && i < e->allow.count; i++) {
		const char *fault = pathname_fault(e->allow.items[i]);

		if (fault != NULL || i == ALLOW_MAX)
			rc = ls_err_set(&e->err, LS_E_INVALID, "--allow %s: %s", e->allow.items[i],
			    fault != NULL ? fault : "too many");
	}
	if (rc == LS_OK && e->quiet && e->verbose)
		rc = ls_err_set(&e->err, LS_E_INVALID, "--quiet and --verbose exclude each other");
	if (count == 2) {
		e->address = words.items[0];
		e->token_text = words.items[1];
	}
	option_texts_free(&words);
	if (rc != LS_OK)
		return complain(&e->err, EXIT_USAGE);
	if (e->help)
		return usage(stdout);
	return count == 2 ? -1 : usage(stderr);
}

static enum ls_rc
check(struct enroll *e)
{
	struct addr addr;
	enum ls_rc rc = addr_parse(e->address, LOCKSTEP_PORT, &addr, &e->err);

	if (rc == LS_OK && addr.is_unix)
		rc = ls_err_set(&e->err, LS_E_INVALID, "%s: an agent connects over TCP", e->address);
	if (rc == LS_OK && (e->spool[0] != '/' || e->config[0] != '/'))
		rc = ls_err_set(&e->err, LS_E_INVALID, "--spool and --config must be absolute paths");
	return rc == LS_OK ? pki_token_parse(e->token_text, &e->token, &e->err) : rc;
}

static int
enroll_parsed(struct enroll *e)
{
	if (check(e) != LS_OK)
		return complain(&e->err, EXIT_USAGE);
	enum ls_rc rc = enroll(e);
	if (rc == LS_OK && !e->quiet)
		printf("this node is %s now; start its agent: systemctl enable --now lockstep-agent\n", e->id.name);
	pki_request_fini(&e->request);
	free(e->cert);
	free(e->ca);
	return rc == LS_OK ? EXIT_SUCCESS : complain(&e->err, EXIT_FAILURE);
}

int
enroll_main(int argc, char **argv)
{
	struct enroll e = { .config = LS_SYSCONFDIR "/lockstep/agent.conf", .spool = AGENT_SPOOL_DEFAULT };
	int status = parse(argc, argv, &e);

	if (status < 0)
		status = enroll_parsed(&e);
	option_texts_free(&e.allow);
	return status;
}
