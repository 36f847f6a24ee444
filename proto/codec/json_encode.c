#include "proto/codec/json.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/codec/json_int.h"
#include "proto/model/phase.h"

#define NUMBER_TEXT 32

struct writer {
	struct sink *s;
	bool indent;
	size_t level;
};

static void write_struct(struct writer *w, const struct struct_desc *desc, const void *obj, const char *type);

static void
put(struct writer *w, const char *text)
{
	sink_add(w->s, text, strlen(text));
}

static void
newline(struct writer *w)
{
	if (!w->indent)
		return;
	put(w, "\n");
	sink_repeat(w->s, ' ', 2 * w->level);
}

/* --- strings --- */

/*
 * One character of UTF-8 at p (not terminated, len > 0 bytes are there): its code point and length, or -1 and length 1 when
 * it is malformed, overlong, a surrogate or out of range.
 */
static int32_t
utf8_next(const unsigned char *p, size_t len, size_t *used)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	uint32_t c;

	*used = 1;
	if (n == 1)
		return p[0];
	if (n == 0 || n > len)
		return -1;
	c = p[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return -1;
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return -1;
	*used = n;
	return (int32_t)c;
}

static void
write_escape(struct sink *s, int32_t c)
{
	if (c == '"' || c == '\\')
		sink_printf(s, "\\%c", (char)c);
	else if (c == '\n')
		sink_add(s, "\\n", 2);
	else if (c == '\t')
		sink_add(s, "\\t", 2);
	else if (c >= 0x10000)
		sink_printf(s, "\\u%04x\\u%04x", 0xd800U + ((uint32_t)(c - 0x10000) >> 10),
		    0xdc00U + ((uint32_t)(c - 0x10000) & 0x3ff));
	else
		sink_printf(s, "\\u%04x", c < 0 ? 0xfffdU : (unsigned)c);
}

static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void
json_write_string(struct sink *s, const char *text)
{
	const unsigned char *p = (const unsigned char *)(text != NULL ? text : "");
	const unsigned char *end = p + strlen((const char *)p);

	sink_add(s, "\"", 1);
	while (p < end) {
		size_t n = 0;

		while (p + n < end && is_plain(p[n]))
			n++;
		sink_add(s, (const char *)p, n);
		p += n;
		if (p < end) {
			write_escape(s, utf8_next(p, (size_t)(end - p), &n));
			p += n;
		}
	}
	sink_add(s, "\"", 1);
}

/* --- numbers --- */

static void
write_u64(struct writer *w, uint64_t value)
{
	char digits[NUMBER_TEXT];
	size_t at = sizeof(digits);

	if (value > INT64_MAX)
		value = INT64_MAX;
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	sink_add(w->s, digits + at, sizeof(digits) - at);
}

static void
write_i64(struct writer *w, int64_t value)
{
	if (value < 0) {
		put(w, "-");
		if (value == INT64_MIN) /* its amount does not fit: the one number written out */
			put(w, "9223372036854775808");
		else
			write_u64(w, (uint64_t)-value);
		return;
	}
	write_u64(w, (uint64_t)value);
}

/* The shortest of 15 to 17 digits that reads back as the same number. The thread's locale is C here. */
static void
write_f64(struct writer *w, double value)
{
	char text[NUMBER_TEXT];

	if (!isfinite(value)) {
		put(w, "null");
		return;
	}
	if (value == 0) /* no sign: "-0" would come back as an integer */
		value = 0;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	put(w, text);
}

/* --- members --- */

static size_t
list_count(const struct field_desc *field, const void *obj)
{
	return *(const size_t *)(const void *)((const char *)obj + field->count_offset);
}

static bool
is_null(const struct field_desc *field, const void *obj)
{
	const void *p = (const char *)obj + field->offset;
	bool nullable = (field->flags & FIELD_NULLABLE) != 0;

	switch (field->kind) {
	case FIELD_I64:
	case FIELD_DURATION:
		return nullable && *(const int64_t *)p == LS_UNKNOWN_I64;
	case FIELD_U64:
	case FIELD_SIZE:
		return nullable && *(const uint64_t *)p == LS_UNKNOWN_U64;
	case FIELD_F64:
		return !isfinite(*(const double *)p);
	case FIELD_STR:
		return nullable && *(char *const *)p == NULL;
	case FIELD_STRUCT_PTR:
		return *(void *const *)p == NULL;
	case FIELD_BOOL:
	case FIELD_ENUM:
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT:
	case FIELD_STRUCT_LIST:
	case FIELD_KIND_COUNT:
		break;
	}
	return false;
}

static bool
is_list(const struct field_desc *field)
{
	return field->kind == FIELD_STR_LIST || field->kind == FIELD_I64_LIST || field->kind == FIELD_U64_PAIRS ||
	    field->kind == FIELD_STRUCT_LIST;
}

