#include "coordinator/daemon/web_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "coordinator/daemon/certs.h"
#include "coordinator/report/format.h"

#define CACHE_NS NS_PER_S
#define APP_POLICY                                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri "        \
	"'none'; "                                                                                                     \
	"form-action 'none'; frame-ancestors 'none'"

/* --- what is asked for ------------------------------------------------------------------------------------------------------ */

static void
answer_text(struct web *web, uint64_t number, int status, const struct http_field *more, const char *text)
{
	struct http_answer a = { .status = status, .type = "text/plain; charset=utf-8", .more = more };

	a.body = ls_asprintf("%s\n", text);
	a.len = strlen(a.body);
	http_answer(web->server, number, &a);
}

static void
answer_cached(struct web *web, uint64_t number, struct web_cache *cache, char *(*make)(struct daemon *, size_t *),
    const char *type)
{
	struct ls_mono now = ls_mono_now();
	struct http_answer a = { .status = 200, .type = type };

	if (cache->text == NULL || now.ns - cache->made.ns >= CACHE_NS) {
		free(cache->text);
		cache->text = make(web->daemon, &cache->len);
		cache->made = now;
	}
	a.len = cache->len;
	a.body = ls_malloc(a.len + 1);
	memcpy(a.body, cache->text, a.len);
	http_answer(web->server, number, &a);
}

static void
serve_nodes(struct web *web, uint64_t number)
{
	answer_cached(web, number, &web->nodes, web_make_nodes, "application/json");
}

static void
serve_live(struct web *web, uint64_t number)
{
	answer_cached(web, number, &web->live, web_make_live, "application/json");
}

