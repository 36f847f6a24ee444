/* Text to lines, words and numbers. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/mem.h"
#include "coordinator/import/import_int.h"

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Bytes of the UTF-8 character at text, 0 when there is none (or an overlong form). */
static size_t
character(const char *text, size_t len)
{
	unsigned char c = (unsigned char)text[0];
	size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
	unsigned char second = n > 1 ? (unsigned char)text[1] : 0;
	if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) || (c == 0xf0 && second < 0x90) ||
	    (c == 0xf4 && second >= 0x90))
		return 0;
	return n;
}

/*
 * A line without marks of mails in front and blanks behind. Bytes of 0 would end it early: they become blanks. What is no UTF-8
 * becomes "?", so that no text grows when it is written.
 */
static char *
line_clean(const char *data, size_t len)
{
	while (len > 0 && data[0] == '>' && (len == 1 || data[1] == ' ' || data[1] == '>')) {
		size_t skip = len > 1 && data[1] == ' ' ? 2 : 1;

		data += skip;
		len -= skip;
	}
	while (len > 0 && (is_blank(data[len - 1]) || data[len - 1] == '\0'))
		len--;

	char *line = ls_malloc(len + 1);
	for (size_t i = 0; i < len;) {
		size_t n = character(data + i, len - i);

		if (n <= 1)
			line[i] = n == 0 ? '?' : data[i] == '\0' ? ' ' : data[i];
		else
			memcpy(line + i, data + i, n);
		i += LS_MAX(n, (size_t)1);
	}
	line[len] = '\0';
	return line;
}

static char *
line_bare(const char *line)
{
	size_t len = strlen(line);

	if (line[0] != '|')
		return ls_strdup(line);
	line++;
	len--;
	while (len > 0 && (is_blank(line[len - 1]) || line[len - 1] == '|'))
		len--;
	if (len > 0 && line[0] == ' ') {
		line++;
		len--;
	}
	return ls_strndup(line, len);
}

void
import_text_init(struct import_text *text, const char *name, const char *data, size_t len)
{
	*text = (struct import_text){ .name = name };
	if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
		data += 3;
		len -= 3;
	}
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t used = newline != NULL ? (size_t)(newline - data) : len;
		char *line = line_clean(data, used);

		text->lines = ls_grow(text->lines, text->count, sizeof(*text->lines));
		text->bare = ls_grow(text->bare, text->count, sizeof(*text->bare));
		text->lines[text->count] = line;
		text->bare[text->count++] = line_bare(line);
		used += newline != NULL;
		data += used;
		len -= used;
	}
}

void
import_text_free(struct import_text *text)
{
	for (size_t i = 0; i < text->count; i++) {
		free(text->lines[i]);
		free(text->bare[i]);
	}
	free(text->lines);
	free(text->bare);
	*text = (struct import_text){ 0 };
}

bool
import_text_has(const struct import_text *text, const char *what)
{
	for (size_t i = 0; i < text->count; i++)
		if (strstr(text->bare[i], what) != NULL)
			return true;
	return false;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

void
import_words_of(const char *line, struct import_words *out)
{
	size_t i = 0;

	out->line = line;
	out->count = 0;
	out->cut = false;
	for (;;) {
		while (is_blank(line[i]))
			i++;
		if (line[i] == '\0')
			return;
		if (out->count == IMPORT_WORDS_MAX) {
			out->cut = true;
			return;
		}
		size_t start = i;
		while (line[i] != '\0' && !is_blank(line[i]))
			i++;
		out->at[out->count++] = (struct import_word){ start, i };
	}
}

bool
import_word_is(const struct import_words *words, size_t i, const char *what)
{
	if (i >= words->count)
		return false;
	size_t len = words->at[i].end - words->at[i].start;
	return strlen(what) == len && memcmp(words->line + words->at[i].start, what, len) == 0;
}

bool
import_word_like(const struct import_words *words, size_t i, const char *what)
{
	if (i >= words->count)
		return false;
	size_t len = words->at[i].end - words->at[i].start;
	return strlen(what) == len && strncasecmp(words->line + words->at[i].start, what, len) == 0;
}

const char *
import_word_copy(const struct import_words *words, size_t i, char *buf, size_t len)
{
	if (i < words->count)
		import_copy(buf, len, words->line + words->at[i].start, words->at[i].end - words->at[i].start);
	else
		buf[0] = '\0';
	return buf;
}

void
import_copy(char *buf, size_t len, const char *text, size_t text_len)
{
	size_t n = LS_MIN(text_len, len - 1);

	while (n > 0 && n < text_len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(buf, text, n);
	buf[n] = '\0';
}

const char *
import_after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	while (is_blank(*text))
		text++;
	if (strncmp(text, prefix, len) != 0)
		return NULL;
	text += len;
	while (is_blank(*text))
		text++;
	return text;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* Decimal digits as an integer and a power of ten. */
struct decimal {
	uint64_t digits;
	int power;
	bool negative;
};

/* Length of the number at text, 0 for none. At most 19 digits count; those behind only move the point. */
static size_t
decimal_scan(const char *text, size_t len, struct decimal *out)
{
	size_t i = 0;
	size_t seen = 0;
	bool point = false;

	*out = (struct decimal){ 0 };
	if (i < len && (text[i] == '-' || text[i] == '+'))
		out->negative = text[i++] == '-';
	for (; i < len; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9')
			break;
		seen++;
		if (out->digits >= UINT64_MAX / 10 - 1) {
			out->power += !point;
			continue;
		}
		out->digits = out->digits * 10 + (uint64_t)(text[i] - '0');
		out->power -= point;
	}
	return seen > 0 ? i : 0;
}

static size_t
exponent_scan(const char *text, size_t len, int *power)
{
	size_t i = 1;
	int value = 0;
	bool negative = false;

	if (len < 2 || (text[0] != 'e' && text[0] != 'E'))
		return 0;
	if (text[i] == '-' || text[i] == '+')
		negative = text[i++] == '-';
	size_t first = i;
	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		value = LS_MIN(value * 10 + (text[i] - '0'), 1000);
	if (i == first)
		return 0;
	*power += negative ? -value : value;
	return i;
}

/* Exact when digits fit 53 bits and the power is at most 22, as those of all tools are. */
static double
decimal_value(const struct decimal *d)
{
	long double value = (long double)d->digits;

	if (d->power < 0 && d->digits < 1ULL << 53 && d->power >= -22) {
		double divisor = 1;
		for (int i = 0; i > d->power; i--)
			divisor *= 10;
		double exact = (double)d->digits / divisor;
		return d->negative ? -exact : exact;
	}
	value *= powl(10.0L, (long double)d->power);
	return (double)(d->negative ? -value : value);
}

bool
import_number(const char *text, size_t len, double *out)
{
	struct decimal d;
	size_t used = decimal_scan(text, len, &d);

	if (used == 0)
		return false;
	used += exponent_scan(text + used, len - used, &d.power);
	if (used != len || !isfinite(decimal_value(&d)))
		return false;
	*out = decimal_value(&d);
	return true;
}

bool
import_integer(const char *text, size_t len, uint64_t *out)
{
	uint64_t value = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value) || value > INT64_MAX)
			return false;
	}
	*out = value;
	return true;
}

