/*
 * Large documents without a tree of the whole. A tree takes 10 to 20 times the memory of the lists of integers that series and
 * histograms are. Here structs and their lists are walked along the text, lists of integers are read where they stand, and
 * jansson gets every other value by itself. This is the quick way for texts that are right: at the first thing that is not
 * expected it gives up, and the caller reads the text as a tree, which finds the error and names its place. What is accepted here
 * must be accepted there, with the same outcome (tests/fuzz/fuzz_results.c holds both against each other).
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec/json_int.h"

#define MAX_FIELDS 256 /* of one struct: each has a bit that says whether it was there */
#define MAX_DIGITS 18  /* integers of so many digits fit into 64 bits */

struct walk {
	const struct json_context *context;
	const char *p, *end;
};

static bool walk_struct(struct walk *w, const struct struct_desc *desc, void *obj);

static void
skip_space(struct walk *w)
{
	while (w->p < w->end && (*w->p == ' ' || *w->p == '\n' || *w->p == '\r' || *w->p == '\t'))
		w->p++;
}

/* Is that character next? It is passed then, with the blanks before and behind it. */
static bool
take(struct walk *w, char c)
{
	skip_space(w);
	if (w->p == w->end || *w->p != c)
		return false;
	w->p++;
	skip_space(w);
	return true;
}

static bool
is_next(const struct walk *w, char c)
{
	return w->p < w->end && *w->p == c;
}

/* A plain integer; what has a fraction, an exponent, needless zeros or too many digits is none. */
static bool
take_integer(struct walk *w, int64_t *out)
{
	const char *p = w->p;
	bool negative = p < w->end && *p == '-';
	const char *digits = p += negative;
	int64_t value = 0;

	for (; p < w->end && *p >= '0' && *p <= '9' && p - digits <= MAX_DIGITS; p++)
		value = p - digits < MAX_DIGITS ? 10 * value + (*p - '0') : value; /* one more is seen, not counted */
	if (p == digits || p - digits > MAX_DIGITS || (*digits == '0' && p - digits > 1))
		return false;
	if (p == w->end || strchr(",]} \t\r\n", *p) == NULL || *p == '\0')
		return false;
	*out = negative ? -value : value;
	w->p = p;
	return true;
}

/* --- values that jansson reads --- */

