/*
 * A block device that is read directly, as a baseline for the volume on it. It is opened for reading and nothing else; no link
 * is followed on the way to it, so that the name which the agent's configuration allows is the device that is read.
 */
#ifndef LS_AGENT_ENGINE_RAW_DEVICE_H
#define LS_AGENT_ENGINE_RAW_DEVICE_H

#include <stdint.h>

#include "common/base/err.h"

struct raw_device {
	int fd;         /* O_RDONLY, O_DIRECT; the caller's to close */
	uint64_t size;  /* bytes */
	uint64_t align; /* of offsets and lengths: its logical block */
};

/* Opens the device at that full path. Errors: LS_E_REFUSED, LS_E_SYS: names the path and what is wrong. Any thread. */
enum ls_rc raw_device_open(const char *path, struct raw_device *out, struct ls_err *err) LS_MUST_CHECK;

#endif
