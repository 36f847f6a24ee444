/*
 * The writer of JSON Schemas, for the files of this folder. Members are written one after the other:
 * schema_begin, then members, then schema_finish.
 */
#ifndef LS_PROTO_CODEC_SCHEMA_INT_H
#define LS_PROTO_CODEC_SCHEMA_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/field.h"
#include "common/base/sink.h"
#include "proto/codec/json.h"

struct schema {
	struct sink s;
	enum json_schema_use use;
	size_t level;
	bool first;                      /* no member of the open object was written yet */
	const struct struct_desc **need; /* structs that are referred to */
	size_t need_count;
};

/* Opens the document; ends it and returns its text, which the caller frees. */
void schema_begin(struct schema *w, enum json_schema_use use, const char *id, const char *title);
char *schema_finish(struct schema *w);

/* A member with a text; a member that is an object (name NULL: an element), until schema_end. */
void schema_text(struct schema *w, const char *name, const char *value);
void schema_object(struct schema *w, const char *name);
void schema_end(struct schema *w);

/* The members that describe a struct; type_name: that of its message, or NULL; top: it is the whole document. */
void schema_body(struct schema *w, const struct struct_desc *desc, const char *type_name, bool top);

/* Notes the structs that desc refers to; writes a definition for all that were noted and those they refer to in turn. */
void schema_need(struct schema *w, const struct struct_desc *desc);
void schema_needed(struct schema *w);

/* "oneOf" with references to these definitions. */
void schema_one_of(struct schema *w, char *const *names, size_t count);

#endif
