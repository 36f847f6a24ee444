/*
 * What operators ask for: one request at a time, its answer ends with done.
 */
#ifndef LS_COORDINATOR_DAEMON_OPERATOR_H
#define LS_COORDINATOR_DAEMON_OPERATOR_H

#include "coordinator/daemon/session.h"
#include "proto/codec/msg.h"

/* Handlers, see dispatch.h. */
enum ls_rc operator_on_submit(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_watch(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_abort(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_list(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_nodes(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_export(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_import(struct session *s, void *body, struct ls_mono received, struct ls_err *err);

/* The end of an answer: the session is free for the next request. text may be NULL. */
void operator_done(struct session *s, enum done_outcome outcome, const char *text);

/* A document on its way to an operator, as fast as it is read. */
struct document;
void document_send(struct session *s, char *text, size_t len); /* takes text */
void document_free(struct document *doc);                      /* NULL-safe */

/* A document on its way from an operator (upload.c). */
struct upload;
void upload_free(struct upload *upload); /* NULL-safe */

#endif
