#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/sink.h"
#include "common/base/units.h"
#include "common/conf/conf.h"

/* What is being set, for the sentences of errors. */
struct setting {
	const struct field_desc *field;
	const char *where, *value;
	struct ls_err *err;
};

static enum ls_rc
refuse(const struct setting *s, enum ls_rc rc, const char *why)
{
	return ls_err_set(s->err, rc, "%s: %s = %.128s: %s", s->where, s->field->name, s->value, why);
}

static bool
has_limits(const struct field_desc *f)
{
	return f->min != 0 || f->max != 0;
}

static enum ls_rc
refuse_range(const struct setting *s)
{
	const struct field_desc *f = s->field;

	return ls_err_set(s->err, LS_E_RANGE, "%s: %s = %.128s: must be from %" PRId64 " to %" PRId64 "%s", s->where,
	    f->name, s->value, f->min, f->max,
	    f->kind == FIELD_DURATION   ? " ns"
		: f->kind == FIELD_SIZE ? " bytes"
					: "");
}

static enum ls_rc
check_i64(const struct setting *s, int64_t value)
{
	const struct field_desc *f = s->field;

	return has_limits(f) && (value < f->min || value > f->max) ? refuse_range(s) : LS_OK;
}

static enum ls_rc
check_u64(const struct setting *s, uint64_t value)
{
	const struct field_desc *f = s->field;

	if (!has_limits(f))
		return LS_OK;
	if (value > INT64_MAX || (int64_t)value < f->min || (int64_t)value > f->max)
		return refuse_range(s);
	return LS_OK;
}

/* --- numbers --------------------------------------------------------------------------------------------------------- */

static enum ls_rc
parse_u64(const struct setting *s, const char *digits, uint64_t *out)
{
	uint64_t value = 0;

	if (*digits == '\0')
		return refuse(s, LS_E_INVALID, "an integer is meant");
	for (const char *p = digits; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return refuse(s, LS_E_INVALID, "an integer is meant");
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return refuse(s, LS_E_RANGE, "the number is too large");
	}
	*out = value;
	return LS_OK;
}

static enum ls_rc
parse_i64(const struct setting *s, int64_t *out)
{
	bool negative = s->value[0] == '-';
	uint64_t size = 0;
	enum ls_rc rc = parse_u64(s, s->value + (negative ? 1 : 0), &size);

	if (rc != LS_OK)
		return rc;
	if (size > INT64_MAX)
		return refuse(s, LS_E_RANGE, "the number is too large");
	*out = negative ? -(int64_t)size : (int64_t)size;
	return LS_OK;
}

static enum ls_rc
set_i64(const struct setting *s, int64_t *out)
{
	int64_t value = 0;
	enum ls_rc rc = parse_i64(s, &value);

	if (rc == LS_OK)
		rc = check_i64(s, value);
	if (rc == LS_OK)
		*out = value;
	return rc;
}

static enum ls_rc
set_u64(const struct setting *s, uint64_t *out)
{
	uint64_t value = 0;
	enum ls_rc rc = parse_u64(s, s->value, &value);

	if (rc == LS_OK)
		rc = check_u64(s, value);
	if (rc == LS_OK)
		*out = value;
	return rc;
}

static enum ls_rc
set_size(const struct setting *s, uint64_t *out)
{
	uint64_t value = 0;
	enum ls_rc rc = units_parse_size(s->value, &value, s->err);

	if (rc != LS_OK) {
		ls_err_wrap(s->err, "%s: %s", s->where, s->field->name);
		return rc;
	}
	rc = check_u64(s, value);
	if (rc == LS_OK)
		*out = value;
	return rc;
}

static enum ls_rc
set_duration(const struct setting *s, int64_t *out)
{
	int64_t value = 0;
	enum ls_rc rc = units_parse_duration(s->value, &value, s->err);

	if (rc != LS_OK) {
		ls_err_wrap(s->err, "%s: %s", s->where, s->field->name);
		return rc;
	}
	rc = check_i64(s, value);
	if (rc == LS_OK)
		*out = value;
	return rc;
}

static enum ls_rc
set_f64(const struct setting *s, double *out)
{
	char *end;

	if (s->value[0] == '\0' || s->value[strspn(s->value, "0123456789.eE+-")] != '\0')
		return refuse(s, LS_E_INVALID, "a number is meant"); /* neither hexadecimal nor nan */

	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (c == (locale_t)0)
		return ls_err_sys(s->err, errno, "%s: newlocale", s->where);
	double value = strtod_l(s->value, &end, c);
	freelocale(c);
	if (*end != '\0')
		return refuse(s, LS_E_INVALID, "a number is meant");
	if (!isfinite(value))
		return refuse(s, LS_E_RANGE, "the number is too large");
	*out = value;
	return LS_OK;
}

/* --- names ----------------------------------------------------------------------------------------------------------- */

static enum ls_rc
set_bool(const struct setting *s, bool *out)
{
	static const char *const names[] = { "no", "yes", "false", "true", "off", "on", "0", "1", NULL };
	int n = field_enum_value(names, s->value);

	if (n < 0)
		return refuse(s, LS_E_INVALID, "yes or no is meant");
	*out = n % 2 == 1;
	return LS_OK;
}

