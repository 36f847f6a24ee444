#include "proto/codec/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec/json_int.h"
#include "proto/codec/schema_int.h"
#include "proto/model/phase.h"

#define SIZE_PATTERN     "^[0-9]+(\\\\.[0-9]+)? ?(B|[kKmMgGtTpP]|[KMGTP]iB|[kMGTP]B)?$"
#define DURATION_PATTERN "^[0-9]+(\\\\.[0-9]+)? ?(ns|us|ms|s|m|min|h|d)$"

/* --- members --- */

static void
key(struct schema *w, const char *name)
{
	if (!w->first)
		sink_add(&w->s, ",", 1);
	sink_add(&w->s, "\n", 1);
	sink_repeat(&w->s, ' ', 2 * w->level);
	json_write_string(&w->s, name);
	sink_add(&w->s, ": ", 2);
	w->first = false;
}

static void
open_object(struct schema *w)
{
	sink_add(&w->s, "{", 1);
	w->level++;
	w->first = true;
}

static void
close_object(struct schema *w)
{
	w->level--;
	if (!w->first) {
		sink_add(&w->s, "\n", 1);
		sink_repeat(&w->s, ' ', 2 * w->level);
	}
	sink_add(&w->s, "}", 1);
	w->first = false;
}

void
schema_text(struct schema *w, const char *name, const char *value)
{
	key(w, name);
	json_write_string(&w->s, value);
}

static void
integer(struct schema *w, const char *name, int64_t value)
{
	key(w, name);
	sink_printf(&w->s, "%" PRId64, value);
}

static void
raw(struct schema *w, const char *name, const char *value)
{
	key(w, name);
	sink_add(&w->s, value, strlen(value));
}

void
schema_object(struct schema *w, const char *name)
{
	if (name != NULL)
		key(w, name);
	open_object(w);
}

void
schema_end(struct schema *w)
{
	close_object(w);
}

/* --- kinds of fields --- */

static bool
is_nullable(const struct field_desc *field)
{
	return (field->flags & FIELD_NULLABLE) != 0;
}

static void
type(struct schema *w, const struct field_desc *field, const char *name)
{
	key(w, "type");
	sink_printf(&w->s, is_nullable(field) ? "[\"%s\", \"null\"]" : "\"%s\"", name);
}

/* int64's own ends are no limits worth printing, and JavaScript could not read them exactly. */
static void
limits(struct schema *w, const struct field_desc *field)
{
	bool is_unsigned = field->kind == FIELD_U64 || field->kind == FIELD_SIZE || field->kind == FIELD_DURATION;
	bool any = field->min != 0 || field->max != 0;

	if (any ? field->min != INT64_MIN : is_unsigned)
		integer(w, "minimum", any ? field->min : 0);
	if (any && field->max != INT64_MAX)
		integer(w, "maximum", field->max);
}

/* A number with a unit. In files, a bare number would be a size in bytes, but no duration: 5 means seconds to people. */
static void
quantity(struct schema *w, const struct field_desc *field)
{
	bool size = field->kind == FIELD_SIZE;

	if (w->use == JSON_SCHEMA_DOCUMENT) {
		type(w, field, "integer");
		limits(w, field);
		return;
	}
	key(w, "anyOf");
	sink_add(&w->s, "[", 1);
	open_object(w);
	if (!size && w->use == JSON_SCHEMA_FILE) {
		integer(w, "const", 0);
	} else {
		type(w, field, "integer");
		limits(w, field);
	}
	close_object(w);
	sink_add(&w->s, ", ", 2);
	open_object(w);
	raw(w, "type", "\"string\"");
	raw(w, "pattern", size ? "\"" SIZE_PATTERN "\"" : "\"" DURATION_PATTERN "\"");
	close_object(w);
	sink_add(&w->s, "]", 1);
}

static void
enumeration(struct schema *w, const struct field_desc *field)
{
	key(w, "enum");
	sink_add(&w->s, "[", 1);
	for (int i = 0; field->names[i] != NULL; i++) {
		if (i > 0)
			sink_add(&w->s, ", ", 2);
		json_write_string(&w->s, field->names[i]);
	}
	sink_add(&w->s, "]", 1);
}

static void
reference(struct schema *w, const struct struct_desc *sub)
{
	key(w, "$ref");
	sink_printf(&w->s, "\"#/$defs/%s\"", sub->name);
}

