#include "common/base/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define DISTANCE_MAX_LEN 64
#define NEAREST_MAX      3

static void
field_init(const struct field_desc *f, void *obj)
{
	void *p = (char *)obj + f->offset;

	switch (f->kind) {
	case FIELD_BOOL:
		*(bool *)p = f->dflt != 0;
		break;
	case FIELD_I64:
	case FIELD_DURATION:
		*(int64_t *)p = f->dflt;
		break;
	case FIELD_U64:
	case FIELD_SIZE:
		*(uint64_t *)p = (uint64_t)f->dflt;
		break;
	case FIELD_F64:
		*(double *)p = f->dflt_f64;
		break;
	case FIELD_ENUM:
		*(int *)p = (int)f->dflt;
		break;
	case FIELD_STR:
		*(char **)p = ls_strdup(f->dflt_str);
		break;
	case FIELD_STRUCT:
		field_struct_init(f->sub, p);
		break;
	case FIELD_STRUCT_PTR:
		*(void **)p = NULL;
		break;
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		*(void **)p = NULL;
		*(size_t *)(void *)((char *)obj + f->count_offset) = 0;
		break;
	case FIELD_KIND_COUNT:
		break;
	}
}

void
field_struct_init(const struct struct_desc *desc, void *obj)
{
	memset(obj, 0, desc->size);
	for (size_t i = 0; i < desc->field_count; i++)
		field_init(&desc->fields[i], obj);
}

static void
free_list(const struct field_desc *f, void **items, size_t *count)
{
	if (*items != NULL) {
		for (size_t i = 0; i < *count && f->kind == FIELD_STR_LIST; i++)
			free(((char **)*items)[i]);
		for (size_t i = 0; i < *count && f->kind == FIELD_STRUCT_LIST; i++)
			field_struct_fini(f->sub, (char *)*items + i * f->sub->size);
		free(*items);
	}
	*items = NULL;
	*count = 0;
}

static void
field_fini(const struct field_desc *f, void *obj)
{
	void *p = (char *)obj + f->offset;

	switch (f->kind) {
	case FIELD_STR:
		free(*(char **)p);
		*(char **)p = NULL;
		break;
	case FIELD_STRUCT:
		field_struct_fini(f->sub, p);
		break;
	case FIELD_STRUCT_PTR:
		field_struct_fini(f->sub, *(void **)p);
		free(*(void **)p);
		*(void **)p = NULL;
		break;
	case FIELD_STR_LIST:
	case FIELD_I64_LIST:
	case FIELD_U64_PAIRS:
	case FIELD_STRUCT_LIST:
		free_list(f, (void **)p, (size_t *)(void *)((char *)obj + f->count_offset));
		break;
	case FIELD_BOOL:
	case FIELD_I64:
	case FIELD_U64:
	case FIELD_SIZE:
	case FIELD_DURATION:
	case FIELD_F64:
	case FIELD_ENUM:
	case FIELD_KIND_COUNT:
		break;
	}
}

void
field_struct_fini(const struct struct_desc *desc, void *obj)
{
	if (obj == NULL)
		return;
	for (size_t i = 0; i < desc->field_count; i++)
		field_fini(&desc->fields[i], obj);
}

const struct field_desc *
field_find(const struct struct_desc *desc, const char *name)
{
	for (size_t i = 0; i < desc->field_count; i++)
		if (strcmp(desc->fields[i].name, name) == 0)
			return &desc->fields[i];
	return NULL;
}

unsigned
field_distance(const char *a, const char *b)
{
	size_t la = strlen(a);
	size_t lb = strlen(b);
	unsigned row[DISTANCE_MAX_LEN + 1];

	if (la > DISTANCE_MAX_LEN || lb > DISTANCE_MAX_LEN)
		return DISTANCE_MAX_LEN;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned replaced = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = LS_MIN(LS_MIN(row[j], row[j - 1]) + 1, replaced);
		}
	}
	return row[lb];
}

const char *
field_nearest(const struct struct_desc *desc, const char *name)
{
	const char *best = NULL;
	unsigned best_distance = NEAREST_MAX + 1;

	for (size_t i = 0; i < desc->field_count; i++) {
		unsigned d = field_distance(desc->fields[i].name, name);

		if (d < best_distance) {
			best_distance = d;
			best = desc->fields[i].name;
		}
	}
	return best;
}

int
field_enum_value(const char *const *names, const char *name)
{
	for (int i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

const char *
field_enum_name(const char *const *names, int value)
{
	for (int i = 0; names[i] != NULL; i++)
		if (i == value)
			return names[i];
	return "?";
}
