/*
 * What lockstepd serves over HTTPS: nodes, runs, the run that goes on, reports, metrics. Only for looking; off unless web_listen is set.
 *
 * In the loop's thread stands only what is in memory, made at most once a second for all clients. What needs the store or is long to make,
 * lists and reports, is made in a thread of its own with a store reader of its own, so that neither barriers nor exports wait for it.
 */
#ifndef LS_COORDINATOR_DAEMON_WEB_H
#define LS_COORDINATOR_DAEMON_WEB_H

#include "coordinator/daemon/daemon_int.h"

struct web;

/* *out NULL when it is off. Errors: as tls_ctx_new, http_server_new, web_auth_load, store_open. */
enum ls_rc web_new(struct daemon *d, struct web **out, struct ls_err *err) LS_MUST_CHECK;
void web_free(struct web *web); /* NULL-safe; waits for what its thread does */

/* Where it listens; "" when it is off. */
const char *web_address(const struct web *web);

/* Certificates and tokens are read again; on error the old ones stay. NULL-safe. */
enum ls_rc web_reload(struct web *web, struct ls_err *err) LS_MUST_CHECK;

#endif