static void
list(struct schema *w, const struct field_desc *field)
{
	raw(w, "type", "\"array\"");
	if (field->max > 0)
		integer(w, "maxItems", field->max);
	schema_object(w, "items");
	if (field->kind == FIELD_STR_LIST) {
		raw(w, "type", "\"string\"");
	} else if (field->kind == FIELD_I64_LIST) {
		raw(w, "type", "\"integer\"");
	} else if (field->kind == FIELD_STRUCT_LIST) {
		reference(w, field->sub);
	} else {
		raw(w, "type", "\"array\"");
		raw(w, "items", "{ \"type\": \"integer\", \"minimum\": 0 }");
		raw(w, "minItems", "2");
		raw(w, "maxItems", "2");
	}
	schema_end(w);
}

static void
text_field(struct schema *w, const struct field_desc *field)
{
	type(w, field, "string");
	if (field->max > 0)
		integer(w, "maxLength", field->max);
}

static void
struct_pointer(struct schema *w, const struct field_desc *field)
{
	key(w, "anyOf");
	sink_printf(&w->s, "[{ \"$ref\": \"#/$defs/%s\" }, { \"type\": \"null\" }]", field->sub->name);
}

static void
field_kind(struct schema *w, const struct field_desc *field)
{
	switch (field->kind) {
	case FIELD_BOOL:
		raw(w, "type", "\"boolean\"");
		break;
	case FIELD_I64:
	case FIELD_U64:
		type(w, field, "integer");
		limits(w, field);
		break;
	case FIELD_SIZE:
	case FIELD_DURATION:
		quantity(w, field);
		break;
	case FIELD_F64:
		type(w, field, "number");
		break;
	case FIELD_ENUM:
		enumeration(w, field);
		break;
	case FIELD_STR:
		text_field(w, field);
		break;
	case FIELD_STRUCT:
		reference(w, field->sub);
		break;
	case FIELD_STRUCT_PTR:
		struct_pointer(w, field);
		break;
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		list(w, field);
		break;
	case FIELD_KIND_COUNT:
		break;
	}
}

/* One kind of phase, and the parameters that it must not have. */
static void
kind_rule(struct schema *w, const struct struct_desc *desc, enum phase_kind kind)
{
	open_object(w);
	raw(w, "if", "{ \"properties\": { \"kind\": { \"const\": ");
	json_write_string(&w->s, phase_kind_names[kind]);
	sink_add(&w->s, " } } }", 6);
	schema_object(w, "then");
	schema_object(w, "properties");
	for (size_t i = 0; i < desc->field_count; i++)
		if (!phase_field_applies(&desc->fields[i], kind))
			raw(w, desc->fields[i].name, "false");
	schema_end(w);
	schema_end(w);
	close_object(w);
}

static void
kind_rules(struct schema *w, const struct struct_desc *desc)
{
	key(w, "allOf");
	sink_add(&w->s, "[", 1);
	for (int kind = 0; kind < PHASE_KIND_COUNT; kind++) {
		if (kind > 0)
			sink_add(&w->s, ", ", 2);
		kind_rule(w, desc, (enum phase_kind)kind);
	}
	sink_add(&w->s, "]", 1);
	w->first = false;
}

/* What a field is when it is left out: only where it may be. */
static void
field_default(struct schema *w, const struct field_desc *field)
{
	if (w->use == JSON_SCHEMA_DOCUMENT || (field->flags & (FIELD_REQUIRED | FIELD_NULLABLE)))
		return;
	if (field->kind == FIELD_BOOL)
		raw(w, "default", field->dflt ? "true" : "false");
	else if (field->kind == FIELD_I64 || field->kind == FIELD_U64 || field->kind == FIELD_SIZE ||
	    (field->kind == FIELD_DURATION && (field->dflt == 0 || w->use != JSON_SCHEMA_FILE)))
		integer(w, "default", field->dflt);
	else if (field->kind == FIELD_DURATION && field->dflt % NS_PER_S == 0) {
		key(w, "default");
		sink_printf(&w->s, "\"%" PRId64 "s\"", (int64_t)(field->dflt / NS_PER_S));
	} else if (field->kind == FIELD_ENUM)
		schema_text(w, "default", field->names[field->dflt]);
	else if (field->kind == FIELD_STR && field->dflt_str != NULL && field->dflt_str[0] != '\0')
		schema_text(w, "default", field->dflt_str);
}

