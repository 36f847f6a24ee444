/*
 * Messages over the socketpair to the agent: whole frames in, whole frames out. Sending blocks, but not for ever.
 */
#ifndef LS_AGENT_RUNNER_LINK_H
#define LS_AGENT_RUNNER_LINK_H

#include "common/base/err.h"
#include "proto/codec/msg.h"

/* An agent that takes nothing for so long is as good as gone. */
#define LINK_SEND_TIMEOUT_NS (10 * NS_PER_S)

struct link;

enum link_got {
	LINK_NOTHING = 0, /* no whole message yet */
	LINK_MESSAGE,
	LINK_CLOSED, /* end of file: the agent is gone */
	LINK_BAD,    /* not a message to a runner, or too long: err says what */
};

/* fd: a stream socket, taken over. */
struct link *link_new(int fd);
void link_free(struct link *link);
int link_fd(const struct link *link);

/*
 * The next message, without waiting: first from what was read already, else from what is there to read. out: filled
 * with LINK_MESSAGE only; msg_fini ends it. Call until it says LINK_NOTHING.
 */
enum link_got link_next(struct link *link, struct msg *out, struct ls_err *err) LS_MUST_CHECK;

/* Sends a message whole. Errors: LS_E_CLOSED, LS_E_TIMEOUT, LS_E_SYS, LS_E_LIMIT. */
enum ls_rc link_send(struct link *link, enum msg_type type, const void *body, struct ls_err *err) LS_MUST_CHECK;

#endif
