/*
 * What the coordinator is itself, for the check: its machine and the volume that its store lies on. The store's own directory is
 * looked at, never a path of a job.
 */
#ifndef LS_COORDINATOR_DAEMON_OWN_VOLUME_H
#define LS_COORDINATOR_DAEMON_OWN_VOLUME_H

#include <limits.h>

#include "coordinator/daemon/check.h"

/* facts points into the rest, so a copy is of no use. */
struct own_volume {
	struct check_own facts;
	char store[PATH_MAX], fs_id[24], device[32];
};

/* Fills what can be known. boot_id is borrowed by out->facts; "" is unknown. */
void own_volume_read(const char *store, const char *boot_id, struct own_volume *out);

#endif
