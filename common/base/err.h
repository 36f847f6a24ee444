/*
 * Result codes and the one sentence that explains a failure. The caller owns a struct ls_err and may pass NULL wherever
 * one is taken. This module never logs and never ends the process.
 */
#ifndef LS_COMMON_BASE_ERR_H
#define LS_COMMON_BASE_ERR_H

#include <stdbool.h>

#include "common/base/defs.h"

enum ls_rc {
	LS_OK = 0,
	LS_E_INVALID = -1, /* input that can never be right: syntax, unknown key, bad argument */
	LS_E_RANGE = -2,   /* a number outside of its limits */
	LS_E_SYS = -3,     /* a system call failed: err->sys holds its errno */
	LS_E_NOMEM = -4,   /* a job-sized allocation failed */
	LS_E_PROTO = -5,   /* the peer broke the protocol */
	LS_E_TLS = -6,     /* handshake, certificate or record error */
	LS_E_STATE = -7,   /* not possible in the present state */
	LS_E_REFUSED = -8, /* understood and declined, with a reason */
	LS_E_NOTFOUND = -9,
	LS_E_EXISTS = -10, /* already there, with other content */
	LS_E_TIMEOUT = -11,
	LS_E_CLOSED = -12, /* orderly end of file from the peer */
	LS_E_LIMIT = -13,  /* larger than a fixed limit (frame, list, depth) */
	LS_E_STORE = -14,  /* the database or the spool failed */
};

struct ls_err {
	enum ls_rc rc;
	int sys;         /* errno, or 0 */
	char text[1024]; /* one sentence: what, which, why; no trailing newline; always terminated */
};

/* Short name of a code ("invalid", "refused", ...). Static storage, never NULL. */
const char *ls_rc_name(enum ls_rc rc);

/*
 * Store rc and a formatted sentence in err (may be NULL) and return rc, so that "return ls_err_set(err, ...)" works.
 * err->sys becomes 0. Text that does not fit is cut at a character boundary.
 */
enum ls_rc ls_err_set(struct ls_err *err, enum ls_rc rc, const char *fmt, ...) LS_PRINTF(3, 4);

/* The same for a failed system call: LS_E_SYS, err->sys = errnum, and ": <strerror of errnum>" appended. Thread-safe. */
enum ls_rc ls_err_sys(struct ls_err *err, int errnum, const char *fmt, ...) LS_PRINTF(3, 4);

/*
 * Put "context: " before what err already says; rc and sys stay. Returns err->rc (LS_E_INVALID when err is NULL).
 * Each level adds its context once.
 */
enum ls_rc ls_err_wrap(struct ls_err *err, const char *fmt, ...) LS_PRINTF(2, 3);

/* strerror_r in either dialect: writes into buf (len > 0) and returns it. Thread-safe. */
const char *ls_strerror(int errnum, char *buf, size_t len);

#endif
