#include "coordinator/daemon/own_volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

void
own_volume_read(const char *store, const char *boot_id, struct own_volume *out)
{
	struct statfs fs;
	struct stat st;
	uint32_t id[2];

	*out = (struct own_volume){ .facts = { .boot_id = *boot_id != '\0' ? boot_id : NULL } };
	if (realpath(store, out->store) == NULL)
		snprintf(out->store, sizeof(out->store), "%s", store);
	out->facts.store = out->store;
	if (statfs(store, &fs) == 0) {
		memcpy(id, &fs.f_fsid, sizeof(id));
		out->facts.store_bytes = (uint64_t)fs.f_blocks * (uint64_t)(fs.f_frsize > 0 ? fs.f_frsize : fs.f_bsize);
		if (id[0] != 0 || id[1] != 0) {
			snprintf(out->fs_id, sizeof(out->fs_id), "%08x%08x", id[0], id[1]);
			out->facts.store_fs_id = out->fs_id;
		}
	}
	if (stat(store, &st) == 0 && major(st.st_dev) != 0) {
		snprintf(out->device, sizeof(out->device), "%u:%u", major(st.st_dev), minor(st.st_dev));
		out->facts.store_device = out->device;
	}
}
