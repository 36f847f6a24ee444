/*
 * What a daemon owes to systemd: READY=1 once its listeners stand, WATCHDOG=1 in the rhythm asked for, STOPPING=1. Does
 * nothing when not started by systemd.
 */
#ifndef LS_COMMON_SVC_SVC_H
#define LS_COMMON_SVC_SVC_H

#include "common/net/loop.h"

struct svc;

/*
 * When LOCKSTEP_DIE_WITH_PARENT is set, to the parent's process id (`lockstep run --local` does so), this process gets SIGTERM
 * as soon as its parent is gone, also when that is so already.
 */
void svc_die_with_parent(void);

/* Made before the loop runs; the watchdog's timer, if systemd asks for one, starts at once. The other calls tell systemd. */
struct svc *svc_new(struct loop *loop);
void svc_ready(struct svc *svc, const char *status);
void svc_stopping(struct svc *svc);
void svc_free(struct svc *svc); /* NULL-safe */

#endif
