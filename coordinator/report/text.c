#include "coordinator/report/text_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"

/* Columns of a UTF-8 text: its characters, as far as they are one column wide. */
static size_t
columns(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* How many bytes of text go into a line of width columns: up to a blank if there is one, else cut. */
static size_t
line_bytes(const char *text, size_t width)
{
	size_t last_blank = 0;
	size_t used = 0;
	size_t i;

	for (i = 0; text[i] != '\0'; i++) {
		if (((unsigned char)text[i] & 0xc0) == 0x80)
			continue;
		if (text[i] == ' ')
			last_blank = i;
		if (used++ == width)
			break;
	}
	if (text[i] == '\0')
		return i;
	return last_blank > 0 ? last_blank : i;
}

/* Peers' texts may hold control characters, which have no place on a terminal. */
static void
mask_controls(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
}

void
text_wrap(struct sink *out, const char *prefix, const char *fmt, ...)
{
	char text[4096];
	size_t indent = columns(prefix, strlen(prefix));
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mask_controls(text);

	const char *rest = text;
	sink_add(out, prefix, strlen(prefix));
	for (;;) {
		size_t n = line_bytes(rest, TEXT_COLUMNS - indent);

		sink_add(out, rest, n);
		sink_add(out, "\n", 1);
		rest += n;
		rest += strspn(rest, " ");
		if (*rest == '\0')
			break;
		sink_repeat(out, ' ', indent);
	}
}

void
text_warnings(struct sink *out, const char *indent, char *const *list, size_t count)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "%s! ", indent);
	for (size_t i = 0; i < count; i++)
		text_wrap(out, prefix, "%s", list[i]);
}

const char *
text_number(double value, char *buf, size_t len)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	if (isfinite(value))
		snprintf(buf, len, "%.*f", decimals, value);
	else
		snprintf(buf, len, "n/a");
	return buf;
}

void
text_cell(struct sink *out, int width, double value)
{
	char digits[64];

	text_number(value, digits, sizeof(digits));
	if (isfinite(value) && (int)strlen(digits) >= width)
		snprintf(digits, sizeof(digits), "%.2e", value);
	text_cell_word(out, width, digits);
}

void
text_cell_word(struct sink *out, int width, const char *word)
{
	sink_printf(out, "%*s", width, word);
}

void
text_name(struct sink *out, const char *name)
{
	size_t len = strlen(name);
	const int head = TEXT_NAME_WIDTH / 2 - 1;
	const int tail = TEXT_NAME_WIDTH - head - 2;

	if (len <= TEXT_NAME_WIDTH)
		sink_printf(out, "%-*s", TEXT_NAME_WIDTH, name);
	else
		sink_printf(out, "%.*s..%s", head, name, name + len - (size_t)tail);
}

const char *
text_duration(int64_t ns, char *buf, size_t len)
{
	if (ns == LS_UNKNOWN_I64)
		snprintf(buf, len, "n/a");
	else
		units_format_duration(ns, buf, len);
	return buf;
}

void
text_labels(struct sink *out, const struct run_info *run)
{
	struct sink tags = { 0 };

	for (size_t i = 0; i < run->tags_count; i++)
		sink_printf(&tags, "%s%s", i > 0 ? ", " : "", run->tags[i]);
	if (tags.text != NULL)
		text_wrap(out, "tags    ", "%s", tags.text);
	if (run->note != NULL && run->note[0] != '\0')
		text_wrap(out, "note    ", "%s", run->note);
	sink_free(&tags);
}
