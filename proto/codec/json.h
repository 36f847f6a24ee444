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
	JSON_UNKNOWN_REFUSED,	  /* files that people write: names the key and the nearest known one */
};

/*
 * Decodes len bytes into obj (uninitialised; initialised with defaults here; on error nothing needs to be freed).
 * what: name for errors, e.g. the file's. Errors: LS_E_INVALID (syntax: "line 3 column 7: ..."), LS_E_RANGE.
 */
enum ls_rc json_decode_struct(const struct struct_desc *desc, const char *text, size_t len, enum json_unknown unknown,
    const char *what, void *obj, struct ls_err *err) LS_MUST_CHECK;

/*
 * JSON text of obj: ASCII, members in table order, compact or indented by two blanks. NAN and unknown are null, integers
 * exact, doubles with up to 17 significant digits and never inf. Heap, NUL-terminated, the caller frees it. Locale does
 * not matter. Never fails.
 */
char *json_encode_struct(const struct struct_desc *desc, const void *obj, bool indent, size_t *out_len);

/*
 * A JSON Schema (draft 2020-12) of the struct, with titles, limits, defaults and descriptions; sub-structs go to $defs.
 * id: its $id. Heap, the caller frees it.
 */
char *json_schema(const struct struct_desc *desc, const char *id, const char *title);

#endif
