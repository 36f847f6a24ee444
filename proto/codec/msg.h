/*
 * Messages of protocol lockstep/1 as C structs, and their way into and out of JSON text. Knows nothing of sockets.
 * A frame on the wire is a 4-byte big-endian length (common/base/frame.h) and that many bytes of what msg_encode makes.
 */
#ifndef LS_PROTO_CODEC_MSG_H
#define LS_PROTO_CODEC_MSG_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/base/field.h"
#include "proto/model/results.h"

#define MSG_PROTOCOL_MAJOR    1
#define MSG_PROTOCOL_MINOR    0
#define MSG_ALPN              "lockstep/1"
#define MSG_ALPN_ENROLL       "lockstep-enroll/1" /* without a client's certificate: enroll and nothing else */
#define MSG_FRAME_MAX         (1024 * 1024)       /* bytes of JSON in a frame */
#define MSG_HELLO_MAX         4096                /* before welcome */
#define MSG_HELLO_TIMEOUT_NS  (10 * NS_PER_S)
#define MSG_RESULT_PART_BYTES 49152 /* document bytes per result-part: escaped it stays below 64 KiB in practice */

enum msg_direction {
	MSG_TO_COORDINATOR = 1,
	MSG_TO_AGENT = 2,
	MSG_TO_RUNNER = 4,
	MSG_TO_OPERATOR = 8,
	MSG_TO_ANY = 15,
};

enum check_level {
	CHECK_OK = 0,
	CHECK_WARNING,
	CHECK_FAILED,
};

enum done_outcome {
	DONE_OK = 0,
	DONE_REFUSED,
	DONE_FAILED,
};

extern const char *const check_level_names[];

/* What came of a lock in the test between nodes. */
enum lock_outcome {
	LOCK_UNTRIED,
	LOCK_HELD,    /* the first node has it */
	LOCK_REFUSED, /* another node holds it: what a lock of the whole cluster answers */
	LOCK_GRANTED, /* it was to be had although the first node has it */
	LOCK_MISSING, /* the file system knows no such lock */
	LOCK_OUTCOMES,
};
extern const char *const lock_outcome_names[];
extern const char *const done_outcome_names[];

#include "common/base/field_none.h"
#define MSG_BEGIN(ID, id, name, dirs, help) MSG_##ID,
#define MSG_END(ID, id)
enum msg_type {
#include "proto/codec/messages.def"
	MSG_TYPE_COUNT
};
#undef MSG_BEGIN
#undef MSG_END
#include "common/base/field_undef.h"

#define MSG_WITH_PARTS
#define MSG_BEGIN(ID, id, name, dirs, help) S_BEGIN(msg_##id, help)
#define MSG_END(ID, id)                     S_END(msg_##id)
#include "common/base/field_decl.h"
#include "proto/codec/messages.def"
#include "common/base/field_undef.h"
#undef MSG_BEGIN
#undef MSG_END
#undef MSG_WITH_PARTS

struct msg_info {
	enum msg_type type;
	const char *name;
	unsigned directions; /* enum msg_direction, who may receive it */
	const struct struct_desc *desc;
	const char *help;
};

/* The row of a type (in range). Static. */
const struct msg_info *msg_info(enum msg_type type);

/* The row of that name, or NULL. */
const struct msg_info *msg_find(const char *name);

/* A decoded message: type says which struct body points to. */
struct msg {
	enum msg_type type;
	void *body; /* struct msg_<id>, owned */
};

/*
 * One JSON object from len bytes of text (need not be terminated). to: the direction of the receiver; a type that does
 * not go there is LS_E_PROTO. Unknown fields are ignored; an unknown type is LS_E_NOTFOUND; malformed text, duplicate
 * keys, wrong kinds, values out of their limits and depth above 32 are LS_E_PROTO, the sentence names the field.
 * out is untouched on error; msg_fini ends it.
 */
enum ls_rc msg_decode(
    const char *text, size_t len, enum msg_direction to, struct msg *out, struct ls_err *err) LS_MUST_CHECK;

/*
 * The JSON text of a message with its "type", compact, ASCII only. body: struct msg_<id> of that type. out: heap, ended by a
 * NUL that does not count in out_len; the caller frees it. Errors: LS_E_LIMIT when longer than MSG_FRAME_MAX.
 */
enum ls_rc msg_encode(
    enum msg_type type, const void *body, char **out, size_t *out_len, struct ls_err *err) LS_MUST_CHECK;

/* Frees the body. msg may be zeroed. */
void msg_fini(struct msg *msg);

/* All defaults for a struct msg_<id>; end it with msg_body_fini. */
void msg_body_init(enum msg_type type, void *body);
void msg_body_fini(enum msg_type type, void *body);

/* A JSON Schema of all messages (one of them), see json_schema. Heap, the caller frees it. */
char *msg_schema(const char *id, const char *title);

/* Same run, phase, repetition and attempt. */
bool epoch_equal(const struct epoch *a, const struct epoch *b);

/* Deep copy into an initialised or zeroed epoch; frees what it held. */
void epoch_copy(struct epoch *to, const struct epoch *from);

#endif