static void
serve_metrics(struct web *web, uint64_t number)
{
	answer_cached(
	    web, number, &web->metrics, web_make_metrics, "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

static void
serve_runs(struct web *web, uint64_t number)
{
	web_answer_later(web, number, NULL, false);
}

struct route {
	const char *path;
	void (*serve)(struct web *web, uint64_t number); /* or the text below */
	const char *(*text)(void);
	const char *type;
};

static const char *
index_html(void)
{
	return web_index_html;
}
static const char *
app_js(void)
{
	return web_app_js;
}
static const char *
app_css(void)
{
	return web_app_css;
}

static const struct route routes[] = {
	{ "/", NULL, index_html, "text/html; charset=utf-8" },
	{ "/app.js", NULL, app_js, "text/javascript; charset=utf-8" },
	{ "/app.css", NULL, app_css, "text/css; charset=utf-8" },
	{ "/page.css", NULL, report_page_css, "text/css; charset=utf-8" },
	{ "/dygraph.js", NULL, report_dygraphs, "text/javascript; charset=utf-8" },
	{ "/api/nodes", serve_nodes, NULL, NULL },
	{ "/api/live", serve_live, NULL, NULL },
	{ "/api/runs", serve_runs, NULL, NULL },
	{ "/metrics", serve_metrics, NULL, NULL },
};

static void
answer_route(struct web *web, uint64_t number, const struct route *route)
{
	struct http_answer a = {
		.status = 200, .type = route->type, .policy = APP_POLICY, .cache = "private, max-age=300"
	};

	if (route->serve != NULL) {
		route->serve(web, number);
		return;
	}
	a.body = ls_strdup(route->text());
	a.len = strlen(a.body);
	if (strcmp(route->path, "/") == 0)
		a.cache = NULL;
	http_answer(web->server, number, &a);
}

/* "/run/ID" is its report, "/run/ID.json" its document. */
static bool
answer_run(struct web *web, uint64_t number, const char *path)
{
	char id[65];
	size_t len;
	bool as_page = true;

	if (strncmp(path, "/run/", 5) != 0)
		return false;
	path += 5;
	len = strlen(path);
	if (len > 5 && strcmp(path + len - 5, ".json") == 0) {
		as_page = false;
		len -= 5;
	}
	if (len == 0 || len >= sizeof(id) || memchr(path, '/', len) != NULL)
		return false;
	memcpy(id, path, len);
	id[len] = '\0';
	web_answer_later(web, number, id, as_page);
	return true;
}

static void
answer_allowed(struct web *web, uint64_t number, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(routes); i++)
		if (strcmp(path, routes[i].path) == 0) {
			answer_route(web, number, &routes[i]);
			return;
		}
	if (!answer_run(web, number, path))
		answer_text(web, number, 404, NULL, "there is no such page");
}

/* --- who asks ---------------------------------------------------------------------------------------------------------------- */

static const struct http_field login[] = {
	{ "WWW-Authenticate", "Basic realm=\"lockstep\", charset=\"UTF-8\"" },
	{ "WWW-Authenticate", "Bearer" },
	{ NULL, NULL },
};

static void
log_refusal(struct web *web, const struct http_request *r, const char *why)
{
	if (log_budget_take(&web->refusals, ls_mono_now()))
		ls_log(LS_LOG_WARN, "web client refused", "peer=%s name=%s role=%s why=\"%s\"", r->address,
		    r->peer->name[0] != '\0' ? r->peer->name : "-", identity_role_names[r->peer->role], why);
}

static void
on_request(const struct http_request *r, void *arg)
{
	struct web *web = arg;

	switch (web_access_of(&web->tokens, r->peer, r->authorization)) {
	case WEB_ALLOWED:
		answer_allowed(web, r->number, r->path);
		return;
	case WEB_UNKNOWN: /* browsers ask without it first: nothing to log */
		answer_text(web, r->number, 401, login, "an operator's certificate or a token is needed");
		return;
	case WEB_WRONG_TOKEN:
		log_refusal(web, r, "wrong token");
		answer_text(web, r->number, 401, login, "the token is wrong");
		return;
	case WEB_WRONG_ROLE:
		log_refusal(web, r, "role");
		answer_text(web, r->number, 403, NULL, "only certificates of operators are let in here");
		return;
	}
}

/* --- life -------------------------------------------------------------------------------------------------------------------- */

/* A port alone means loopback: who wants to be reached from elsewhere says so. */
static char *
listen_address(const char *text)
{
	return strspn(text, "0123456789") == strlen(text) ? ls_asprintf("127.0.0.1:%s", text) : ls_strdup(text);
}

static enum ls_rc
open_all(struct web *web, struct ls_err *err)
{
	const struct lockstepd_config *c = web->daemon->config;
	bool own = config_is_set(c->web_cert);
	const struct tls_files files = { .ca = c->ca,
		.cert = own ? c->web_cert : c->cert,
		.key = own ? c->web_key : c->key,
		.crl = certs_crl(web->daemon) };
	char *address = listen_address(c->web_listen);
	enum ls_rc rc = web_tokens_load(c->web_token_file, &web->tokens, err);

	if (rc == LS_OK)
		rc = tls_ctx_new(TLS_WEB, &files, "http/1.1", &web->tls, err);
	if (rc == LS_OK)
		rc = store_open(c->store, STORE_READER, &web->store, err);
	if (rc == LS_OK)
		rc = offload_new(web->daemon->loop, "web", &web->thread, err);
	if (rc == LS_OK)
		rc = http_server_new(web->daemon->loop, address, web->tls, on_request, web, &web->server, err);
	free(address);
	return rc == LS_OK ? LS_OK : ls_err_wrap(err, "web_listen");
}

enum ls_rc
web_new(struct daemon *d, struct web **out, struct ls_err *err)
{
	struct web *web;
	enum ls_rc rc;

	*out = NULL;
	if (!config_is_set(d->config->web_listen))
		return LS_OK;
	web = ls_calloc(1, sizeof(*web));
	web->daemon = d;
	rc = open_all(web, err);
	if (rc != LS_OK) {
		web_free(web);
		return rc;
	}
	*out = web;
	return LS_OK;
}

void
web_free(struct web *web)
{
	if (web == NULL)
		return;
	web->closing = true;
	offload_free(web->thread);
	http_server_free(web->server);
	tls_ctx_free(web->tls);
	store_close(web->store);
	free(web->nodes.text);
	free(web->live.text);
	free(web->metrics.text);
	free(web);
}

const char *
web_address(const struct web *web)
{
	return web != NULL ? http_server_address(web->server) : "";
}

enum ls_rc
web_reload(struct web *web, struct ls_err *err)
{
	enum ls_rc rc;

	if (web == NULL)
		return LS_OK;
	rc = web_tokens_load(web->daemon->config->web_token_file, &web->tokens, err);
	if (rc == LS_OK)
		rc = tls_ctx_reload(web->tls, err);
	http_server_drop_clients(web->server); /* who was let in may be no longer */
	return rc;
}