static json_t *
take_value(struct walk *w)
{
	json_error_t error;
	int64_t integer;

	if (take_integer(w, &integer))
		return json_integer(integer);
	json_t *value = json_loadb(
	    w->p, (size_t)(w->end - w->p), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
	if (value != NULL)
		w->p += error.position;
	return value;
}

static bool
walk_value(struct walk *w, const struct field_desc *field, void *obj)
{
	json_t *value = take_value(w);
	bool ok = value != NULL && json_tree_to_field(w->context, NULL, field, value, obj, NULL) == LS_OK;

	json_decref(value);
	return ok;
}

/* --- lists --- */

/* A list while it is read: what its member of the struct will hold. */
struct list {
	void **items;
	size_t *count;
	size_t size; /* of an element */
	int64_t max; /* 0: any number */
};

static struct list
list_of(const struct field_desc *field, void *obj, size_t size)
{
	return (struct list){ (void **)(void *)((char *)obj + field->offset),
		(size_t *)(void *)((char *)obj + field->count_offset), size, field->max };
}

/* Room for one more element, not yet counted; NULL when there may be none. */
static void *
list_next(const struct list *list)
{
	if (list->max > 0 && *list->count >= (size_t)list->max)
		return NULL;
	*list->items = ls_grow(*list->items, *list->count, list->size);
	return (char *)*list->items + *list->count * list->size;
}

static bool
walk_pair(struct walk *w, uint64_t *out)
{
	int64_t a;
	int64_t b;

	if (!take(w, '[') || !take_integer(w, &a) || !take(w, ',') || !take_integer(w, &b) || !take(w, ']'))
		return false;
	out[0] = (uint64_t)a;
	out[1] = (uint64_t)b;
	return a >= 0 && b >= 0;
}

static bool
walk_element(struct walk *w, const struct field_desc *field, void *out)
{
	if (field->kind == FIELD_I64_LIST)
		return take_integer(w, out);
	if (field->kind == FIELD_U64_PAIRS)
		return walk_pair(w, out);
	return walk_struct(w, field->sub, out);
}

static bool
walk_list(struct walk *w, const struct field_desc *field, void *obj, size_t size)
{
	struct list list = list_of(field, obj, size);

	if (!take(w, '['))
		return false;
	if (take(w, ']'))
		return true;
	do {
		void *element = list_next(&list);

		if (element == NULL || !walk_element(w, field, element))
			return false;
		(*list.count)++;
	} while (take(w, ','));
	return take(w, ']');
}

/* --- structs --- */

static bool
walk_struct_ptr(struct walk *w, const struct field_desc *field, void *obj)
{
	void **out = (void **)(void *)((char *)obj + field->offset);
	void *sub = ls_calloc(1, field->sub->size);

	if (!walk_struct(w, field->sub, sub)) {
		free(sub);
		return false;
	}
	*out = sub;
	return true;
}

/* Each member comes once at most, so that it still has its default here. */
static bool
walk_field(struct walk *w, const struct field_desc *field, void *obj)
{
	const struct struct_desc member = { .name = "", .fields = field, .field_count = 1 };

	if (field->kind == FIELD_STRUCT && is_next(w, '{')) {
		field_struct_fini(&member, obj);
		return walk_struct(w, field->sub, (char *)obj + field->offset);
	}
	if (field->kind == FIELD_STRUCT_PTR && is_next(w, '{'))
		return walk_struct_ptr(w, field, obj);
	if (field->kind == FIELD_STRUCT_LIST)
		return walk_list(w, field, obj, field->sub->size);
	if (field->kind == FIELD_I64_LIST)
		return walk_list(w, field, obj, sizeof(int64_t));
	if (field->kind == FIELD_U64_PAIRS)
		return walk_list(w, field, obj, 2 * sizeof(uint64_t));
	return walk_value(w, field, obj);
}

/* The field whose name is next, with the colon behind it; NULL: none of ours, or written in some other way. */
static const struct field_desc *
take_name(struct walk *w, const struct struct_desc *desc, size_t guess)
{
	const char *quote = is_next(w, '"') ? memchr(w->p + 1, '"', (size_t)(w->end - w->p - 1)) : NULL;

	if (quote == NULL)
		return NULL;
	size_t len = (size_t)(quote - w->p - 1);
	for (size_t i = 0; i < desc->field_count; i++) { /* members nearly always come in the order of the table */
		const struct field_desc *field = &desc->fields[(guess + i) % desc->field_count];

		if (strlen(field->name) != len || memcmp(field->name, w->p + 1, len) != 0)
			continue;
		w->p = quote + 1;
		return take(w, ':') ? field : NULL;
	}
	return NULL;
}

static bool
has_required(const struct struct_desc *desc, const uint64_t *seen)
{
	for (size_t i = 0; i < desc->field_count; i++)
		if ((desc->fields[i].flags & FIELD_REQUIRED) && !(seen[i / 64] >> (i % 64) & 1))
			return false;
	return true;
}

static bool
walk_members(struct walk *w, const struct struct_desc *desc, void *obj)
{
	uint64_t seen[MAX_FIELDS / 64] = { 0 };
	size_t next = 0;

	if (take(w, '}'))
		return has_required(desc, seen);
	do {
		const struct field_desc *field = take_name(w, desc, next);

		if (field == NULL)
			return false;
		size_t i = (size_t)(field - desc->fields);
		if (seen[i / 64] >> (i % 64) & 1)
			return false;
		seen[i / 64] |= UINT64_C(1) << (i % 64);
		next = i + 1;
		if (!walk_field(w, field, obj))
			return false;
	} while (take(w, ','));
	return take(w, '}') && has_required(desc, seen);
}

/* obj is uninitialised; when this fails nothing in it needs to be freed. */
static bool
walk_struct(struct walk *w, const struct struct_desc *desc, void *obj)
{
	if (desc->field_count > MAX_FIELDS || !take(w, '{'))
		return false;
	field_struct_init(desc, obj);
	if (walk_members(w, desc, obj))
		return true;
	field_struct_fini(desc, obj);
	return false;
}

bool
json_walk(const struct json_context *context, const struct struct_desc *desc, const char *text, size_t len, void *obj)
{
	struct walk w = { .context = context, .p = text, .end = text + len };

	if (!walk_struct(&w, desc, obj))
		return false;
	if (w.p == w.end)
		return true;
	field_struct_fini(desc, obj);
	return false;
}
