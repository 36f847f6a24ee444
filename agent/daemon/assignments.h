/*
 * Assignments kept on the local disk until their run is finished, so that an agent that was killed cleans up when it starts
 * again: <spool>/runs/<run>.json, each the text of its assign message.
 */
#ifndef LS_AGENT_DAEMON_ASSIGNMENTS_H
#define LS_AGENT_DAEMON_ASSIGNMENTS_H

#include "common/base/err.h"
#include "common/net/loop.h"
#include "proto/codec/msg.h"

struct assignments;
struct assignment_write;

/* Makes <spool>/runs. disk does the writing; borrowed. Errors: LS_E_SYS. */
enum ls_rc assignments_new(
    const char *spool, struct offload *disk, struct assignments **out, struct ls_err *err) LS_MUST_CHECK;
void assignments_free(struct assignments *a); /* only after the offload is gone */

/* Can a run of this id be kept: 1 to 63 of A-Z a-z 0-9 . _ -, not beginning with . or -. Pure. */
bool assignments_name_valid(const char *run);

/*
 * Writes and flushes an assignment (text is copied), then calls done in the loop, err NULL on success. The returned handle
 * is good until then; assignments_cancel makes sure that done is not called.
 */
typedef void (*assignment_written_fn)(const struct ls_err *err, void *arg);
struct assignment_write *assignments_put(
    struct assignments *a, const char *run, const char *text, size_t len, assignment_written_fn done, void *arg);
void assignments_cancel(struct assignment_write *write); /* NULL-safe */

/* Removes one, in the background, after what was put before. */
void assignments_remove(struct assignments *a, const char *run);

/* The run ids that are there, sorted: a list of *count strings on the heap, owned by the caller. Synchronous. */
enum ls_rc assignments_list(struct assignments *a, char ***out, size_t *count, struct ls_err *err) LS_MUST_CHECK;

/* Reads one: an assign message, ended by msg_fini. Synchronous. Errors: LS_E_SYS, LS_E_PROTO. */
enum ls_rc assignments_read(struct assignments *a, const char *run, struct msg *out, struct ls_err *err) LS_MUST_CHECK;

#endif
