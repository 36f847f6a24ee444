/* /sys and /proc of other machines, as files below a directory. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/runner/host.h"
#include "common/base/mem.h"

static char *root;

static void
make_parents(char *path)
{
	for (char *at = strchr(path + strlen(root) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
}

static void
put(const char *name, const char *text)
{
	char *path = ls_asprintf("%s%s", root, name);

	make_parents(path);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static void
put_link(const char *name, const char *target)
{
	char *path = ls_asprintf("%s%s", root, name);

	make_parents(path);
	assert_int_equal(symlink(target, path), 0);
	free(path);
}

static int
make_root(void **state)
{
	char name[] = "/tmp/lockstep-host-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(name));
	root = ls_strdup(name);
	return 0;
}

static int
remove_root(void **state)
{
	char *command = ls_asprintf("rm -rf '%s'", root);
	/* NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): a test's own directory */
	int status = system(command);

	(void)state;
	free(command);
	free(root);
	return status;
}

static struct host_facts
look(const char *device)
{
	struct host_facts out;

	field_struct_init(&host_facts_desc, &out);
	host_read(root, device, &out);
	return out;
}

static void
test_nothing_to_read_is_nothing_known(void **state)
{
	struct host_facts h = look("8:16");

	(void)state;
	assert_true(isnan(h.load));
	assert_true(h.swap_used_bytes == LS_UNKNOWN_U64);
	assert_null(h.governor);
	assert_null(h.block);
	assert_null(h.gfs2);
	assert_int_equal(h.clusters_count, 0);
	field_struct_fini(&host_facts_desc, &h);
}

