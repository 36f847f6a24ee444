#include "agent/runner/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "common/base/sysfs.h"
#include "common/base/mem.h"
#include "common/base/sink.h"

#define LOAD_UNIT 65536.0 /* sysinfo(2): loads are fixed-point, SI_LOAD_SHIFT bits */

/* Value in kB of a line of /proc/meminfo. */
static bool
meminfo(FILE *f, const char *key, uint64_t *out)
{
	char line[256];
	size_t n = strlen(key);

	rewind(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		*out = strtoull(line + n + 1, NULL, 10);
		return *out < UINT64_MAX / 2048;
	}
	return false;
}

static void
read_swap(const char *root, struct host_facts *out)
{
	uint64_t total, unused;
	char *path = ls_asprintf("%s/proc/meminfo", root);
	FILE *f = fopen(path, "re");

	free(path);
	if (f == NULL)
		return;
	if (meminfo(f, "SwapTotal", &total) && meminfo(f, "SwapFree", &unused) && unused <= total)
		out->swap_used_bytes = (total - unused) * 1024;
	(void)fclose(f);
}

static void
read_load(const char *root, struct host_facts *out)
{
	char *line = sysfs_line(root, "/proc/loadavg");
	char *end = line;
	double load = line != NULL ? strtod(line, &end) : 0;

	if (end != line && load >= 0)
		out->load = load;
	free(line);
}

/* systemd's ProcSubset=pid hides both files; the system call tells the same. */
static void
ask_kernel(struct host_facts *out)
{
	struct sysinfo info;

	if (sysinfo(&info) != 0)
		return;
	out->load = (double)info.loads[0] / LOAD_UNIT;
	if (info.freeswap <= info.totalswap)
		out->swap_used_bytes = (uint64_t)(info.totalswap - info.freeswap) * info.mem_unit;
}

static bool
is_listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at != NULL && (at = strstr(at, word)) != NULL; at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ','))
			return true;
	return false;
}

/* All that are in use, each once: CPUs can differ. */
static void
read_governor(const char *root, struct host_facts *out)
{
	struct sink found = { 0 };
	size_t count;
	char **policies = sysfs_names(&count, root, "/sys/devices/system/cpu/cpufreq");

	for (size_t i = 0; i < count; i++) {
		char *governor = sysfs_line(root, "/sys/devices/system/cpu/cpufreq/%s/scaling_governor", policies[i]);

		if (governor != NULL && !is_listed(found.text, governor) && found.len + strlen(governor) + 2 <= 32)
			sink_printf(&found, "%s%s", found.len > 0 ? ", " : "", governor);
		free(governor);
	}
	sysfs_names_free(policies, count);
	if (found.text != NULL) {
		free(out->governor);
		out->governor = ls_strdup(found.text);
	}
	sink_free(&found);
}

void
host_read(const char *root, const char *device, struct host_facts *out)
{
	struct block_facts block;

	if (*root == '\0')
		ask_kernel(out);
	read_load(root, out);
	read_swap(root, out);
	read_governor(root, out);
	cluster_state_read(root, out);
	if (device == NULL)
		return;
	free(out->gfs2);
	out->gfs2 = cluster_gfs2_trouble(root, device);
	field_struct_init(&block_facts_desc, &block);
	if (!block_read(root, device, &block)) {
		field_struct_fini(&block_facts_desc, &block);
		return;
	}
	out->block = ls_calloc(1, sizeof(*out->block));
	*out->block = block;
}
