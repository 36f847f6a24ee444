/*
 * What the files of this folder share: jansson's trees to structs, the text writer. Not for other folders.
 */
#ifndef LS_PROTO_CODEC_JSON_INT_H
#define LS_PROTO_CODEC_JSON_INT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "common/base/sink.h"
#include "proto/codec/json.h"

/* Where in a document: a chain on the stack from the inside out, written only when something is wrong. */
struct json_place {
	const struct json_place *parent; /* NULL: the document */
	const char *name;                /* a member, or NULL: an element */
	size_t index;
};

/* What a decoding is about. */
struct json_context {
	const char *what; /* begins each error; NULL: nothing */
	enum json_unknown unknown;
};

/*
 * The tree of len bytes of text; the caller ends it with json_decref. Errors name line and column. LS_E_INVALID, LS_E_LIMIT
 * with more than max_values (0: any number).
 */
enum ls_rc json_text_parse(
    const char *text, size_t len, size_t max_values, const char *what, json_t **out, struct ls_err *err) LS_MUST_CHECK;

/* The tree of any JSON value, not only of objects and lists, or NULL when text is none. The caller ends it. */
json_t *json_value_parse(const char *text);

/*
 * Fills obj (uninitialised) from a text that is within the limits of json_text_parse, without a tree of the whole. False: nothing
 * was done, and the text has to be read as a tree, be it that it is wrong or just not written as lockstep writes.
 */
bool json_walk(
    const struct json_context *context, const struct struct_desc *desc, const char *text, size_t len, void *obj);

/* The limits of json_text_parse by themselves. */
enum ls_rc json_text_check(
    const char *text, size_t len, size_t max_values, const char *what, struct ls_err *err) LS_MUST_CHECK;

/* Fills obj (uninitialised) from an object. On error nothing needs to be freed. */
enum ls_rc json_tree_to_struct(const struct json_context *context, const struct json_place *place,
    const struct struct_desc *desc, json_t *tree, void *obj, struct ls_err *err) LS_MUST_CHECK;

/* Fills one member of obj (initialised; what the member held is freed), as above. */
enum ls_rc json_tree_to_field(const struct json_context *context, const struct json_place *place,
    const struct field_desc *field, json_t *tree, void *obj, struct ls_err *err) LS_MUST_CHECK;

/* "what: a.b[2].c: <sentence>" in err; returns rc. */
enum ls_rc json_error(const struct json_context *context, const struct json_place *place, struct ls_err *err,
    enum ls_rc rc, const char *fmt, ...) LS_PRINTF(5, 6);

/* Refuses a key that desc does not have: unknown key "x", did you mean "y"? */
enum ls_rc json_unknown_key(const struct json_context *context, const struct json_place *place,
    const struct struct_desc *desc, const char *key, struct ls_err *err);

/* Text of obj, with a first member "type" unless type is NULL, appended to s. */
void json_write_struct(struct sink *s, const struct struct_desc *desc, const void *obj, const char *type, bool indent);

/* A JSON string, quotes included; text NULL is written as "". */
void json_write_string(struct sink *s, const char *text);

#endif