static enum ls_rc
set_enum(const struct setting *s, int *out)
{
	struct sink known = { 0 };
	int value = field_enum_value(s->field->names, s->value);

	if (value >= 0) {
		*out = value;
		return LS_OK;
	}
	sink_printf(&known, "known are");
	for (size_t i = 0; s->field->names[i] != NULL; i++)
		sink_printf(&known, "%s %s", i > 0 ? "," : "", s->field->names[i]);
	refuse(s, LS_E_INVALID, known.text);
	sink_free(&known);
	return LS_E_INVALID;
}

static enum ls_rc
check_text(const struct setting *s)
{
	if (s->field->kind == FIELD_STR && s->field->max > 0 && strlen(s->value) > (size_t)s->field->max)
		return ls_err_set(s->err, LS_E_RANGE, "%s: %s: longer than %" PRId64 " bytes", s->where, s->field->name,
		    s->field->max);
	return LS_OK;
}

static enum ls_rc
set_str(const struct setting *s, char **out)
{
	enum ls_rc rc = check_text(s);

	if (rc != LS_OK)
		return rc;
	free(*out);
	*out = ls_strdup(s->value);
	return LS_OK;
}

/* --- lists ----------------------------------------------------------------------------------------------------------- */

static size_t *
count_of(const struct field_desc *f, void *obj)
{
	return (size_t *)(void *)((char *)obj + f->count_offset);
}

static enum ls_rc
check_room(const struct setting *s, size_t count)
{
	if (s->field->max > 0 && count >= (size_t)s->field->max)
		return ls_err_set(s->err, LS_E_LIMIT, "%s: %s: more than %" PRId64 " are not possible", s->where,
		    s->field->name, s->field->max);
	return LS_OK;
}

static enum ls_rc
append_str(const struct setting *s, char ***items, size_t *count)
{
	enum ls_rc rc = check_room(s, *count);

	if (rc != LS_OK)
		return rc;
	*items = ls_grow(*items, *count, sizeof(**items));
	(*items)[(*count)++] = ls_strdup(s->value);
	return LS_OK;
}

static enum ls_rc
append_i64(const struct setting *s, int64_t **items, size_t *count)
{
	int64_t value = 0;
	enum ls_rc rc = parse_i64(s, &value);

	if (rc == LS_OK)
		rc = check_room(s, *count);
	if (rc != LS_OK)
		return rc;
	*items = ls_grow(*items, *count, sizeof(**items));
	(*items)[(*count)++] = value;
	return LS_OK;
}

static void
empty_list(const struct field_desc *f, void *obj)
{
	void **items = (void **)(void *)((char *)obj + f->offset);
	size_t *count = count_of(f, obj);

	for (size_t i = 0; i < *count && f->kind == FIELD_STR_LIST; i++)
		free(((char **)*items)[i]);
	free(*items);
	*items = NULL;
	*count = 0;
}

/* --- any kind -------------------------------------------------------------------------------------------------------- */

/* An empty value: an empty list, or not known. False when it is a value like any other. */
static bool
set_empty(const struct field_desc *f, void *obj)
{
	void *p = (char *)obj + f->offset;

	if (f->kind == FIELD_STR_LIST || f->kind == FIELD_I64_LIST) {
		empty_list(f, obj);
		return true;
	}
	if (f->kind == FIELD_STR && (f->dflt_str == NULL || (f->flags & FIELD_NULLABLE) != 0)) {
		free(*(char **)p);
		*(char **)p = NULL;
		return true;
	}
	if ((f->flags & FIELD_NULLABLE) == 0)
		return false;
	if (f->kind == FIELD_I64 || f->kind == FIELD_DURATION)
		*(int64_t *)p = LS_UNKNOWN_I64;
	else if (f->kind == FIELD_U64 || f->kind == FIELD_SIZE)
		*(uint64_t *)p = LS_UNKNOWN_U64;
	else if (f->kind == FIELD_F64)
		*(double *)p = (double)NAN;
	else
		return false;
	return true;
}

static enum ls_rc
set_field(const struct setting *s, void *obj)
{
	const struct field_desc *f = s->field;
	void *p = (char *)obj + f->offset;

	if (s->value[0] == '\0' && set_empty(f, obj))
		return LS_OK;
	switch (f->kind) {
	case FIELD_BOOL:
		return set_bool(s, p);
	case FIELD_I64:
		return set_i64(s, p);
	case FIELD_U64:
		return set_u64(s, p);
	case FIELD_SIZE:
		return set_size(s, p);
	case FIELD_DURATION:
		return set_duration(s, p);
	case FIELD_F64:
		return set_f64(s, p);
	case FIELD_ENUM:
		return set_enum(s, p);
	case FIELD_STR:
		return set_str(s, p);
	case FIELD_STR_LIST:
		return append_str(s, p, count_of(f, obj));
	case FIELD_I64_LIST:
		return append_i64(s, p, count_of(f, obj));
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT:
	case FIELD_STRUCT_PTR:
	case FIELD_STRUCT_LIST:
	case FIELD_KIND_COUNT:
		break;
	}
	return refuse(s, LS_E_INVALID, "this key has no text form");
}

enum ls_rc
conf_set(const struct struct_desc *desc, void *obj, const char *key, const char *value, const char *where,
    struct ls_err *err)
{
	struct setting s = { .field = field_find(desc, key), .where = where, .value = value, .err = err };
	const char *near = field_nearest(desc, key);

	if (s.field != NULL)
		return set_field(&s, obj);
	if (near != NULL)
		return ls_err_set(err, LS_E_INVALID, "%s: unknown key '%.64s'; did you mean '%s'?", where, key, near);
	return ls_err_set(err, LS_E_INVALID, "%s: unknown key '%.64s'", where, key);
}
