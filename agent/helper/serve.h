/*
 * One connection of the helper: who is at its other end, and its requests one after the other.
 */
#ifndef LS_AGENT_HELPER_SERVE_H
#define LS_AGENT_HELPER_SERVE_H

#include "agent/helper/config.h"

/* What the work is done on: the machine's own, or a test's. */
struct helper_machine {
	const char *drop_caches; /* /proc/sys/vm/drop_caches */
	const char *lock;        /* file that keeps remounts apart */
};

/* The answer to a packet of len bytes, at most HELPER_PACKET_MAX of them in buf; its length. Never fails: "no" with a reason. */
size_t helper_answer(
    const struct helper_config *config, const struct helper_machine *machine, const char *data, size_t len, char *buf);

/* Is the other end root, or the user of the configuration? Errors: LS_E_REFUSED, LS_E_NOTFOUND (there is no such user), LS_E_SYS. */
enum ls_rc helper_check_peer(int fd, const char *user, struct ls_err *err) LS_MUST_CHECK;

/* Answers until the other end closes or is silent for too long. Errors: LS_E_SYS. */
enum ls_rc helper_serve(
    int fd, const struct helper_config *config, const struct helper_machine *machine, struct ls_err *err) LS_MUST_CHECK;

#endif
