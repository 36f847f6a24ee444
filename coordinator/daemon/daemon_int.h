/*
 * What the parts of lockstepd share: the one object of this process. Owned by main, used in the loop's thread alone.
 */
#ifndef LS_COORDINATOR_DAEMON_DAEMON_INT_H
#define LS_COORDINATOR_DAEMON_DAEMON_INT_H

#include "common/net/listen.h"
#include "common/net/loop.h"
#include "common/net/tls.h"
#include "coordinator/daemon/config.h"
#include "coordinator/daemon/node.h"
#include "coordinator/daemon/store/store.h"

struct certs;
struct collector;
struct insist;
struct history;
struct web;

struct daemon {
	const struct lockstepd_config *config;
	struct loop *loop;
	struct tls_ctx *tls; /* NULL without a TLS listener */
	struct certs *certs; /* NULL without one */
	struct listener *tls_listener, *unix_listener;

	/* Each offload thread has its own store: results and states are never behind an export. */
	struct offload *writer, *reader;
	struct store *store, *store_reader;
	struct insist *insist; /* what is written to the store waits for better times */

	struct registry registry;
	struct session *sessions; /* list */
	size_t session_count, operator_count;
	struct log_budget refusals; /* lines about peers that are not let in */
	size_t pending_count;       /* of these, without a hello yet */
	uint64_t last_session;      /* number of the newest */
	struct run *runs;           /* list in the order of the queue; ended ones stay until their last write */
	struct run *active;
	struct collector *collector;
	struct history *history;
	struct web *web; /* NULL: off */
	char boot_id[64];
	bool stopping; /* nothing new is begun */
};

/*
 * work in the thread, then done in the loop; done owns arg. While the daemon stops, work is left out: done sees d->stopping and
 * only tidies up.
 */
void daemon_write(struct daemon *d, loop_fn work, loop_fn done, void *arg);
void daemon_read(struct daemon *d, loop_fn work, loop_fn done, void *arg);

#endif
