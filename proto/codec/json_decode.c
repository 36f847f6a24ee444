#include "proto/codec/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "proto/codec/json_int.h"

#define PLACE_DEPTH    (JSON_DEPTH_MAX + 1)
#define LIST_TEXT_MAX  4096 /* bytes of one text in a list of texts */
#define SHOWN_TEXT_MAX 64   /* bytes of a peer's text in an error */

/* --- errors --- */

static void
place_write(const struct json_place *place, struct sink *s)
{
	const struct json_place *chain[PLACE_DEPTH];
	size_t n = 0;

	for (; place != NULL && n < PLACE_DEPTH; place = place->parent)
		chain[n++] = place;
	while (n-- > 0) {
		if (chain[n]->name == NULL)
			sink_printf(s, "[%zu]", chain[n]->index);
		else
			sink_printf(s, "%s%s", s->len > 0 ? "." : "", chain[n]->name);
	}
}

enum ls_rc
json_error(const struct json_context *context, const struct json_place *place, struct ls_err *err, enum ls_rc rc,
    const char *fmt, ...)
{
	bool named = context->what != NULL && context->what[0] != '\0';
	struct ls_err sentence = { 0 };
	struct sink where = { 0 };
	va_list ap;

	if (err == NULL)
		return rc;
	va_start(ap, fmt);
	vsnprintf(sentence.text, sizeof(sentence.text), fmt, ap);
	va_end(ap);
	place_write(place, &where);
	ls_err_set(err, rc, "%s%s%s%s%s", named ? context->what : "", named ? ": " : "",
	    where.len > 0 ? where.text : "", where.len > 0 ? ": " : "", sentence.text);
	sink_free(&where);
	return rc;
}