bool
import_word_number(const struct import_words *words, size_t i, double *out)
{
	return i < words->count &&
	    import_number(words->line + words->at[i].start, words->at[i].end - words->at[i].start, out);
}

bool
import_number_prefix(const char *text, double *out, const char **end)
{
	struct decimal d;
	size_t used;

	while (is_blank(*text))
		text++;
	used = decimal_scan(text, strlen(text), &d);
	if (used == 0)
		return false;
	used += exponent_scan(text + used, strlen(text + used), &d.power);
	if (!isfinite(decimal_value(&d)))
		return false;
	*out = decimal_value(&d);
	*end = text + used;
	return true;
}

bool
import_size(const char *text, size_t len, uint64_t unit, uint64_t *out)
{
	static const char units[] = "KMGTP";
	struct decimal d;
	double value;
	size_t used = decimal_scan(text, len, &d);
	double scale = (double)unit;

	if (used == 0 || d.negative)
		return false;
	if (used < len) {
		const char *u = strchr(units, text[used] & ~0x20);

		if (u == NULL || *u == '\0' || used + 1 != len)
			return false;
		scale = ldexp(1, 10 * (int)(u - units + 1));
	}
	value = decimal_value(&d) * scale;
	if (!(value >= 0 && value < 9.2e18))
		return false;
	*out = (uint64_t)value;
	return true;
}

uint64_t
import_to_u64(double value)
{
	return value >= 0 && value < 9.2e18 ? (uint64_t)value : LS_UNKNOWN_U64;
}

int64_t
import_to_i64(double value)
{
	return value >= 0 && value < 9.2e18 ? (int64_t)value : LS_UNKNOWN_I64;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

static size_t
count_commas(const char *line)
{
	size_t n = 0;

	for (; *line != '\0'; line++)
		n += *line == ',';
	return n;
}

/* One field into out; returns what follows its comma, or NULL at the end of the line. */
static const char *
field_copy(const char *p, char **out)
{
	char *to = *out;
	bool quoted = *p == '"';

	if (quoted)
		p++;
	while (*p != '\0' && (quoted || *p != ',')) {
		if (quoted && *p == '"') {
			if (p[1] != '"') {
				p++;
				quoted = false;
				continue;
			}
			p++;
		}
		*to++ = *p++;
	}
	*to++ = '\0';
	*out = to;
	return *p == ',' ? p + 1 : NULL;
}

char **
import_csv_fields(const char *line, size_t *out_count)
{
	size_t max = count_commas(line) + 1;
	char **fields = ls_malloc(max * sizeof(*fields) + strlen(line) + max + 1);
	char *room = (char *)(fields + max);
	const char *p = line;

	*out_count = 0;
	while (p != NULL) {
		fields[(*out_count)++] = room;
		p = field_copy(p, &room);
	}
	return fields;
}

enum ls_rc
import_error(struct ls_err *err, size_t line, const char *fmt, ...)
{
	char text[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ls_err_set(err, LS_E_INVALID, "line %zu: %s", line + 1, text);
}
