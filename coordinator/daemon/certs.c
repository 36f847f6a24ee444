#include "coordinator/daemon/certs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/pki/pki.h"
#include "common/pki/pki_enroll.h"
#include "coordinator/daemon/session.h"
#include "coordinator/daemon/web.h"
#include "proto/codec/msg.h"

#define LOOK_NS      (2 * NS_PER_S)
#define OWN_LOOKS    1800 /* of these: the own certificate's end is looked at once an hour */
#define CRL_PATH_MAX 1024

struct certs {
	struct loop_timer *timer;
	char crl[CRL_PATH_MAX]; /* "": none */
	struct timespec changed;
	ino_t inode;
	unsigned looks;
	bool renewing;
};

/* Which state of the list's file this is: it is replaced, not written into. */
static bool
crl_state(const struct certs *c, struct timespec *changed, ino_t *inode)
{
	struct stat st;

	if (c->crl[0] == '\0' || stat(c->crl, &st) != 0)
		return false;
	*changed = st.st_mtim;
	*inode = st.st_ino;
	return true;
}

enum ls_rc
certs_open(struct daemon *d, struct ls_err *err)
{
	const struct lockstepd_config *config = d->config;
	struct certs *c = ls_calloc(1, sizeof(*c));
	enum ls_rc rc = LS_OK;

	d->certs = c;
	if (config_is_set(config->crl))
		snprintf(c->crl, sizeof(c->crl), "%s", config->crl);
	else if (config_is_set(config->pki))
		rc = pki_crl_ensure(config->pki, c->crl, err);
	if (rc != LS_OK)
		return ls_err_wrap(err, "pki: %s", config->pki);

	const struct tls_files files = {
		.ca = config->ca, .cert = config->cert, .key = config->key, .crl = c->crl[0] != '\0' ? c->crl : NULL
	};
	rc = tls_ctx_new(TLS_SERVER, &files, MSG_ALPN, &d->tls, err);
	if (rc == LS_OK && config_is_set(config->pki)) {
		char *root = ls_asprintf("%s/ca.crt", config->pki);

		rc = tls_ctx_admit_strangers(d->tls, MSG_ALPN_ENROLL, root, err);
		free(root);
	}
	(void)crl_state(c, &c->changed, &c->inode);
	return rc;
}

const char *
certs_crl(const struct daemon *d)
{
	if (d->certs != NULL && d->certs->crl[0] != '\0')
		return d->certs->crl;
	return config_is_set(d->config->crl) ? d->config->crl : NULL;
}

void
certs_read_again(struct daemon *d)
{
	struct ls_err err = { 0 };

	if (web_reload(d->web, &err) != LS_OK)
		ls_log(LS_LOG_ERROR, "certificates or tokens of the web pages not read, the old ones stay",
		    "why=\"%s\"", err.text);
	if (d->tls == NULL)
		return;
	(void)crl_state(d->certs, &d->certs->changed, &d->certs->inode);
	if (tls_ctx_reload(d->tls, &err) != LS_OK) {
		ls_log(LS_LOG_ERROR, "certificates not read, the old ones stay", "why=\"%s\"", err.text);
		return;
	}
	ls_log(LS_LOG_INFO, "certificates read again", NULL);
	for (struct session *s = d->sessions, *next; s != NULL; s = next) {
		next = s->next;
		if (s->conn != NULL && (s->state == SESSION_AGENT || s->state == SESSION_OPERATOR) &&
		    conn_recheck(s->conn, &err) != LS_OK)
			session_fail(s, &err);
	}
}

/* --- the own certificate ------------------------------------------------------------------------------------------------------ */

struct renewal {
	struct daemon *daemon;
	struct identity id;
	unsigned days;
	enum ls_rc rc;
	struct ls_err err;
};

static void
renewal_work(void *arg)
{
	struct renewal *r = arg;

	r->rc = pki_issue(r->daemon->config->pki, &r->id, r->days, true, &r->err);
}

static void
renewal_done(void *arg)
{
	struct renewal *r = arg;
	struct daemon *d = r->daemon;

	if (!d->stopping) {
		d->certs->renewing = false;
		if (r->rc == LS_OK) {
			ls_log(LS_LOG_INFO, "the own certificate was renewed", "file=%s", d->config->cert);
			certs_read_again(d);
		} else {
			ls_log(LS_LOG_ERROR, "the own certificate was not renewed", "why=\"%s\"", r->err.text);
		}
	}
	free(r);
}

/* When two thirds of its time have passed, if it is one of the authority that we have. */
static void
renew_own(struct daemon *d)
{
	struct identity id;
	int64_t from, until, now = (int64_t)time(NULL);
	char *ours = NULL;

	if (!config_is_set(d->config->pki) || d->certs->renewing ||
	    identity_from_cert_file(d->config->cert, &id, &from, &until, NULL) != LS_OK ||
	    until - now > (until - from) / 3)
		return;
	ours = ls_asprintf("%s/%s-%s.crt", d->config->pki, identity_role_names[id.role], id.name);
	if (strcmp(ours, d->config->cert) == 0) {
		struct renewal *r = ls_calloc(1, sizeof(*r));

		*r = (struct renewal){ .daemon = d, .id = id, .days = (unsigned)d->config->certificate_days };
		d->certs->renewing = true;
		daemon_write(d, renewal_work, renewal_done, r);
	}
	free(ours);
}

static void
on_look(void *arg)
{
	struct daemon *d = arg;
	struct certs *c = d->certs;
	struct timespec changed;
	ino_t inode;

	if (crl_state(c, &changed, &inode) &&
	    (inode != c->inode || changed.tv_sec != c->changed.tv_sec || changed.tv_nsec != c->changed.tv_nsec))
		certs_read_again(d);
	if (c->looks++ % OWN_LOOKS == 0)
		renew_own(d);
	loop_timer_set(c->timer, LOOK_NS);
}

void
certs_watch(struct daemon *d)
{
	if (d->certs == NULL || (d->certs->crl[0] == '\0' && !config_is_set(d->config->pki)))
		return;
	d->certs->timer = loop_timer_new(d->loop, on_look, d);
	loop_timer_set(d->certs->timer, 0);
}

void
certs_close(struct daemon *d)
{
	if (d->certs == NULL)
		return;
	loop_timer_free(d->certs->timer);
	tls_ctx_free(d->tls);
	d->tls = NULL;
	free(d->certs);
	d->certs = NULL;
}
