#include "common/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum ls_rc rc;
	const char *name;
} rc_names[] = {
	{ LS_OK, "ok" },
	{ LS_E_INVALID, "invalid" },
	{ LS_E_RANGE, "out of range" },
	{ LS_E_SYS, "system" },
	{ LS_E_NOMEM, "out of memory" },
	{ LS_E_PROTO, "protocol" },
	{ LS_E_TLS, "tls" },
	{ LS_E_STATE, "state" },
	{ LS_E_REFUSED, "refused" },
	{ LS_E_NOTFOUND, "not found" },
	{ LS_E_EXISTS, "exists" },
	{ LS_E_TIMEOUT, "timeout" },
	{ LS_E_CLOSED, "closed" },
	{ LS_E_LIMIT, "limit" },
	{ LS_E_STORE, "store" },
};

const char *
ls_rc_name(enum ls_rc rc)
{
	for (size_t i = 0; i < ARRAY_LEN(rc_names); i++)
		if (rc_names[i].rc == rc)
			return rc_names[i].name;
	return "unknown";
}

/* A cut in the middle of a UTF-8 sequence would make invalid JSON later: drop the incomplete tail. */
static void
trim_utf8_tail(char *text)
{
	size_t n = strlen(text);
	size_t back = 0;

	while (back < 3 && back < n && ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back == n)
		return;

	unsigned char lead = (unsigned char)text[n - 1 - back];
	size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
	if (want > back)
		text[n - 1 - back] = '\0';
}

enum ls_rc
ls_err_set(struct ls_err *err, enum ls_rc rc, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return rc;
	err->rc = rc;
	err->sys = 0;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(err->text))
		trim_utf8_tail(err->text);
	return rc;
}

enum ls_rc
ls_err_sys(struct ls_err *err, int errnum, const char *fmt, ...)
{
	char what[896];
	char why[128];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(what))
		trim_utf8_tail(what);
	ls_err_set(err, LS_E_SYS, "%s: %s", what, ls_strerror(errnum, why, sizeof(why)));
	if (err != NULL)
		err->sys = errnum;
	return LS_E_SYS;
}

enum ls_rc
ls_err_wrap(struct ls_err *err, const char *fmt, ...)
{
	char context[512];
	char was[sizeof(((struct ls_err){ .sys = 0 }).text)];
	va_list ap;

	if (err == NULL)
		return LS_E_INVALID;
	va_start(ap, fmt);
	int n = vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(context))
		trim_utf8_tail(context);
	memcpy(was, err->text, sizeof(was));
	n = snprintf(err->text, sizeof(err->text), "%s: %s", context, was);
	if (n >= (int)sizeof(err->text))
		trim_utf8_tail(err->text);
	return err->rc;
}

const char *
ls_strerror(int errnum, char *buf, size_t len)
{
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
	const char *text = strerror_r(errnum, buf, len); /* the GNU form may answer with a static string */
	if (text != buf)
		snprintf(buf, len, "%s", text);
#else
	if (strerror_r(errnum, buf, len) != 0)
		snprintf(buf, len, "error %d", errnum);
#endif
	return buf;
}
