/*
 * What a block device has moved, from /sys/dev/block. Needs no root and touches no file system.
 */
#ifndef LS_AGENT_DAEMON_DEVICE_H
#define LS_AGENT_DAEMON_DEVICE_H

#include <stdbool.h>

#include "proto/model/results.h"

/*
 * The counters of a device ("8:1") since boot. False when it has none: no such device, a file system without one, a NULL or
 * malformed name. root: where sysfs is, "/sys".
 */
bool device_read(const char *root, const char *device, struct device_io *out);

/* Parses the text of a "stat" file. Pure. */
bool device_parse(const char *text, struct device_io *out);

/* after - before, each member; one that went back (counters that wrapped) is 0. Pure. */
struct device_io device_delta(const struct device_io *before, const struct device_io *after);

#endif