static bool
is_required(const struct schema *w, const struct field_desc *field)
{
	/* what belongs to some kinds of phases only is there only with them */
	if (w->use == JSON_SCHEMA_DOCUMENT)
		return !(field->flags & (FIELD_OMIT_EMPTY | PHASE_GROUPS));
	return (field->flags & FIELD_REQUIRED) != 0;
}

static void
required(struct schema *w, const struct struct_desc *desc, const char *type_name)
{
	bool any = type_name != NULL;

	for (size_t i = 0; i < desc->field_count; i++)
		any = any || is_required(w, &desc->fields[i]);
	if (!any)
		return;
	key(w, "required");
	sink_printf(&w->s, "[%s", type_name != NULL ? "\"type\"" : "");
	any = type_name != NULL;
	for (size_t i = 0; i < desc->field_count; i++) {
		if (!is_required(w, &desc->fields[i]))
			continue;
		sink_printf(&w->s, "%s\"%s\"", any ? ", " : "", desc->fields[i].name);
		any = true;
	}
	sink_add(&w->s, "]", 1);
}

void
schema_body(struct schema *w, const struct struct_desc *desc, const char *type_name, bool top)
{
	schema_text(w, "description", desc->help);
	raw(w, "type", "\"object\"");
	required(w, desc, type_name);
	if (w->use == JSON_SCHEMA_FILE)
		raw(w, "additionalProperties", "false");
	schema_object(w, "properties");
	if (type_name != NULL) {
		schema_object(w, "type");
		schema_text(w, "const", type_name);
		schema_end(w);
	}
	if (top && w->use == JSON_SCHEMA_FILE)
		raw(w, "$schema", "{ \"type\": \"string\", \"description\": \"where an editor finds this schema\" }");
	for (size_t i = 0; i < desc->field_count; i++) {
		const struct field_desc *field = &desc->fields[i];

		schema_object(w, field->name);
		schema_text(w, "description", field->help);
		field_kind(w, field);
		field_default(w, field);
		schema_end(w);
	}
	schema_end(w);
	if (desc == &phase_desc && w->use == JSON_SCHEMA_FILE)
		kind_rules(w, desc);
}

/* --- definitions --- */

void
schema_need(struct schema *w, const struct struct_desc *desc)
{
	for (size_t i = 0; i < desc->field_count; i++) {
		const struct struct_desc *sub = desc->fields[i].sub;
		bool known = sub == NULL;

		for (size_t j = 0; j < w->need_count && !known; j++)
			known = w->need[j] == sub;
		if (known)
			continue;
		w->need = ls_grow(w->need, w->need_count, sizeof(const struct struct_desc *));
		w->need[w->need_count++] = sub;
	}
}

void
schema_needed(struct schema *w)
{
	/* a definition may need more, which goes to the end of the list */
	for (size_t i = 0; i < w->need_count; i++) {
		schema_need(w, w->need[i]);
		schema_object(w, w->need[i]->name);
		schema_body(w, w->need[i], NULL, false);
		schema_end(w);
	}
}

void
schema_one_of(struct schema *w, char *const *names, size_t count)
{
	key(w, "oneOf");
	sink_add(&w->s, "[", 1);
	for (size_t i = 0; i < count; i++)
		sink_printf(&w->s, "%s{ \"$ref\": \"#/$defs/%s\" }", i > 0 ? ", " : "", names[i]);
	sink_add(&w->s, "]", 1);
}

void
schema_begin(struct schema *w, enum json_schema_use use, const char *id, const char *title)
{
	*w = (struct schema){ .use = use };
	schema_object(w, NULL);
	schema_text(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	schema_text(w, "$id", id);
	schema_text(w, "title", title);
}

char *
schema_finish(struct schema *w)
{
	schema_end(w);
	sink_add(&w->s, "\n", 1);
	free(w->need);
	return w->s.text;
}

char *
json_schema(const struct struct_desc *desc, enum json_schema_use use, const char *id, const char *title)
{
	struct schema w;

	schema_begin(&w, use, id, title);
	schema_body(&w, desc, NULL, true);
	schema_need(&w, desc);
	if (w.need_count > 0) {
		schema_object(&w, "$defs");
		schema_needed(&w);
		schema_end(&w);
	}
	return schema_finish(&w);
}
