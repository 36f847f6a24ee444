#include "agent/daemon/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/facts.h"
#include "common/base/mem.h"

#define SECTOR_BYTES 512 /* of /sys/.../stat, whatever the device's own sectors are */

bool
device_parse(const char *text, struct device_io *out)
{
	/* Documentation/block/stat.rst: reads, merges, sectors, ms; the same of writes; in flight, ms busy, ... */
	enum { READ_SECTORS = 2, WRITE_SECTORS = 6, BUSY_MS = 9, FIELDS };
	uint64_t fields[FIELDS];

	for (size_t i = 0; i < FIELDS; i++) {
		char *end;
		fields[i] = strtoull(text, &end, 10);
		if (end == text)
			return false;
		text = end;
	}
	*out = (struct device_io){
		.read_bytes = fields[READ_SECTORS] * SECTOR_BYTES,
		.write_bytes = fields[WRITE_SECTORS] * SECTOR_BYTES,
		.busy_ns = (int64_t)fields[BUSY_MS] * NS_PER_MS,
	};
	return true;
}

/* "major:minor" and nothing else: it becomes part of a path. */
static bool
is_device_name(const char *device)
{
	size_t major = strspn(device, "0123456789");
	if (major == 0 || major > 10 || device[major] != ':')
		return false;
	const char *rest = device + major + 1;
	size_t minor = strspn(rest, "0123456789");
	return minor > 0 && minor <= 10 && rest[minor] == '\0';
}

bool
device_read(const char *root, const char *device, struct device_io *out)
{
	if (!device || !is_device_name(device))
		return false;

	char path[512], text[512];
	(void)snprintf(path, sizeof(path), "%s/dev/block/%s/stat", root, device);
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
