#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/conf/conf.h"

#define VALUE_BYTES 64

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first. */
static const struct unit size_units[] = { { "TiB", 1ULL << 40 }, { "GiB", 1ULL << 30 }, { "MiB", 1ULL << 20 },
	{ "KiB", 1ULL << 10 }, { "", 1 } };
static const struct unit duration_units[] = { { "d", 86400 * (uint64_t)NS_PER_S }, { "h", 3600 * (uint64_t)NS_PER_S },
	{ "m", 60 * (uint64_t)NS_PER_S }, { "s", (uint64_t)NS_PER_S }, { "ms", (uint64_t)NS_PER_MS },
	{ "us", (uint64_t)NS_PER_US }, { "ns", 1 } };

/* In the largest unit that loses nothing. */
static void
format_exact(char *buf, size_t len, uint64_t value, const struct unit *units)
{
	while (value == 0 ? units->factor != 1 : value % units->factor != 0)
		units++;
	snprintf(buf, len, "%" PRIu64 "%s", value / units->factor, units->name);
}

static void
format_f64(char *buf, size_t len, double value)
{
	snprintf(buf, len, "%.17g", value);
	char *comma = strchr(buf, ','); /* whatever the locale says */
	if (comma != NULL)
		*comma = '.';
}

static void
format_i64(char *buf, size_t len, const struct field_desc *f, int64_t value)
{
	if (f->kind == FIELD_BOOL)
		snprintf(buf, len, "%s", value != 0 ? "yes" : "no");
	else if (f->kind == FIELD_ENUM)
		snprintf(buf, len, "%s", field_enum_name(f->names, (int)value));
	else if (f->kind == FIELD_SIZE)
		format_exact(buf, len, (uint64_t)value, size_units);
	else if (f->kind == FIELD_DURATION && value >= 0)
		format_exact(buf, len, (uint64_t)value, duration_units);
	else if (f->kind == FIELD_U64)
		snprintf(buf, len, "%" PRIu64, (uint64_t)value);
	else
		snprintf(buf, len, "%" PRId64, value);
}

/* The value of a key that is not a list into buf, or NULL when it is unknown. Strings are borrowed. */
static const char *
value_text(const struct field_desc *f, const void *obj, char *buf, size_t len)
{
	const void *p = (const char *)obj + f->offset;
	bool nullable = (f->flags & FIELD_NULLABLE) != 0;

	switch (f->kind) {
	case FIELD_STR:
		return *(char *const *)p;
	case FIELD_BOOL:
		format_i64(buf, len, f, *(const bool *)p);
		return buf;
	case FIELD_ENUM:
		format_i64(buf, len, f, *(const int *)p);
		return buf;
	case FIELD_I64:
	case FIELD_DURATION:
		format_i64(buf, len, f, *(const int64_t *)p);
		return nullable && *(const int64_t *)p == LS_UNKNOWN_I64 ? NULL : buf;
	case FIELD_U64:
	case FIELD_SIZE:
		format_i64(buf, len, f, (int64_t) * (const uint64_t *)p);
		return nullable && *(const uint64_t *)p == LS_UNKNOWN_U64 ? NULL : buf;
	case FIELD_F64:
		format_f64(buf, len, *(const double *)p);
		return isnan(*(const double *)p) ? NULL : buf;
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT:
	case FIELD_STRUCT_PTR:
	case FIELD_STRUCT_LIST:
	case FIELD_KIND_COUNT:
		break;
	}
	return NULL;
}

static void
print_list(const struct field_desc *f, const void *obj, FILE *out)
{
	size_t count = *(const size_t *)(const void *)((const char *)obj + f->count_offset);
	const void *items = *(void *const *)(const void *)((const char *)obj + f->offset);

	if (count == 0)
		fprintf(out, "# %s =\n", f->name);
	for (size_t i = 0; i < count && f->kind == FIELD_STR_LIST; i++)
		fprintf(out, "%s = %s\n", f->name, ((char *const *)items)[i]);
	for (size_t i = 0; i < count && f->kind == FIELD_I64_LIST; i++)
		fprintf(out, "%s = %" PRId64 "\n", f->name, ((const int64_t *)items)[i]);
}

