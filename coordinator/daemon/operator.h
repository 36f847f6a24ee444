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
enum ls_rc operator_on_tag(struct session *s, void *body, struct ls_mono received, struct ls_err *err);
enum ls_rc operator_on_remove(struct session *s, void *body, struct ls_mono received, struct ls_err *err);

/* A request came: until operator_done the next one has to wait. Errors: LS_E_PROTO when one is under way. */
enum ls_rc operator_begin(struct session *s, struct ls_err *err) LS_MUST_CHECK;

/*
 * A row of the list of runs; live: the run in memory, if it is. Borrows from all three but for its tags, which operator_row_fini
 * frees. stamp: room for a time.
 */
struct store_run;
struct run;
struct run_row operator_row(const struct store_run *stored, const struct run *live, char *stamp, size_t len);
void operator_row_fini(struct run_row *row);

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
