/*
 * The connection to lockstepd as an operator: over its Unix socket, or over TLS with an operator's certificate. Synchronous: one
 * message is waited for at a time, while signals and timers of the same loop can wake the waiting.
 */
#ifndef LS_COORDINATOR_CLI_CLIENT_H
#define LS_COORDINATOR_CLI_CLIENT_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/net/loop.h"
#include "coordinator/cli/cmd.h"
#include "proto/codec/msg.h"

struct client;

/*
 * Connects, says hello and waits for welcome. address NULL: as cli, $LOCKSTEP_SERVER or the default say. The TLS library is
 * initialised only for an address that is not a Unix socket. Errors: as conn_dial and tls_ctx_new; the sentence says what
 * to do when nobody listens.
 */
enum ls_rc client_open(
    const struct cli *cli, const char *address, struct client **out, struct ls_err *err) LS_MUST_CHECK;

/* NULL-safe. */
void client_close(struct client *client);

/* Sends a message; body as for msg_encode. */
enum ls_rc client_send(struct client *client, enum msg_type type, const void *body, struct ls_err *err) LS_MUST_CHECK;

/*
 * Waits for the next message, or until client_wake: then *out_message is false. out is ended with msg_fini. Errors: LS_E_CLOSED
 * and others when the connection ends, LS_E_PROTO with the text of an error message.
 */
enum ls_rc client_next(struct client *client, struct msg *out, bool *out_message, struct ls_err *err) LS_MUST_CHECK;

/* Makes client_next return; for callbacks of the loop. */
void client_wake(struct client *client);

/* The loop that client_next runs; borrowed. */
struct loop *client_loop(struct client *client);

/*
 * Waits for a message of the given type, or for done. Returns LS_OK with *out of that type; LS_E_NOTFOUND when done came with
 * outcome ok; LS_E_REFUSED or LS_E_STATE with done's text when it was refused or failed. Others are an error.
 */
enum ls_rc client_expect(struct client *client, enum msg_type type, struct msg *out, struct ls_err *err) LS_MUST_CHECK;

/* Waits for done, the end of an answer. Errors: LS_E_REFUSED or LS_E_STATE with its text, LS_E_PROTO for anything else. */
enum ls_rc client_expect_done(struct client *client, struct ls_err *err) LS_MUST_CHECK;

/* How much of a results document: all that tables and charts need; without what is long and no table needs; with all that external
 * programs have printed, not only its end. */
enum client_wants { CLIENT_DOCUMENT = 0, CLIENT_SUMMARY, CLIENT_WHOLE };

/* Fetches a results document; run NULL or "last": the newest. *out is heap, NUL-terminated, the caller frees it. */
enum ls_rc client_export(struct client *client, const char *run, enum client_wants wants, char **out, size_t *out_len,
    struct ls_err *err) LS_MUST_CHECK;

/* Sends a results document, of another tool or as client_export gave it, to be kept. *known: it was in the store before. */
enum ls_rc client_import(
    struct client *client, const char *text, size_t len, bool *known, struct ls_err *err) LS_MUST_CHECK;

#endif