static void
test_load_swap_and_governors(void **state)
{
	(void)state;
	put("/proc/loadavg", "3.25 1.00 0.50 2/345 6789\n");
	put("/proc/meminfo", "MemTotal: 100 kB\nSwapTotal:    4096 kB\nSwapFree:     1024 kB\n");
	put("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
	put("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
	put("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");

	struct host_facts h = look(NULL);

	assert_true(h.load > 3.24 && h.load < 3.26);
	assert_int_equal(h.swap_used_bytes, 3072 * 1024);
	assert_string_equal(h.governor, "powersave, performance");
	field_struct_fini(&host_facts_desc, &h);
}

/* More swap free than there is, a load that is none: not believed. */
static void
test_nonsense_is_not_believed(void **state)
{
	(void)state;
	put("/proc/loadavg", "many\n");
	put("/proc/meminfo", "SwapTotal: 10 kB\nSwapFree: 20 kB\n");

	struct host_facts h = look("8:16; rm");

	assert_true(isnan(h.load));
	assert_true(h.swap_used_bytes == LS_UNKNOWN_U64);
	assert_null(h.block);
	field_struct_fini(&host_facts_desc, &h);
}

#define DISK "/sys/devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb"

static void
put_iscsi_disk(void)
{
	put(DISK "/queue/scheduler", "none [mq-deadline] kyber\n");
	put(DISK "/queue/read_ahead_kb", "128\n");
	put(DISK "/queue/write_cache", "write back\n");
	put(DISK "/device/model", "VIRTUAL-DISK    \n");
	put_link("/sys/dev/block/8:16", "../../devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb");
	put("/sys/class/iscsi_session/session1/targetname", "iqn.2024-01.example:vol\n");
	put("/sys/class/iscsi_session/session1/state", "LOGGED_IN\n");
	put("/sys/class/iscsi_connection/connection1:0/persistent_address", "10.0.0.9\n");
	put("/sys/class/iscsi_connection/connection1:0/persistent_port", "3260\n");
}

static void
test_iscsi_disk(void **state)
{
	(void)state;
	put_iscsi_disk();

	struct host_facts h = look("8:16");

	assert_non_null(h.block);
	assert_string_equal(h.block->name, "sdb");
	assert_string_equal(h.block->scheduler, "mq-deadline");
	assert_string_equal(h.block->write_cache, "write back");
	assert_string_equal(h.block->model, "VIRTUAL-DISK");
	assert_int_equal(h.block->read_ahead_bytes, 128 * 1024);
	assert_null(h.block->mapping);
	assert_int_equal(h.block->iscsi_count, 1);
	assert_string_equal(h.block->iscsi[0], "iqn.2024-01.example:vol, LOGGED_IN, portal 10.0.0.9:3260");
	field_struct_fini(&host_facts_desc, &h);
}

/* A partition has no queue of its own. */
static void
test_partition_has_its_disks_queue(void **state)
{
	(void)state;
	put_iscsi_disk();
	put(DISK "/sdb1/partition", "1\n");
	put_link("/sys/dev/block/8:17", "../../devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb/sdb1");

	struct host_facts h = look("8:17");

	assert_non_null(h.block);
	assert_string_equal(h.block->name, "sdb1");
	assert_string_equal(h.block->scheduler, "mq-deadline");
	assert_string_equal(h.block->model, "VIRTUAL-DISK");
	field_struct_fini(&host_facts_desc, &h);
}

static void
test_multipath_names_its_paths_and_their_sessions(void **state)
{
	(void)state;
	put_iscsi_disk();
	put("/sys/devices/virtual/block/dm-3/dm/name", "mpatha\n");
	put("/sys/devices/virtual/block/dm-3/dm/uuid", "mpath-36001405\n");
	put("/sys/devices/virtual/block/dm-3/queue/scheduler", "none\n");
	put_link("/sys/devices/virtual/block/dm-3/slaves/sdb",
	    "../../../../platform/host3/session1/target3:0:0/3:0:0:1/block/sdb");
	put("/sys/devices/pci0/sdc/size", "1\n");
	put_link("/sys/devices/virtual/block/dm-3/slaves/sdc", "../../../../pci0/sdc");
	put_link("/sys/dev/block/253:3", "../../devices/virtual/block/dm-3");

	struct host_facts h = look("253:3");

	assert_non_null(h.block);
	assert_string_equal(h.block->name, "dm-3");
	assert_string_equal(h.block->mapping, "mpatha");
	assert_string_equal(h.block->mapping_kind, "mpath");
	assert_string_equal(h.block->scheduler, "none");
	assert_int_equal(h.block->paths_count, 2);
	assert_string_equal(h.block->paths[0], "sdb");
	assert_string_equal(h.block->paths[1], "sdc");
	assert_int_equal(h.block->iscsi_count, 1);
	field_struct_fini(&host_facts_desc, &h);
}

/* A tree that bites its tail must end. */
static void
test_slaves_in_a_circle_end(void **state)
{
	(void)state;
	put("/sys/devices/virtual/block/dm-0/dm/name", "round\n");
	put_link("/sys/devices/virtual/block/dm-0/slaves/dm-0", "../../dm-0");
	put_link("/sys/dev/block/253:0", "../../devices/virtual/block/dm-0");

	struct host_facts h = look("253:0");

	assert_non_null(h.block);
	assert_true(h.block->paths_count <= 64);
	field_struct_fini(&host_facts_desc, &h);
}

static void
test_o2cb(void **state)
{
	(void)state;
	put("/sys/kernel/config/cluster/web/node/a/num", "0\n");
	put("/sys/kernel/config/cluster/web/node/b/num", "1\n");
	put("/sys/kernel/config/cluster/web/node/c/num", "2\n");
	put("/sys/kernel/config/cluster/web/heartbeat/mode", "global\n");
	put("/sys/kernel/config/cluster/web/heartbeat/dead_threshold", "31\n");

	struct host_facts h = look(NULL);

	assert_int_equal(h.clusters_count, 1);
	assert_string_equal(h.clusters[0].stack, "o2cb");
	assert_string_equal(h.clusters[0].name, "web");
	assert_int_equal(h.clusters[0].nodes, 3);
	assert_string_equal(h.clusters[0].heartbeat, "global, dead after 60 s");
	field_struct_fini(&host_facts_desc, &h);
}

static void
test_dlm_and_gfs2(void **state)
{
	(void)state;
	put("/sys/kernel/config/dlm/cluster/cluster_name", "lab\n");
	put("/sys/kernel/config/dlm/cluster/comms/1/nodeid", "1\n");
	put("/sys/kernel/config/dlm/cluster/comms/2/nodeid", "2\n");
	put("/sys/kernel/config/dlm/cluster/spaces/vol/nodes/1/weight", "1\n");
	put("/sys/kernel/dlm/vol/id", "77\n");
	put("/sys/kernel/dlm/vol/recover_status", "ff\n");
	put("/sys/fs/gfs2/lab:other/id", "8:99\n");
	put("/sys/fs/gfs2/lab:other/withdraw", "1\n");
	put("/sys/fs/gfs2/lab:vol/id", "8:16\n");
	put("/sys/fs/gfs2/lab:vol/withdraw", "0\n");
	put("/sys/fs/gfs2/lab:vol/lock_module/block", "0\n");

	struct host_facts h = look("8:16");

	assert_int_equal(h.clusters_count, 1);
	assert_string_equal(h.clusters[0].stack, "dlm");
	assert_int_equal(h.clusters[0].nodes, 2);
	assert_int_equal(h.clusters[0].spaces_count, 1);
	assert_string_equal(h.clusters[0].spaces[0], "vol: 1 members");
	assert_int_equal(h.clusters[0].stopped_count, 0);
	assert_null(h.gfs2); /* the other volume has withdrawn, not ours */
	field_struct_fini(&host_facts_desc, &h);

	put("/sys/fs/gfs2/lab:vol/lock_module/block", "1\n");
	h = look("8:16");
	assert_string_equal(h.gfs2, "lab:vol grants no locks: recovery, or quorum lost");
	field_struct_fini(&host_facts_desc, &h);

	/* As it is on all nodes but the lowest: those that a sound cluster of three showed. */
	put("/sys/kernel/dlm/vol/recover_status", "55\n");
	h = look("8:16");
	assert_int_equal(h.clusters[0].stopped_count, 0);
	field_struct_fini(&host_facts_desc, &h);

	/* Stopped, and on its way: in both it grants nothing. */
	for (const char *const *status = (const char *const[]){ "0\n", "3\n", NULL }; *status != NULL; status++) {
		put("/sys/kernel/dlm/vol/recover_status", *status);
		h = look("8:16");
		assert_int_equal(h.clusters[0].stopped_count, 1);
		assert_string_equal(h.clusters[0].stopped[0], "vol");
		field_struct_fini(&host_facts_desc, &h);
	}

	put("/sys/fs/gfs2/lab:vol/withdraw", "1\n");
	h = look("8:16");
	assert_string_equal(h.gfs2, "lab:vol has withdrawn after an error");
	field_struct_fini(&host_facts_desc, &h);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
	const struct CMUnitTest tests[] = {
		T(test_nothing_to_read_is_nothing_known),
		T(test_load_swap_and_governors),
		T(test_nonsense_is_not_believed),
		T(test_iscsi_disk),
		T(test_partition_has_its_disks_queue),
		T(test_multipath_names_its_paths_and_their_sessions),
		T(test_slaves_in_a_circle_end),
		T(test_o2cb),
		T(test_dlm_and_gfs2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
