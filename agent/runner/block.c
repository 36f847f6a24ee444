/* The device behind a mount, as /sys/dev/block shows it (Documentation/ABI/stable/sysfs-block, testing/sysfs-block-dm). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/runner/host.h"
#include "common/base/sysfs.h"
#include "common/base/mem.h"

/* Devices below a volume that are looked at; LVM over multipath over four paths has six. */
#define BELOW_MAX 64

static void
add_text(char ***list, size_t *count, char *text)
{
	*list = ls_grow(*list, *count, sizeof(**list));
	(*list)[(*count)++] = text;
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* "none [mq-deadline] kyber": the one in brackets; a single word stands alone. Takes line over. */
static char *
pick_scheduler(char *line)
{
	char *open = line != NULL ? strchr(line, '[') : NULL;
	char *close = open != NULL ? strchr(open, ']') : NULL;

	if (close == NULL)
		return line;

	char *name = ls_strndup(open + 1, (size_t)(close - open - 1));

	free(line);
	return name;
}

/* The iSCSI session in a device's place in the tree: ".../host3/session1/target3:0:0/...". */
static bool
find_session(const char *link, char *out, size_t size)
{
	const char *at = strstr(link, "/session");

	if (at == NULL)
		return false;
	at++;

	size_t n = strcspn(at, "/");

	if (n <= strlen("session") || n >= size)
		return false;
	memcpy(out, at, n);
	out[n] = '\0';
	return true;
}

static void
add_iscsi(const char *root, const char *link, struct block_facts *out)
{
	char session[32];

	if (!find_session(link, session, sizeof(session)))
		return;

	const char *number = session + strlen("session");
	char *target = sysfs_line(root, "/sys/class/iscsi_session/%s/targetname", session);
	char *state = sysfs_line(root, "/sys/class/iscsi_session/%s/state", session);
	char *host = sysfs_line(root, "/sys/class/iscsi_connection/connection%s:0/persistent_address", number);
	char *port = sysfs_line(root, "/sys/class/iscsi_connection/connection%s:0/persistent_port", number);

	if (target != NULL)
		add_text(&out->iscsi, &out->iscsi_count,
		    ls_asprintf("%s, %s, portal %s:%s", target, state != NULL ? state : "state unknown",
			host != NULL ? host : "?", port != NULL ? port : "?"));
	free(target);
	free(state);
	free(host);
	free(port);
}

/* All devices below, level by level: each is a link in the slaves of the one above. */
static void
walk_below(const char *root, const char *top, struct block_facts *out)
{
	char **todo = NULL;
	size_t count = 0;

	add_text(&todo, &count, ls_strdup(top));
	for (size_t i = 0; i < count; i++) {
		char *link = sysfs_link(root, todo[i]);
		size_t below;
		char **slaves = sysfs_names(&below, root, "%s/slaves", todo[i]);

		if (link != NULL && out->iscsi_count < BELOW_MAX)
			add_iscsi(root, link, out);
		free(link);
		for (size_t k = 0; k < below && count < BELOW_MAX; k++) {
			add_text(&out->paths, &out->paths_count, ls_strdup(slaves[k]));
			add_text(&todo, &count, ls_asprintf("%s/slaves/%s", todo[i], slaves[k]));
		}
		sysfs_names_free(slaves, below);
	}
	sysfs_names_free(todo, count);
}

/* Moves text into a field that takes at most max bytes. */
static void
put(char **slot, char *text, size_t max)
{
	free(*slot);
	*slot = text;
	if (text != NULL && strlen(text) > max)
		text[max] = '\0';
}

static void
read_mapping(const char *root, const char *dir, struct block_facts *out)
{
	char *uuid = sysfs_line(root, "%s/dm/uuid", dir);

	put(&out->mapping, sysfs_line(root, "%s/dm/name", dir), 128);
	if (uuid != NULL) {
		/* part1-mpath-..., mpath-..., LVM-..., CRYPT-LUKS2-... */
		const char *kind =
		    strncmp(uuid, "part", 4) == 0 && strchr(uuid, '-') != NULL ? strchr(uuid, '-') + 1 : uuid;

		put(&out->mapping_kind, ls_strndup(kind, strcspn(kind, "-")), 64);
	}
	free(uuid);
}

static bool
is_device_number(const char *device)
{
	size_t major = strspn(device, "0123456789");
	size_t minor = device[major] == ':' ? strspn(device + major + 1, "0123456789") : 0;

	return major > 0 && minor > 0 && device[major + 1 + minor] == '\0';
}

bool
block_read(const char *root, const char *device, struct block_facts *out)
{
	char dir[64];
	uint64_t kib;

	if (!is_device_number(device) || strlen(device) > 32)
		return false;
	snprintf(dir, sizeof(dir), "/sys/dev/block/%s", device);

	char *link = sysfs_link(root, dir);

	if (link == NULL)
		return false;
	put(&out->name, ls_strdup(last_part(link)), 64);
	free(link);
	read_mapping(root, dir, out);
	walk_below(root, dir, out);

	/* A partition has its disk's queue; its directory lies in that of the disk. */
	uint64_t part;
	const char *up = sysfs_number(&part, root, "%s/partition", dir) ? "/.." : "";

	put(&out->model, sysfs_line(root, "%s%s/device/model", dir, up), 64);
	put(&out->scheduler, pick_scheduler(sysfs_line(root, "%s%s/queue/scheduler", dir, up)), 32);
	put(&out->write_cache, sysfs_line(root, "%s%s/queue/write_cache", dir, up), 32);
	if (sysfs_number(&kib, root, "%s%s/queue/read_ahead_kb", dir, up) && kib <= INT64_MAX / 1024)
		out->read_ahead_bytes = kib * 1024;
	return true;
}
