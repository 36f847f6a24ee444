/*
 * Looking for the tokens that other nodes wrote, again and again until all are there or time is up.
 */
#ifndef LS_AGENT_RUNNER_VERIFY_H
#define LS_AGENT_RUNNER_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runner/rundir.h"
#include "proto/codec/msg.h"

#define VERIFY_RETRY_NS (20 * NS_PER_MS)

struct verify;

/* request: struct msg_verify_volume, taken over with its message. */
struct verify *verify_new(struct msg *request, int64_t now_ns);
void verify_free(struct verify *verify);

/* Looks for those not seen yet. True when there is nothing to wait for any more: all seen, or time is up. */
bool verify_look(struct verify *verify, const struct rundir *rd, int64_t now_ns);

/* Names of the nodes whose token was not seen; borrowed, valid until verify_free. */
char **verify_missing(struct verify *verify, size_t *out_count);

/* The first node named, when its token was seen; NULL otherwise. Borrowed. */
const char *verify_first_seen(const struct verify *v);

#endif
