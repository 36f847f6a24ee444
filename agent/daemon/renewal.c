#include "agent/daemon/renewal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/pki/pki_enroll.h"

#define LOOK_NS (3600 * NS_PER_S)
#define WARN_S  (30 * 86400)

struct renewal {
	struct loop *loop;
	const struct agent_config *config;
	const char *name;
	struct offload *disk;
	struct tls_ctx *tls;
	renewal_send_fn send;
	void *arg;
	struct loop_timer *timer;
	struct pki_request request; /* asked for, not yet answered */
	bool writing;
};

/* In the disk's thread. */
struct writing {
	struct renewal *renewal;
	struct pki_request request;
	char *cert, *ca;
	enum ls_rc rc;
	struct ls_err err;
};

static char *
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash != path ? ls_strndup(path, (size_t)(slash - path)) : ls_strdup("/");
}

/* May both files be replaced? On a local disk: the key lies there. */
static bool
is_ours(const struct agent_config *config)
{
	char *a = directory_of(config->cert), *b = directory_of(config->key);
	bool ours = access(a, W_OK) == 0 && access(b, W_OK) == 0;

	free(a);
	free(b);
	return ours;
}

static void
ask(struct renewal *r)
{
	struct ls_err err;

	pki_request_fini(&r->request);
	if (pki_request_new(&r->request, &err) != LS_OK) {
		ls_log(LS_LOG_ERROR, "certificate not renewed", "error=\"%s\"", err.text);
		return;
	}
	struct msg_renew body = { .request = r->request.request };
	if (!r->send(MSG_RENEW, &body, r->arg))
		pki_request_fini(&r->request);
}

static void
look(struct renewal *r)
{
	struct identity id;
	int64_t from, until, now = (int64_t)time(NULL);

	if (r->writing || identity_from_cert_file(r->config->cert, &id, &from, &until, NULL) != LS_OK)
		return;
	int64_t before = r->config->renew_before > 0 ? r->config->renew_before / NS_PER_S : (until - from) / 3;
	if (until - now > before)
		return;
	if (is_ours(r->config))
		ask(r);
	else if (until - now < WARN_S)
		ls_log(LS_LOG_WARN,
		    "the certificate ends soon, and its directory is not the agent's to write to: renew it by hand",
		    "cert=%s days=%lld", r->config->cert, (long long)((until - now) / 86400));
}

static void
on_timer(void *arg)
{
	struct renewal *r = arg;

	look(r);
	loop_timer_set(r->timer, LOOK_NS);
}

struct renewal *
renewal_new(struct loop *loop, const struct agent_config *config, const char *name, struct offload *disk,
    struct tls_ctx *tls, renewal_send_fn send, void *arg)
{
	struct renewal *r = ls_calloc(1, sizeof(*r));

	*r = (struct renewal){
		.loop = loop, .config = config, .name = name, .disk = disk, .tls = tls, .send = send, .arg = arg
	};
	r->timer = loop_timer_new(loop, on_timer, r);
	loop_timer_set(r->timer, LOOK_NS);
	return r;
}

void
renewal_free(struct renewal *r)
{
	if (!r)
		return;
	loop_timer_free(r->timer);
	pki_request_fini(&r->request);
	free(r);
}

void
renewal_connected(struct renewal *r)
{
	pki_request_fini(&r->request); /* what was asked for over the old connection will not be answered */
	look(r);
}

static void
write_work(void *arg)
{
	struct writing *w = arg;
	const struct agent_config *config = w->renewal->config;

	/* The root stays as it is: what is trusted is not changed by whom we trust. */
	w->rc = pki_request_store(&w->request, w->cert, NULL, config->key, config->cert, NULL, &w->err);
}

static void
write_done(void *arg)
{
	struct writing *w = arg;
	struct renewal *r = w->renewal;

	r->writing = false;
	if (w->rc == LS_OK)
		w->rc = tls_ctx_reload(r->tls, &w->err);
	if (w->rc == LS_OK)
		ls_log(LS_LOG_INFO, "certificate renewed", "cert=%s", r->config->cert);
	else
		ls_log(LS_LOG_ERROR, "certificate not renewed", "error=\"%s\"", w->err.text);
	pki_request_fini(&w->request);
	free(w->cert);
	free(w->ca);
	free(w);
}

void
renewal_answered(struct renewal *r, const struct msg_renewed *answer)
{
	struct identity id;
	struct ls_err err = { 0 };
	char shown[1100];
	enum ls_rc rc = LS_OK;

	if (r->request.key == NULL || r->writing)
		return; /* not asked for */
	if (answer->certificate == NULL || answer->ca == NULL)
		rc = ls_err_set(&err, LS_E_REFUSED, "%s", answer->reason != NULL ? answer->reason : "no reason given");
	if (rc == LS_OK)
		rc = pki_request_check(&r->request, answer->certificate, answer->ca, NULL, r->name, &id, &err);
	if (rc != LS_OK) {
		ls_log(LS_LOG_WARN, "certificate not renewed", "error=\"%s\"",
		    ls_log_escape(err.text, shown, sizeof(shown)));
		pki_request_fini(&r->request);
		return;
	}
	struct writing *w = ls_calloc(1, sizeof(*w));

	*w = (struct writing){
		.renewal = r, .request = r->request, .cert = ls_strdup(answer->certificate), .ca = ls_strdup(answer->ca)
	};
	r->request = (struct pki_request){ 0 };
	r->writing = true;
	offload_submit(r->disk, write_work, write_done, w);
}
