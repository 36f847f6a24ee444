/*
 * Who may look at the web pages: operators by their certificate, others by a token of web_token_file.
 */
#ifndef LS_COORDINATOR_DAEMON_WEB_AUTH_H
#define LS_COORDINATOR_DAEMON_WEB_AUTH_H

#include "common/pki/digest.h"
#include "common/pki/identity.h"
#include "common/base/err.h"

#define WEB_TOKENS_MAX 64
#define WEB_TOKEN_MIN  20 /* characters: what is guessed at 50 connections a second must not be guessable */

struct web_tokens {
	struct digest digests[WEB_TOKENS_MAX];
	size_t count;
};

enum web_access { WEB_ALLOWED = 0, WEB_UNKNOWN, WEB_WRONG_TOKEN, WEB_WRONG_ROLE };

/*
 * A file with a token a line, or "sha256:" and the hexadecimal digest of one; lines with # are comments. Refused when others than
 * owner and group may read it. path NULL or "": no tokens. out is written on success only. Errors: LS_E_SYS, LS_E_REFUSED, LS_E_INVALID.
 */
enum ls_rc web_tokens_load(const char *path, struct web_tokens *out, struct ls_err *err) LS_MUST_CHECK;

/* authorization: "Bearer TOKEN", or "Basic ..." with the token as password and any name; "": none. */
enum web_access web_access_of(const struct web_tokens *tokens, const struct identity *peer, const char *authorization);

#endif
