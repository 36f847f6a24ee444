/*
 * Cluster software as everybody may see it. o2cb and dlm keep their configuration in configfs (fs/ocfs2/cluster/nodemanager.c,
 * heartbeat.c; fs/dlm/config.c), GFS2 its state in /sys/fs/gfs2 (fs/gfs2/sys.c). Whether corosync has quorum
 * (corosync-quorumtool, its cmap) is told only over its socket to root; dlm, whose daemon waits for quorum and fencing before it lets
 * a lock space go on after a member was lost, shows to everybody whether it does (fs/dlm/lockspace.c, recover_status).
 */
#include <stdlib.h>
#include <string.h>

#include "agent/runner/host.h"
#include "common/base/sysfs.h"
#include "common/base/mem.h"

#define CLUSTERS_MAX 8
#define SPACES_MAX   64
#define NAME_BYTES   64
#define O2CB_BEAT_S  2 /* O2HB_REGION_TIMEOUT_MS */
#define DLM_RS_DONE                                                                                                    \
	0x40 /* fs/dlm/dlm_internal.h: this node has done with recovery. The bits of all are set on the lowest one only */

static struct cluster_facts *
add_cluster(struct host_facts *out, const char *stack)
{
	out->clusters = ls_grow(out->clusters, out->clusters_count, sizeof(*out->clusters));

	struct cluster_facts *c = &out->clusters[out->clusters_count++];

	field_struct_init(&cluster_facts_desc, c);
	free(c->stack);
	c->stack = ls_strdup(stack);
	return c;
}

static void
read_heartbeat(const char *root, const char *name, struct cluster_facts *c)
{
	uint64_t threshold;
	char *mode = sysfs_line(root, "/sys/kernel/config/cluster/%s/heartbeat/mode", name);

	/* A node is dead once it has missed threshold - 1 beats. */
	if (sysfs_number(&threshold, root, "/sys/kernel/config/cluster/%s/heartbeat/dead_threshold", name) &&
	    threshold > 0 && threshold < 1000000)
		c->heartbeat = ls_asprintf("%.20s, dead after %llu s", mode != NULL ? mode : "local",
		    (unsigned long long)(threshold - 1) * O2CB_BEAT_S);
	free(mode);
}

static void
read_o2cb(const char *root, struct host_facts *out)
{
	size_t count, nodes;
	char **names = sysfs_names(&count, root, "/sys/kernel/config/cluster");

	for (size_t i = 0; i < count && out->clusters_count < CLUSTERS_MAX; i++) {
		struct cluster_facts *c = add_cluster(out, "o2cb");
		char **members = sysfs_names(&nodes, root, "/sys/kernel/config/cluster/%s/node", names[i]);

		c->name = ls_strndup(names[i], NAME_BYTES);
		if (members != NULL)
			c->nodes = nodes;
		read_heartbeat(root, names[i], c);
		sysfs_names_free(members, nodes);
	}
	sysfs_names_free(names, count);
}

/* Grants it locks? One whose state cannot be read is not accused. */
static void
look_at_space(const char *root, const char *space, struct cluster_facts *c)
{
	char *text = sysfs_line(root, "/sys/kernel/dlm/%s/recover_status", space), *end;
	unsigned long status;

	if (text == NULL)
		return;
	status = strtoul(text, &end, 16);
	if (end != text && (status & DLM_RS_DONE) == 0) {
		c->stopped = ls_grow(c->stopped, c->stopped_count, sizeof(*c->stopped));
		c->stopped[c->stopped_count++] = ls_strndup(space, NAME_BYTES);
	}
	free(text);
}

/* Each lock space with the members that it had when dlm last changed them. */
static void
read_spaces(const char *root, struct cluster_facts *c)
{
	size_t count, members;
	char **spaces = sysfs_names(&count, root, "/sys/kernel/dlm");

	for (size_t i = 0; i < count && i < SPACES_MAX; i++) {
		char **names = sysfs_names(&members, root, "/sys/kernel/config/dlm/cluster/spaces/%s/nodes", spaces[i]);

		c->spaces = ls_grow(c->spaces, c->spaces_count, sizeof(*c->spaces));
		c->spaces[c->spaces_count++] = names != NULL ? ls_asprintf("%.64s: %zu members", spaces[i], members)
							     : ls_asprintf("%.64s: members unknown", spaces[i]);
		sysfs_names_free(names, members);
		look_at_space(root, spaces[i], c);
	}
	sysfs_names_free(spaces, count);
}

static void
read_dlm(const char *root, struct host_facts *out)
{
	size_t nodes;
	char **comms = sysfs_names(&nodes, root, "/sys/kernel/config/dlm/cluster/comms");

	if (comms == NULL || out->clusters_count == CLUSTERS_MAX)
		return;

	struct cluster_facts *c = add_cluster(out, "dlm");
	char *name = sysfs_line(root, "/sys/kernel/config/dlm/cluster/cluster_name");

	c->nodes = nodes;
	if (name != NULL)
		c->name = ls_strndup(name, NAME_BYTES);
	read_spaces(root, c);
	free(name);
	sysfs_names_free(comms, nodes);
}

void
cluster_state_read(const char *root, struct host_facts *out)
{
	read_o2cb(root, out);
	read_dlm(root, out);
}

static bool
is_set(const char *root, const char *table, const char *what)
{
	uint64_t value;

	return sysfs_number(&value, root, "/sys/fs/gfs2/%s/%s", table, what) && value != 0;
}

char *
cluster_gfs2_trouble(const char *root, const char *device)
{
	size_t count;
	char *found = NULL;
	char **tables = sysfs_names(&count, root, "/sys/fs/gfs2");

	for (size_t i = 0; i < count && found == NULL; i++) {
		char *id = sysfs_line(root, "/sys/fs/gfs2/%s/id", tables[i]);
		bool ours = id != NULL && strcmp(id, device) == 0;

		free(id);
		if (ours && is_set(root, tables[i], "withdraw"))
			found = ls_asprintf("%.64s has withdrawn after an error", tables[i]);
		else if (ours && is_set(root, tables[i], "lock_module/block"))
			found = ls_asprintf("%.64s grants no locks: recovery, or quorum lost", tables[i]);
	}
	sysfs_names_free(tables, count);
	return found;
}