static const char *
kind_text(const struct field_desc *f)
{
	static const char *const texts[FIELD_KIND_COUNT] = {
		[FIELD_BOOL] = "yes or no",
		[FIELD_I64] = "integer",
		[FIELD_U64] = "integer",
		[FIELD_SIZE] = "size such as 64KiB",
		[FIELD_DURATION] = "duration such as 100ms",
		[FIELD_F64] = "number",
		[FIELD_ENUM] = "one of",
		[FIELD_STR] = "text",
		[FIELD_STR_LIST] = "text, may be repeated",
		[FIELD_I64_LIST] = "integer, may be repeated",
	};

	return f->kind < FIELD_KIND_COUNT ? texts[f->kind] : NULL;
}

static bool
is_number(const struct field_desc *f)
{
	return f->kind == FIELD_I64 || f->kind == FIELD_U64 || f->kind == FIELD_SIZE || f->kind == FIELD_DURATION;
}

static const char *
default_text(const struct field_desc *f, char *buf, size_t len)
{
	bool unknown = (f->kind == FIELD_I64 || f->kind == FIELD_DURATION) && f->dflt == LS_UNKNOWN_I64;

	unknown = unknown || ((f->kind == FIELD_U64 || f->kind == FIELD_SIZE) && (uint64_t)f->dflt == LS_UNKNOWN_U64);
	if (f->kind == FIELD_STR)
		return f->dflt_str;
	if (f->kind == FIELD_F64 && !isnan(f->dflt_f64))
		format_f64(buf, len, f->dflt_f64);
	else if ((is_number(f) && !unknown) || f->kind == FIELD_BOOL || f->kind == FIELD_ENUM)
		format_i64(buf, len, f, f->dflt);
	else
		return NULL;
	return buf;
}

static void
print_help(const struct field_desc *f, FILE *out)
{
	char buf[VALUE_BYTES];
	const char *dflt = default_text(f, buf, sizeof(buf));

	fprintf(out, "\n# %s\n# (%s", f->help, kind_text(f));
	for (size_t i = 0; f->kind == FIELD_ENUM && f->names[i] != NULL; i++)
		fprintf(out, " %s", f->names[i]);
	if (dflt != NULL)
		fprintf(out, "; default %s", dflt);
	if (is_number(f) && (f->min != 0 || f->max != 0)) {
		format_i64(buf, sizeof(buf), f, f->min);
		fprintf(out, "; from %s", buf);
		format_i64(buf, sizeof(buf), f, f->max);
		fprintf(out, " to %s", buf);
	}
	fprintf(out, "%s%s)\n", (f->flags & FIELD_REQUIRED) != 0 ? "; required" : "",
	    (f->flags & FIELD_RESTART) != 0 ? "; a change needs a restart" : "");
}

static void
print_value(const struct field_desc *f, const void *obj, FILE *out)
{
	char buf[VALUE_BYTES];
	const char *value = value_text(f, obj, buf, sizeof(buf));

	if (value != NULL && value[0] != '\0') {
		fprintf(out, "%s = %s\n", f->name, value);
		return;
	}

	const char *dflt = default_text(f, buf, sizeof(buf));
	bool as_default = dflt == NULL || dflt[0] == '\0';
	fprintf(out, "%s%s =\n", as_default ? "# " : "", f->name);
}

void
conf_print(const char *section, const struct struct_desc *desc, const void *obj, bool with_help, FILE *out)
{
	fprintf(out, "[%s]\n", section);
	for (size_t i = 0; i < desc->field_count; i++) {
		const struct field_desc *f = &desc->fields[i];

		if (kind_text(f) == NULL)
			continue; /* has no text form */
		if (with_help)
			print_help(f, out);
		if (f->kind == FIELD_STR_LIST || f->kind == FIELD_I64_LIST) {
			print_list(f, obj, out);
			continue;
		}

		print_value(f, obj, out);
	}
}
