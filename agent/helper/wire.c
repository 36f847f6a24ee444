#include "agent/helper/wire.h"

#include <stdio.h>
#include <string.h>

#include "common/base/defs.h"
#include "common/base/pathname.h"

static const char *const verb_words[HELPER_VERB_COUNT] = {
	[HELPER_STATUS] = "status",
	[HELPER_DROP_CACHES] = "drop-caches",
	[HELPER_REMOUNT] = "remount",
	[HELPER_HEARTBEAT] = "heartbeat",
};

static bool
is_printable(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)data[i] < ' ' || data[i] == 0x7f)
			return false;
	return true;
}

static enum ls_rc
take_path(const char *data, size_t len, struct helper_request *out, struct ls_err *err)
{
	if (len > HELPER_PATH_MAX)
		return ls_err_set(err, LS_E_INVALID, "the path is longer than %d bytes", HELPER_PATH_MAX);
	if (!is_printable(data, len))
		return ls_err_set(err, LS_E_INVALID, "the path has a control character");
	memcpy(out->path, data, len);
	out->path[len] = '\0';

	const char *fault = pathname_fault(out->path);

	return fault == NULL ? LS_OK : ls_err_set(err, LS_E_INVALID, "%s", fault);
}

enum ls_rc
helper_request_parse(const char *data, size_t len, struct helper_request *out, struct ls_err *err)
{
	const char *blank = memchr(data, ' ', len);
	size_t word = blank != NULL ? (size_t)(blank - data) : len;

	*out = (struct helper_request){ 0 };
	for (enum helper_verb verb = 0; verb < HELPER_VERB_COUNT; verb++) {
		if (strlen(verb_words[verb]) != word || memcmp(verb_words[verb], data, word) != 0)
			continue;
		out->verb = verb;
		if (verb == HELPER_REMOUNT && blank != NULL)
			return take_path(blank + 1, len - word - 1, out, err);
		if (verb == HELPER_REMOUNT || blank != NULL)
			break;
		return LS_OK;
	}
	return ls_err_set(err, LS_E_INVALID, "the request is none that this helper knows");
}

size_t
helper_request_format(const struct helper_request *request, char *buf, size_t size)
{
	bool with_path = request->verb == HELPER_REMOUNT;
	int n = snprintf(
	    buf, size, "%s%s%s", verb_words[request->verb], with_path ? " " : "", with_path ? request->path : "");

	return n < 0 || (size_t)n >= size ? 0 : (size_t)n;
}

static size_t
answer(const char *word, const char *text, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s%s%s", word, text != NULL ? "\n" : "", text != NULL ? text : "");

	return n < 0 ? 0 : LS_MIN((size_t)n, size - 1);
}

size_t
helper_answer_ok(const char *text, char *buf, size_t size)
{
	return answer("ok", text, buf, size);
}

size_t
helper_answer_no(const char *why, char *buf, size_t size)
{
	return answer("no", why, buf, size);
}

size_t
helper_beats_format(const struct helper_beats *beats, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < beats->count; i++) {
		const struct helper_beat *b = &beats->list[i];
		int n = snprintf(buf + at, size - at, "%s %lld %lld\n", b->region, (long long)b->age_ns / NS_PER_MS,
		    (long long)b->dead_ns / NS_PER_MS);

		if (n < 0 || (size_t)n >= size - at) {
			buf[at] = '\0';
			break;
		}
		at += (size_t)n;
	}
	return at;
}

/* --- the agent's side ------------------------------------------------------------------------------------------------ */

/* A copy that can stand in a log and on a terminal. */
static void
copy_clean(const char *from, size_t len, char *to, size_t size)
{
	size_t n = LS_MIN(len, size - 1);

	for (size_t i = 0; i < n; i++)
		to[i] = (from[i] >= ' ' && from[i] <= '~') || from[i] == '\n' ? from[i] : '?';
	to[n] = '\0';
}

enum ls_rc
helper_answer_parse(const char *data, size_t len, char *body, size_t size, struct ls_err *err)
{
	bool has_body = len > 2 && data[2] == '\n';

	if (len < 2 || (len > 2 && !has_body))
		return ls_err_set(err, LS_E_PROTO, "the root helper's answer is none");
	copy_clean(has_body ? data + 3 : data, has_body ? len - 3 : 0, body, size);
	if (memcmp(data, "ok", 2) == 0)
		return LS_OK;
	if (memcmp(data, "no", 2) != 0)
		return ls_err_set(err, LS_E_PROTO, "the root helper's answer is none");
	for (char *p = body; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
	return ls_err_set(err, LS_E_REFUSED, "%s", body[0] != '\0' ? body : "the root helper gives no reason");
}

/* The next line of a text: where it begins, and its length. False at the end. */
static bool
next_line(const char **at, const char **line, size_t *len)
{
	if (**at == '\0')
		return false;
	*line = *at;
	*len = strcspn(*at, "\n");
	*at += *len + ((*at)[*len] == '\n');
	return true;
}

static bool
is_line(const char *line, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(line, text, len) == 0;
}

enum ls_rc
helper_status_parse(const char *body, const char *path, struct helper_status *out, struct ls_err *err)
{
	static const char remount[] = "remount ";
	const size_t skip = sizeof(remount) - 1;
	struct helper_status status = { 0 };
	const char *line;
	size_t len;

	while (next_line(&body, &line, &len)) {
		if (is_line(line, len, "drop_caches yes"))
			status.drop_caches = true;
		else if (is_line(line, len, "heartbeat yes"))
			status.heartbeat = true;
		else if (len > skip && memcmp(line, remount, skip) == 0)
			status.remount |= path != NULL && is_line(line + skip, len - skip, path);
		else if (!is_line(line, len, "drop_caches no") && !is_line(line, len, "heartbeat no"))
			return ls_err_set(err, LS_E_PROTO, "the root helper's status has an unknown line");
	}
	*out = status;
	return LS_OK;
}

/* Milliseconds as nanoseconds; false when the text at *at is no such number. */
static bool
take_ms(const char **at, char end, int64_t *out)
{
	int64_t value = 0;
	size_t digits = strspn(*at, "0123456789");

	if (digits == 0 || digits > 12 || (*at)[digits] != end)
		return false;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + ((*at)[i] - '0');
	*out = value * NS_PER_MS;
	*at += digits + 1;
	return true;
}

enum ls_rc
helper_beats_parse(const char *body, struct helper_beats *out, struct ls_err *err)
{
	*out = (struct helper_beats){ 0 };
	while (*body != '\0') {
		struct helper_beat *b = &out->list[out->count];
		size_t name = strcspn(body, " \n");

		if (out->count == HELPER_BEATS_MAX || name == 0 || name > HELPER_REGION_MAX || body[name] != ' ')
			return ls_err_set(err, LS_E_PROTO, "the root helper's heartbeat is none");
		memcpy(b->region, body, name);
		b->region[name] = '\0';
		body += name + 1;
		if (!take_ms(&body, ' ', &b->age_ns) || !take_ms(&body, '\n', &b->dead_ns))
			return ls_err_set(err, LS_E_PROTO, "the root helper's heartbeat is none");
		out->count++;
	}
	return LS_OK;
}