static const char *
type_name(const json_t *tree)
{
	switch (json_typeof(tree)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a text";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number with a fraction or exponent";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

static enum ls_rc
wrong_type(const struct json_context *context, const struct json_place *place, const char *wanted, const json_t *tree,
    struct ls_err *err)
{
	return json_error(context, place, err, LS_E_INVALID, "must be %s, not %s", wanted, type_name(tree));
}

enum ls_rc
json_unknown_key(const struct json_context *context, const struct json_place *place, const struct struct_desc *desc,
    const char *key, struct ls_err *err)
{
	const char *nearest = field_nearest(desc, key);

	if (nearest == NULL)
		return json_error(context, place, err, LS_E_INVALID, "unknown key \"%.*s\"", SHOWN_TEXT_MAX, key);
	return json_error(context, place, err, LS_E_INVALID, "unknown key \"%.*s\", did you mean \"%s\"?",
	    SHOWN_TEXT_MAX, key, nearest);
}

/* --- single values --- */

static bool
has_limits(const struct field_desc *field)
{
	return field->min != 0 || field->max != 0;
}

static enum ls_rc
check_range(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    int64_t value, struct ls_err *err)
{
	if (!has_limits(field) || (value >= field->min && value <= field->max))
		return LS_OK;
	if (value < field->min)
		return json_error(context, place, err, LS_E_RANGE, "%" PRId64 " is below the least allowed, %" PRId64,
		    value, field->min);
	return json_error(
	    context, place, err, LS_E_RANGE, "%" PRId64 " is above the most allowed, %" PRId64, value, field->max);
}

/* An integer, or for sizes and durations a text with a unit. */
static enum ls_rc
read_integer(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    const json_t *tree, int64_t *out, struct ls_err *err)
{
	bool size = field->kind == FIELD_SIZE, duration = field->kind == FIELD_DURATION;
	struct ls_err inner = { 0 };
	uint64_t bytes = 0;
	enum ls_rc rc = LS_OK;

	/* who writes "time": 5 means seconds, not nanoseconds: in files durations carry their unit */
	if (duration && json_is_integer(tree) && json_integer_value(tree) != 0 &&
	    context->unknown == JSON_UNKNOWN_REFUSED)
		return json_error(context, place, err, LS_E_INVALID,
		    "%" PRId64 " has no unit; write \"%" PRId64 "s\" for seconds", (int64_t)json_integer_value(tree),
		    (int64_t)json_integer_value(tree));
	if (json_is_integer(tree))
		*out = json_integer_value(tree);
	else if (size && json_is_string(tree))
		rc = units_parse_size(json_string_value(tree), &bytes, &inner);
	else if (duration && json_is_string(tree))
		rc = units_parse_duration(json_string_value(tree), out, &inner);
	else
		return wrong_type(context, place,
		    size           ? "a size such as 65536 or \"64KiB\""
			: duration ? "a duration such as \"5s\" or \"100ms\""
				   : "an integer",
		    tree, err);
	if (rc != LS_OK)
		return json_error(context, place, err, rc, "%s", inner.text);
	if (size && json_is_string(tree))
		*out = (int64_t)bytes; /* units.h: never above 2^63-1 */
	return check_range(context, place, field, *out, err);
}

static enum ls_rc
read_i64(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, int64_t *out, struct ls_err *err)
{
	int64_t value = 0;
	enum ls_rc rc;

	if (json_is_null(tree) && (field->flags & FIELD_NULLABLE)) {
		*out = LS_UNKNOWN_I64;
		return LS_OK;
	}
	rc = read_integer(context, place, field, tree, &value, err);
	if (rc == LS_OK)
		*out = value;
	return rc;
}

static enum ls_rc
read_u64(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, uint64_t *out, struct ls_err *err)
{
	int64_t value = 0;
	enum ls_rc rc;

	if (json_is_null(tree) && (field->flags & FIELD_NULLABLE)) {
		*out = LS_UNKNOWN_U64;
		return LS_OK;
	}
	rc = read_integer(context, place, field, tree, &value, err);
	if (rc == LS_OK && value < 0)
		rc = json_error(context, place, err, LS_E_RANGE, "%" PRId64 " is below the least allowed, 0", value);
	if (rc == LS_OK)
		*out = (uint64_t)value;
	return rc;
}

static enum ls_rc
read_f64(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, double *out, struct ls_err *err)
{
	if (json_is_null(tree) && (field->flags & FIELD_NULLABLE)) {
		*out = (double)NAN;
		return LS_OK;
	}
	if (!json_is_number(tree))
		return wrong_type(context, place, "a number", tree, err);
	*out = json_number_value(tree);
	return LS_OK;
}

static enum ls_rc
read_bool(
    const struct json_context *context, const struct json_place *place, json_t *tree, bool *out, struct ls_err *err)
{
	if (!json_is_boolean(tree))
		return wrong_type(context, place, "true or false", tree, err);
	*out = json_is_true(tree);
	return LS_OK;
}

static enum ls_rc
read_enum(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, int *out, struct ls_err *err)
{
	struct sink names = { 0 };
	int value;

	if (!json_is_string(tree))
		return wrong_type(context, place, "a text", tree, err);
	value = field_enum_value(field->names, json_string_value(tree));
	if (value >= 0) {
		*out = value;
		return LS_OK;
	}
	for (int i = 0; field->names[i] != NULL; i++)
		sink_printf(&names, "%s%s", i > 0 ? ", " : "", field->names[i]);
	json_error(context, place, err, LS_E_INVALID, "\"%.*s\" is none of %s", SHOWN_TEXT_MAX, json_string_value(tree),
	    names.text);
	sink_free(&names);
	return LS_E_INVALID;
}

/* A text of at most max bytes (0: any) on the heap, into *out, which is freed before. */
static enum ls_rc
read_text(const struct json_context *context, const struct json_place *place, json_t *tree, int64_t max, char **out,
    struct ls_err *err)
{
	size_t len;

	if (!json_is_string(tree))
		return wrong_type(context, place, "a text", tree, err);
	len = json_string_length(tree);
	if (max > 0 && len > (size_t)max)
		return json_error(
		    context, place, err, LS_E_RANGE, "%zu bytes of text, at most %" PRId64 " are allowed", len, max);
	free(*out);
	*out = ls_strndup(json_string_value(tree), len);
	return LS_OK;
}

static enum ls_rc
read_str(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, char **out, struct ls_err *err)
{
	if (json_is_null(tree) && (field->flags & FIELD_NULLABLE)) {
		free(*out);
		*out = NULL;
		return LS_OK;
	}
	return read_text(context, place, tree, field->max, out, err);
}

/* --- lists --- */

static size_t
element_size(const struct field_desc *field)
{
	if (field->kind == FIELD_STR_LIST)
		return sizeof(char *);
	if (field->kind == FIELD_I64_LIST)
		return sizeof(int64_t);
	if (field->kind == FIELD_U64_PAIRS)
		return 2 * sizeof(uint64_t);
	return field->sub->size;
}

static enum ls_rc
read_pair(
    const struct json_context *context, const struct json_place *place, json_t *tree, uint64_t *out, struct ls_err *err)
{
	if (!json_is_array(tree) || json_array_size(tree) != 2)
		return json_error(context, place, err, LS_E_INVALID, "must be a list of two integers");
	for (size_t i = 0; i < 2; i++) {
		json_t *item = json_array_get(tree, i);

		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return json_error(
			    context, place, err, LS_E_INVALID, "must be two integers that are not negative");
		out[i] = (uint64_t)json_integer_value(item);
	}
	return LS_OK;
}

static enum ls_rc
read_element(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, void *out, struct ls_err *err)
{
	if (field->kind == FIELD_STR_LIST)
		return read_text(context, place, tree, LIST_TEXT_MAX, out, err);
	if (field->kind == FIELD_U64_PAIRS)
		return read_pair(context, place, tree, out, err);
	if (field->kind == FIELD_STRUCT_LIST)
		return json_tree_to_struct(context, place, field->sub, tree, out, err);
	if (!json_is_integer(tree))
		return wrong_type(context, place, "an integer", tree, err);
	*(int64_t *)out = json_integer_value(tree);
	return LS_OK;
}

/*
 * Elements to make room for: ls_grow takes it for granted that lists grew in powers of two, and a decoded list may be added to
 * like any other.
 */
static size_t
list_room(size_t n)
{
	size_t room = 1;

	while (room < n)
		room *= 2;
	return room;
}

/* obj's list is empty at first; its count follows element by element, so that on error it can be freed as it stands. */
static enum ls_rc
read_list(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, void *obj, struct ls_err *err)
{
	void **items = (void **)(void *)((char *)obj + field->offset);
	size_t *count = (size_t *)(void *)((char *)obj + field->count_offset);
	size_t size = element_size(field), n;
	enum ls_rc rc = LS_OK;

	if (!json_is_array(tree))
		return wrong_type(context, place, "a list", tree, err);
	n = json_array_size(tree);
	if (field->max > 0 && n > (size_t)field->max)
		return json_error(
		    context, place, err, LS_E_RANGE, "%zu elements, at most %" PRId64 " are allowed", n, field->max);
	if (n == 0)
		return LS_OK;

	*items = ls_try_calloc(list_room(n), size);
	if (*items == NULL)
		return json_error(context, place, err, LS_E_NOMEM, "no memory for %zu elements", n);
	for (size_t i = 0; i < n && rc == LS_OK; i++) {
		struct json_place here = { .parent = place, .index = i };

		rc = read_element(context, &here, field, json_array_get(tree, i), (char *)*items + i * size, err);
		if (rc == LS_OK)
			*count = i + 1;
	}
	return rc;
}

/* --- structs --- */

static enum ls_rc
read_struct_ptr(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, void **out, struct ls_err *err)
{
	void *sub;
	enum ls_rc rc;

	if (json_is_null(tree))
		return LS_OK;
	sub = ls_calloc(1, field->sub->size);
	rc = json_tree_to_struct(context, place, field->sub, tree, sub, err);
	if (rc != LS_OK) {
		free(sub);
		return rc;
	}
	*out = sub;
	return LS_OK;
}

/* Frees what a member with memory of its own holds and empties it. */
static void
clear_field(const struct field_desc *field, void *obj)
{
	const struct struct_desc one = { .name = "", .fields = field, .field_count = 1 };

	field_struct_fini(&one, obj);
}

enum ls_rc
json_tree_to_field(const struct json_context *context, const struct json_place *place, const struct field_desc *field,
    json_t *tree, void *obj, struct ls_err *err)
{
	void *p = (char *)obj + field->offset;

	switch (field->kind) {
	case FIELD_BOOL:
		return read_bool(context, place, tree, p, err);
	case FIELD_I64:
	case FIELD_DURATION:
		return read_i64(context, place, field, tree, p, err);
	case FIELD_U64:
	case FIELD_SIZE:
		return read_u64(context, place, field, tree, p, err);
	case FIELD_F64:
		return read_f64(context, place, field, tree, p, err);
	case FIELD_ENUM:
		return read_enum(context, place, field, tree, p, err);
	case FIELD_STR:
		return read_str(context, place, field, tree, p, err);
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		clear_field(field, obj);
		return read_list(context, place, field, tree, obj, err);
	case FIELD_STRUCT:
		clear_field(field, obj);
		return json_tree_to_struct(context, place, field->sub, tree, p, err);
	case FIELD_STRUCT_PTR:
		clear_field(field, obj);
		return read_struct_ptr(context, place, field, tree, p, err);
	case FIELD_KIND_COUNT:
		break;
	}
	return LS_E_INVALID;
}

static enum ls_rc
refuse_unknown_keys(const struct json_context *context, const struct json_place *place, const struct struct_desc *desc,
    json_t *tree, struct ls_err *err)
{
	const char *key;
	json_t *value;

	if (context->unknown == JSON_UNKNOWN_IGNORED)
		return LS_OK;
	json_object_foreach(tree, key, value) if (field_find(desc, key) == NULL) return json_unknown_key(
	    context, place, desc, key, err);
	return LS_OK;
}

enum ls_rc
json_tree_to_struct(const struct json_context *context, const struct json_place *place, const struct struct_desc *desc,
    json_t *tree, void *obj, struct ls_err *err)
{
	enum ls_rc rc;

	if (!json_is_object(tree))
		return wrong_type(context, place, "an object", tree, err);
	rc = refuse_unknown_keys(context, place, desc, tree, err);
	if (rc != LS_OK)
		return rc;

	field_struct_init(desc, obj);
	for (size_t i = 0; i < desc->field_count && rc == LS_OK; i++) {
		const struct field_desc *field = &desc->fields[i];
		struct json_place here = { .parent = place, .name = field->name };
		json_t *value = json_object_get(tree, field->name);

		if (value != NULL)
			rc = json_tree_to_field(context, &here, field, value, obj, err);
		else if (field->flags & FIELD_REQUIRED)
			rc = json_error(context, &here, err, LS_E_INVALID, "missing");
	}
	if (rc != LS_OK)
		field_struct_fini(desc, obj);
	return rc;
}

enum ls_rc
json_decode_struct_max(const struct struct_desc *desc, const char *text, size_t len, enum json_unknown unknown,
    size_t max_values, const char *what, void *obj, struct ls_err *err)
{
	struct json_context context = { .what = what, .unknown = unknown };
	json_t *tree = NULL;
	enum ls_rc rc;

	rc = json_text_check(text, len, max_values, what, err);
	if (rc != LS_OK)
		return rc;
	if (json_walk(&context, desc, text, len, obj))
		return LS_OK;
	rc = json_text_parse(text, len, max_values, what, &tree, err);
	if (rc == LS_OK)
		rc = json_tree_to_struct(&context, NULL, desc, tree, obj, err);
	json_decref(tree);
	return rc;
}

enum ls_rc
json_decode_struct(const struct struct_desc *desc, const char *text, size_t len, enum json_unknown unknown,
    const char *what, void *obj, struct ls_err *err)
{
	return json_decode_struct_max(desc, text, len, unknown, 0, what, obj, err);
}
