/*
 * Between JSON text and any struct with a field table: the one door to jansson. Strict: duplicate keys, trailing text,
 * wrong kinds and values out of limits are errors that name the place ("phases[2].record_size").
 */
#ifndef LS_PROTO_CODEC_JSON_H
#define LS_PROTO_CODEC_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/field.h"

enum json_unknown {
	JSON_UNKNOWN_IGNORED = 0, /* the wire: newer peers may say more */
	JSON_UNKNOWN_REFUSED,     /* files that people write: names the key and the nearest known one */
};

/* Structures nest no deeper than this, anywhere. */
#define JSON_DEPTH_MAX 32

/* Values in one text from a peer: more cost too much to look at (1 MiB of "{}," takes 300 ms and 80 MB). */
#define JSON_VALUES_WIRE 300000

/*
 * Decodes len bytes into obj (uninitialised; initialised with defaults here; on error nothing needs to be freed).
 * what: name for errors, e.g. the file's. Errors: LS_E_INVALID (syntax: "line 3 column 7: ..."), LS_E_RANGE.
 * Sizes and durations may be texts ("64KiB", "5s"); with JSON_UNKNOWN_REFUSED, a duration other than 0 must be one.
 */
enum ls_rc json_decode_struct(const struct struct_desc *desc, const char *text, size_t len, enum json_unknown unknown,
    const char *what, void *obj, struct ls_err *err) LS_MUST_CHECK;

/*
 * The same with a limit on the number of values (objects, lists, their members) in the text, counted before anything is
 * built from it: for what comes from peers. max_values 0: no limit. Errors also: LS_E_LIMIT.
 */
enum ls_rc json_decode_struct_max(const struct struct_desc *desc, const char *text, size_t len,
    enum json_unknown unknown, size_t max_values, const char *what, void *obj, struct ls_err *err) LS_MUST_CHECK;

/*
 * JSON text of obj: ASCII, members in table order, compact or indented by two blanks. NAN and unknown are null, integers
 * exact (what is above 2^63-1 is written as that), doubles with up to 17 significant digits, inf as null. Bytes that are no
 * UTF-8, as file names may have, become U+FFFD. Parameters that do not apply to a phase's kind are left out. Heap, NUL-terminated, the caller frees it. Locale does not matter. Never
 * fails. out_len may be NULL.
 */
char *json_encode_struct(const struct struct_desc *desc, const void *obj, bool indent, size_t *out_len);

enum json_schema_use {
	JSON_SCHEMA_FILE = 0, /* what people write: no other keys, sizes and durations also as "64KiB", "5s" */
	JSON_SCHEMA_WIRE,     /* what peers send: other keys are ignored */
	JSON_SCHEMA_DOCUMENT, /* what lockstep writes: every member is there unless it may be left out */
};

/*
 * A JSON Schema (draft 2020-12) of the struct, with titles, limits, defaults and descriptions; sub-structs go to $defs.
 * id: its $id. Heap, the caller frees it.
 */
char *json_schema(const struct struct_desc *desc, enum json_schema_use use, const char *id, const char *title);

/* Version of jansson that is in use, as it says itself: "2.14". Static text. */
const char *json_library(void);

#endif
