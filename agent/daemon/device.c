#include "agent/daemon/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/daemon/facts.h"
#include "common/base/mem.h"

#define SECTOR_BYTES 512 /* of /sys/.../stat, whatever the device's own sectors are */

bool
device_parse(const char *text, struct device_io *out)
{
	/* Documentation/block/stat.rst: read I/Os, merges, sectors, ticks; the same of writes; in flight, io_ticks, ... */
	uint64_t read_sectors, write_sectors, busy_ms;
	if (sscanf(text, "%*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64 " %*u %*u %" SCNu64, &read_sectors, &write_sectors,
		&busy_ms) != 3)
		return false;

	*out = (struct device_io){
		.read_bytes = read_sectors * SECTOR_BYTES,
		.write_bytes = write_sectors * SECTOR_BYTES,
		.busy_ns = (int64_t)busy_ms * NS_PER_MS,
	};
	return true;
}

bool
device_read(const char *root, const char *device, struct device_io *out)
{
	unsigned major, minor;
	int used = 0;
	if (!device || sscanf(device, "%u:%u%n", &major, &minor, &used) != 2 || device[used] != '\0')
		return false;

	char path[512], text[512];
	snprintf(path, sizeof(path), "%s/dev/block/%u:%u/stat", root, major, minor);
	return facts_read_file(path, text, sizeof(text)) && device_parse(text, out);
}

struct device_io
device_delta(const struct device_io *before, const struct device_io *after)
{
	return (struct device_io){
		.read_bytes = after->read_bytes > before->read_bytes ? after->read_bytes - before->read_bytes : 0,
		.write_bytes = after->write_bytes > before->write_bytes ? after->write_bytes - before->write_bytes : 0,
		.busy_ns = LS_MAX(after->busy_ns - before->busy_ns, (int64_t)0),
	};
}