/* A phase's parameters that are of other kinds mean nothing: a write phase does not say how many files to create. */
static bool
applies(const struct struct_desc *desc, const struct field_desc *field, const void *obj)
{
	const struct phase *phase = obj;

	if (desc != &phase_desc || phase->kind < 0 || phase->kind >= PHASE_KIND_COUNT)
		return true;
	return phase_field_applies(field, (enum phase_kind)phase->kind);
}

static bool
is_left_out(const struct field_desc *field, const void *obj)
{
	if (!(field->flags & FIELD_OMIT_EMPTY))
		return false;
	if (is_list(field))
		return list_count(field, obj) == 0;
	if (field->kind == FIELD_BOOL)
		return *(const bool *)((const char *)obj + field->offset) == (field->dflt != 0);
	if (field->kind == FIELD_ENUM)
		return *(const int *)(const void *)((const char *)obj + field->offset) == (int)field->dflt;
	if (field->kind == FIELD_DURATION)
		return *(const int64_t *)(const void *)((const char *)obj + field->offset) == field->dflt;
	if (field->kind == FIELD_STR)
		return *(char *const *)(const void *)((const char *)obj + field->offset) == NULL;
	return is_null(field, obj);
}

/* Numbers stay on one line; texts and structs get lines of their own. */
static void
write_list(struct writer *w, const struct field_desc *field, const void *items, size_t count)
{
	bool lines = field->kind == FIELD_STR_LIST || field->kind == FIELD_STRUCT_LIST;

	put(w, "[");
	w->level++;
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			put(w, ",");
		if (lines)
			newline(w);
		if (field->kind == FIELD_STR_LIST) {
			json_write_string(w->s, ((char *const *)items)[i]);
		} else if (field->kind == FIELD_I64_LIST) {
			write_i64(w, ((const int64_t *)items)[i]);
		} else if (field->kind == FIELD_STRUCT_LIST) {
			write_struct(w, field->sub, (const char *)items + i * field->sub->size, NULL);
		} else {
			put(w, "[");
			write_u64(w, ((const uint64_t *)items)[2 * i]);
			put(w, ",");
			write_u64(w, ((const uint64_t *)items)[2 * i + 1]);
			put(w, "]");
		}
	}
	w->level--;
	if (lines && count > 0)
		newline(w);
	put(w, "]");
}

static void
write_value(struct writer *w, const struct field_desc *field, const void *obj)
{
	const void *p = (const char *)obj + field->offset;

	if (is_null(field, obj)) {
		put(w, "null");
		return;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		put(w, *(const bool *)p ? "true" : "false");
		break;
	case FIELD_I64:
	case FIELD_DURATION:
		write_i64(w, *(const int64_t *)p);
		break;
	case FIELD_U64:
	case FIELD_SIZE:
		write_u64(w, *(const uint64_t *)p);
		break;
	case FIELD_F64:
		write_f64(w, *(const double *)p);
		break;
	case FIELD_ENUM:
		json_write_string(w->s, field_enum_name(field->names, *(const int *)p));
		break;
	case FIELD_STR:
		json_write_string(w->s, *(char *const *)p);
		break;
	case FIELD_STRUCT:
		write_struct(w, field->sub, p, NULL);
		break;
	case FIELD_STRUCT_PTR:
		write_struct(w, field->sub, *(void *const *)p, NULL);
		break;
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		write_list(w, field, *(void *const *)p, list_count(field, obj));
		break;
	case FIELD_KIND_COUNT:
		break;
	}
}

static void
write_key(struct writer *w, bool first, const char *name)
{
	if (!first)
		put(w, ",");
	newline(w);
	json_write_string(w->s, name);
	put(w, w->indent ? ": " : ":");
}

static void
write_struct(struct writer *w, const struct struct_desc *desc, const void *obj, const char *type)
{
	bool first = true;

	put(w, "{");
	w->level++;
	if (type != NULL) {
		write_key(w, first, "type");
		json_write_string(w->s, type);
		first = false;
	}
	for (size_t i = 0; i < desc->field_count; i++) {
		const struct field_desc *field = &desc->fields[i];

		if (is_left_out(field, obj) || !applies(desc, field, obj))
			continue;
		write_key(w, first, field->name);
		write_value(w, field, obj);
		first = false;
	}
	w->level--;
	if (!first)
		newline(w);
	put(w, "}");
}

void
json_write_struct(struct sink *s, const struct struct_desc *desc, const void *obj, const char *type, bool indent)
{
	struct writer w = { .s = s, .indent = indent };
	/* numbers are written and read back with a decimal point, whatever the program's locale says */
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;

	write_struct(&w, desc, obj, type);
	if (before != (locale_t)0)
		uselocale(before);
	if (plain != (locale_t)0)
		freelocale(plain);
}

char *
json_encode_struct(const struct struct_desc *desc, const void *obj, bool indent, size_t *out_len)
{
	struct sink s = { 0 };

	json_write_struct(&s, desc, obj, NULL, indent);
	if (indent)
		sink_add(&s, "\n", 1);
	if (out_len != NULL)
		*out_len = s.len;
	return s.text;
}

const char *
json_library(void)
{
	return jansson_version_str();
}
