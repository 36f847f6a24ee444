/*
 * Results on the way to the coordinator: on the local disk before they are first sent, sent again after each reconnect, and
 * kept until every part is acknowledged. Nothing of a phase or a run is known here.
 */
#ifndef LS_AGENT_DAEMON_SPOOL_H
#define LS_AGENT_DAEMON_SPOOL_H

#include "common/base/err.h"
#include "common/net/loop.h"
#include "proto/codec/msg.h"

struct spool;

/* Sends a message's text to the coordinator; false when there is no connection. */
typedef bool (*spool_send_fn)(const char *text, size_t len, void *arg);

/*
 * Opens <dir>/results.spool and takes up what an earlier agent left there. disk does the writing; borrowed like loop.
 * Errors: LS_E_SYS.
 */
enum ls_rc spool_new(const char *dir, struct offload *disk, spool_send_fn send, void *arg, struct spool **out,
    struct ls_err *err) LS_MUST_CHECK;

/* Only after the offload is gone (its done functions refer to the spool). NULL-safe. */
void spool_free(struct spool *spool);

/*
 * Takes over a document (heap, ASCII). It is written, flushed and then sent. When the disk fails, that is logged and the
 * document is kept in memory and sent all the same.
 */
void spool_add(struct spool *spool, const struct epoch *epoch, char *document, size_t len);

/* The attempt is void: its result, if there is one, is forgotten and never sent again. */
void spool_discard(struct spool *spool, const struct epoch *epoch);

/* One part is stored by the coordinator. Unknown parts are ignored. */
void spool_ack(struct spool *spool, const struct epoch *epoch, uint64_t part);

/* Sends all that is on disk and not acknowledged: after each welcome. */
void spool_resend(struct spool *spool);

/* Results not yet acknowledged in full; those not yet on the disk. */
size_t spool_pending(const struct spool *spool);
size_t spool_writing(const struct spool *spool);

#endif
