/*
 * Descriptors of plain structs: for each member its name outside (JSON key, configuration key), kind, limits, default
 * and a sentence of help. One table per struct serves JSON in both directions, JSON Schema, configuration files,
 * --help, manual pages and the release of what the struct owns. No JSON here, no files.
 *
 * A struct and its table come from one .def file, see field_decl.h and field_table.h.
 *
 * Unknown: members marked FIELD_NULLABLE hold a sentinel when the value is not known, written as null: LS_UNKNOWN_I64,
 * LS_UNKNOWN_U64, NAN, a NULL pointer. A field without FIELD_NULLABLE is never null outside.
 */
#ifndef LS_COMMON_BASE_FIELD_H
#define LS_COMMON_BASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/defs.h"

#define LS_UNKNOWN_I64 INT64_MIN
#define LS_UNKNOWN_U64 UINT64_MAX

enum field_kind {
	FIELD_BOOL = 0,    /* bool */
	FIELD_I64,         /* int64_t */
	FIELD_U64,         /* uint64_t */
	FIELD_SIZE,        /* uint64_t bytes; from outside an integer or "64KiB", written as an integer */
	FIELD_DURATION,    /* int64_t ns; from outside an integer or "100ms", written as an integer */
	FIELD_F64,         /* double; NAN is unknown; inf is never written */
	FIELD_ENUM,        /* int; outside a name from names[] */
	FIELD_STR,         /* char *, owned; limit max is in bytes */
	FIELD_STR_LIST,    /* char **, owned, and its size_t count at count_offset */
	FIELD_I64_LIST,    /* int64_t *, owned, and count */
	FIELD_U64_PAIRS,   /* uint64_t *, owned: [[a,b],...] outside; count counts pairs */
	FIELD_STRUCT,      /* an embedded struct described by sub */
	FIELD_STRUCT_PTR,  /* a struct on the heap, owned, or NULL (null outside) */
	FIELD_STRUCT_LIST, /* an array on the heap, owned, and count */
	FIELD_KIND_COUNT
};

enum field_flags {
	FIELD_REQUIRED = 1 << 0, /* must be there when decoded from outside */
	FIELD_NULLABLE = 1 << 1, /* may be null: the sentinel of its kind */
	FIELD_OMIT_EMPTY =
	    1 << 2, /* left out when written if NULL, unknown, an empty list, or false or a duration at its default */
	FIELD_RESTART = 1 << 3, /* configuration: a changed value needs a restart */
	FIELD_GROUP_SHIFT = 8   /* bits 8..: groups of kinds that the field belongs to, see phase_kind.h */
};

struct struct_desc;

struct field_desc {
	const char *name;
	enum field_kind kind;
	unsigned flags;
	size_t offset;
	size_t count_offset;           /* lists only: where the size_t count stands */
	int64_t min, max;              /* numbers: the value; strings: bytes; lists: elements. max 0 with min 0: none */
	int64_t dflt;                  /* integers, bool, enum */
	double dflt_f64;               /* FIELD_F64 */
	const char *dflt_str;          /* FIELD_STR, may be NULL */
	const char *const *names;      /* FIELD_ENUM: names by value, NULL-terminated */
	const struct struct_desc *sub; /* FIELD_STRUCT* */
	const char *help;
};

struct struct_desc {
	const char *name;
	const char *help;
	size_t size;
	const struct field_desc *fields;
	size_t field_count;
};

/* Sets every member to its default (strings are copied, lists empty, FIELD_STRUCT recursively). obj is uninitialised. */
void field_struct_init(const struct struct_desc *desc, void *obj);

/* Frees what the members own and leaves them empty. obj may be zeroed or half-filled; NULL is allowed. */
void field_struct_fini(const struct struct_desc *desc, void *obj);

/* The field of that name, or NULL. */
const struct field_desc *field_find(const struct struct_desc *desc, const char *name);

/* The name nearest to a misspelt one among the fields, for "did you mean"; NULL when none is near (distance above 3). */
const char *field_nearest(const struct struct_desc *desc, const char *name);

/* The value of an enum name, or -1. The name of a value, or "?" when out of range. */
int field_enum_value(const char *const *names, const char *name);
const char *field_enum_name(const char *const *names, int value);

/* Edit distance (Levenshtein) of two strings of at most 64 bytes, else 64. */
unsigned field_distance(const char *a, const char *b);

#endif
