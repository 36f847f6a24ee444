/*
 * What agent and root helper say to each other over a Unix socket of kind SOCK_SEQPACKET: a packet each way, text, at most
 * HELPER_PACKET_MAX bytes. The helper is root's: its side is as small as the work allows, and takes nothing but these words.
 *
 *	status			ok\ndrop_caches yes|no\nheartbeat yes|no\nremount PATH\n...
 *	drop-caches		ok
 *	remount PATH		ok
 *	heartbeat		ok\nREGION AGE_MS DEAD_MS\n...
 *
 * or, to any of them, "no" and after a newline a sentence that says why. All functions are pure.
 */
#ifndef LS_AGENT_HELPER_WIRE_H
#define LS_AGENT_HELPER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

#define HELPER_PACKET_MAX 8192
#define HELPER_PATH_MAX   1024
#define HELPER_BEATS_MAX  32
#define HELPER_REGION_MAX 64

enum helper_verb { HELPER_STATUS = 0, HELPER_DROP_CACHES, HELPER_REMOUNT, HELPER_HEARTBEAT, HELPER_VERB_COUNT };

struct helper_request {
	enum helper_verb verb;
	char path[HELPER_PATH_MAX +
	    1]; /* HELPER_REMOUNT: well-formed (pathname_fault), no control characters; else "" */
};

/* A region of o2cb's heartbeat on this machine. */
struct helper_beat {
	char region[HELPER_REGION_MAX + 1];
	int64_t age_ns;  /* since this machine's last write to it */
	int64_t dead_ns; /* from that age on the machine fences itself */
};

struct helper_beats {
	struct helper_beat list[HELPER_BEATS_MAX];
	size_t count;
};

/* What the helper's own configuration allows. */
struct helper_status {
	bool drop_caches, heartbeat;
	bool remount; /* the path that was asked for is among those that it may mount anew */
};

/* Errors: LS_E_INVALID, the sentence says what is wrong; out is then undefined. */
enum ls_rc helper_request_parse(
    const char *data, size_t len, struct helper_request *out, struct ls_err *err) LS_MUST_CHECK;

/* The packet for a request into buf; its length, 0: it does not fit. */
size_t helper_request_format(const struct helper_request *request, char *buf, size_t size);

/* Packets of the answers: "ok" with the text after it (or NULL), "no" with the reason. Cut to fit; returns the length. */
size_t helper_answer_ok(const char *text, char *buf, size_t size);
size_t helper_answer_no(const char *why, char *buf, size_t size);

/* Text of an answer's body for the heartbeat; returns its length. */
size_t helper_beats_format(const struct helper_beats *beats, char *buf, size_t size);

/*
 * Reads an answer. Bytes that are no printable ASCII become question marks in what comes out. body: where the text after "ok" is put,
 * terminated, size bytes. Errors: LS_E_REFUSED with the helper's reason, LS_E_PROTO.
 */
enum ls_rc helper_answer_parse(const char *data, size_t len, char *body, size_t size, struct ls_err *err) LS_MUST_CHECK;

/* Reads such a body. path: the one to look for among those that may be mounted anew, or NULL. Errors: LS_E_PROTO. */
enum ls_rc helper_status_parse(
    const char *body, const char *path, struct helper_status *out, struct ls_err *err) LS_MUST_CHECK;
enum ls_rc helper_beats_parse(const char *body, struct helper_beats *out, struct ls_err *err) LS_MUST_CHECK;

#endif
