/*
 * Between the files of the web pages. Not for others.
 */
#ifndef LS_COORDINATOR_DAEMON_WEB_INT_H
#define LS_COORDINATOR_DAEMON_WEB_INT_H

#include "common/base/sink.h"
#include "common/net/http.h"
#include "coordinator/daemon/web.h"
#include "coordinator/daemon/web_auth.h"
#include "proto/codec/msg.h"

#include "common/base/field_decl.h"
#include "coordinator/daemon/web.def"
#include "common/base/field_undef.h"

/* Put in at build time from coordinator/daemon/web. */
extern const char web_index_html[];
extern const char web_app_css[];
extern const char web_app_js[];

/* A text that is made at most once a second, however many ask. */
struct web_cache {
	char *text; /* owned */
	size_t len;
	struct ls_mono made;
};

struct web {
	struct daemon *daemon;
	struct tls_ctx *tls;
	struct http_server *server;
	struct web_tokens tokens;
	struct offload *thread;
	struct store *store; /* that thread's */
	struct web_cache nodes, live, metrics;
	struct log_budget refusals;
	bool closing;
};

/* What is in memory, as text: heap. */
char *web_make_nodes(struct daemon *d, size_t *len);
char *web_make_live(struct daemon *d, size_t *len);
char *web_make_metrics(struct daemon *d, size_t *len);

/* Made in the thread, answered when it is there. what: a run's id, or NULL for the list. as_page: its report, else its document. */
void web_answer_later(struct web *web, uint64_t number, const char *what, bool as_page);

/* A policy that lets exactly those scripts of a page run that stand in it now. */
void web_page_policy(const char *page, size_t len, struct sink *out);

#endif
