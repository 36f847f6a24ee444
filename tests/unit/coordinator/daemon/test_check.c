/* Each row of the check: what makes it warn or fail, and which node it then names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "coordinator/daemon/check.h"

#define NODES 3

/* Three nodes with which nothing is wrong. */
struct world {
	struct job job;
	struct run_node infos[NODES];
	struct check_node nodes[NODES];
	struct check_own own;
	struct check_input in;
	struct check_row rows[200];
	size_t count;
	enum check_level worst;
};

static void
set(char **slot, const char *text)
{
	free(*slot);
	*slot = text != NULL ? ls_strdup(text) : NULL;
}

static struct volume_facts *
volume(struct world *w, size_t i)
{
	return w->infos[i].facts.volume;
}

static struct host_facts *
host(struct world *w, size_t i)
{
	return w->infos[i].facts.host;
}

static void
make_node(struct world *w, size_t i)
{
	struct run_node *n = &w->infos[i];
	struct volume_facts *v = ls_calloc(1, sizeof(*v));
	struct host_facts *h = ls_calloc(1, sizeof(*h));
	char text[32];

	field_struct_init(&run_node_desc, n);
	field_struct_init(&volume_facts_desc, v);
	field_struct_init(&host_facts_desc, h);
	n->facts.volume = v;
	n->facts.host = h;
	snprintf(text, sizeof(text), "n%zu", i + 1);
	set(&n->name, text);
	snprintf(text, sizeof(text), "boot-%zu", i + 1);
	set(&n->facts.boot_id, text);
	set(&n->facts.kernel, "6.1.0");
	n->facts.cpus = 4;
	n->facts.memory_bytes = 1ULL << 30;
	n->clock.offset_ns = -3 * 3600 * NS_PER_S - 18 * 60 * NS_PER_S;
	n->clock.uncertainty_ns = 500 * NS_PER_US;
	n->clock.rtt_ns = 900 * NS_PER_US;
	set(&v->fs_type, "ocfs2");
	set(&v->fs_id, "00000000000000aa");
	set(&v->source, "/dev/sdb");
	set(&v->mount_point, "/vol");
	set(&v->mount_options, "rw,noatime");
	v->total_bytes = 100ULL << 30;
	v->free_bytes = 60ULL << 30;
	v->total_inodes = 1000000;
	v->free_inodes = 900000;
	v->io_uring = v->libaio = true;
	v->dio_align = 512;
	set(&v->dio_source, "statx");
	h->load = 0.1;
	h->swap_used_bytes = 0;
	set(&h->governor, "performance");
	h->clusters = ls_calloc(1, sizeof(*h->clusters));
	h->clusters_count = 1;
	field_struct_init(&cluster_facts_desc, h->clusters);
	set(&h->clusters[0].stack, "o2cb");
	set(&h->clusters[0].name, "web");
	h->clusters[0].nodes = NODES;
	h->block = ls_calloc(1, sizeof(*h->block));
	field_struct_init(&block_facts_desc, h->block);
	set(&h->block->name, "sdb");
	set(&h->block->scheduler, "none");
	h->block->read_ahead_bytes = 131072;
	w->nodes[i] = (struct check_node){
		.info = n,
		.version = "1",
		.build = "abc",
		.verified = true,
		.fcntl_lock = i == 0 ? LOCK_HELD : LOCK_REFUSED,
		.flock = i == 0 ? LOCK_HELD : LOCK_REFUSED,
	};
}

static struct world *
make_world(void)
{
	struct world *w = ls_calloc(1, sizeof(*w));

	field_struct_init(&job_desc, &w->job);
	set(&w->job.path, "/vol");
	w->job.reserve_percent = 10;
	for (size_t i = 0; i < NODES; i++)
		make_node(w, i);
	w->own = (struct check_own){ .boot_id = "boot-0",
		.store = "/var/lib/lockstep",
		.store_fs_id = "bb",
		.store_device = "8:1",
		.store_bytes = 1 };
	w->in = (struct check_input){
		.job = &w->job,
		.nodes = w->nodes,
		.count = NODES,
		.need_bytes = 20ULL << 30,
		.need_files = 1000,
		.own = &w->own,
	};
	return w;
}

static void
drop_rows(struct world *w)
{
	for (size_t i = 0; i < w->count; i++)
		field_struct_fini(&check_row_desc, &w->rows[i]);
	w->count = 0;
}

static void
free_world(struct world *w)
{
	drop_rows(w);
	for (size_t i = 0; i < NODES; i++)
		field_struct_fini(&run_node_desc, &w->infos[i]);
	field_struct_fini(&job_desc, &w->job);
	free(w);
}

static void
keep(const struct check_row *row, void *arg)
{
	struct world *w = arg;
	struct check_row *to = &w->rows[w->count++];

	assert_true(w->count <= ARRAY_LEN(w->rows));
	*to = (struct check_row){ .check = ls_strdup(row->check),
		.node = row->node != NULL ? ls_strdup(row->node) : NULL,
		.level = row->level,
		.text = ls_strdup(row->text) };
}

static void
check(struct world *w)
{
	drop_rows(w);
	w->worst = check_nodes(&w->in, keep, w);
}

/* The check makes exactly these findings that are not ok in the row: one, on that node (NULL: all). */
static void
expect(struct world *w, const char *row, const char *node, enum check_level level, const char *words)
{
	size_t found = 0;

	check(w);
	for (size_t i = 0; i < w->count; i++) {
		const struct check_row *r = &w->rows[i];

		if (strcmp(r->check, row) != 0 || r->level == CHECK_OK)
			continue;
		found++;
		if (r->level != (int)level || (node == NULL) != (r->node == NULL) ||
		    (node != NULL && strcmp(node, r->node) != 0) || strstr(r->text, words) == NULL)
			fail_msg("%s: got %s on %s: %s; wanted %s on %s: ...%s...", row, check_level_names[r->level],
			    r->node != NULL ? r->node : "all", r->text, check_level_names[level],
			    node != NULL ? node : "all", words);
	}
	if (found != 1)
		fail_msg("%s: %zu findings, wanted one", row, found);
	assert_true(w->worst >= level);
}

static const char *
text_of(const struct world *w, const char *row, const char *node)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->rows[i].check, row) == 0 &&
		    (node == NULL ? w->rows[i].node == NULL
				  : w->rows[i].node != NULL && !strcmp(w->rows[i].node, node)))
			return w->rows[i].text;
	fail_msg("no finding of %s", row);
	return "";
}

static void
test_nothing_wrong(void **state)
{
	struct world *w = make_world();

	(void)state;
	check(w);
	for (size_t i = 0; i < w->count; i++)
		if (w->rows[i].level != CHECK_OK)
			fail_msg("%s: %s", w->rows[i].check, w->rows[i].text);
	assert_int_equal(w->worst, CHECK_OK);
	assert_string_equal(text_of(w, "one volume", NULL), "all 3 nodes see each other's files");
	free_world(w);
}

/* Hours between monotonic clocks are nothing; what counts is how well they are known. */
static void
test_clock(void **state)
{
	struct world *w = make_world();

	(void)state;
	check(w);
	assert_string_equal(text_of(w, "clock", "n1"), "offset -3 h 18 min, uncertainty 500 us, round trip 900 us");
	w->infos[1].clock.uncertainty_ns = 1360 * NS_PER_US;
	expect(w, "clock", "n2", CHECK_WARNING, "uncertainty 1.36 ms");
	w->infos[1].clock.uncertainty_ns = LS_UNKNOWN_I64;
	expect(w, "clock", "n2", CHECK_WARNING, "not measured");
	free_world(w);
}

static void
test_path(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->nodes[2].refused = "no answer within 5 s";
	w->nodes[2].verified = false;
	field_struct_fini(&volume_facts_desc, volume(w, 2));
	free(w->infos[2].facts.volume);
	w->infos[2].facts.volume = NULL;
	expect(w, "path", "n3", CHECK_FAILED, "no answer within 5 s");
	free_world(w);
}

static void
test_one_odd_volume_is_named(void **state)
{
	struct world *w = make_world();

	(void)state;
	/* The last is odd. */
	w->nodes[0].blind_to = "n3";
	w->nodes[2].blind_to = "n1";
	set(&volume(w, 2)->fs_id, "cc");
	expect(w, "one volume", "n3", CHECK_FAILED, "has another volume at /vol than n1, n2");

	/* The first is odd: nobody sees it, and the others have one file system. */
	w->nodes[0].blind_to = "n2, n3";
	w->nodes[1].blind_to = "n1";
	set(&volume(w, 2)->fs_id, "00000000000000aa");
	expect(w, "one volume", "n1", CHECK_FAILED, "has another volume at /vol than n2, n3");

	/* All are. */
	set(&volume(w, 2)->fs_id, "cc");
	expect(w, "one volume", NULL, CHECK_FAILED, "a volume of its own on each of the 3 nodes");
	w->job.allow_separate_volumes = true;
	expect(w, "one volume", NULL, CHECK_WARNING, "a volume of its own on each of the 3 nodes");

	/* Only one direction. */
	w->nodes[1].blind_to = w->nodes[2].blind_to = NULL;
	w->nodes[0].blind_to = "n2";
	expect(w, "one volume", "n1", CHECK_WARNING, "does not see what n2 wrote");
	w->nodes[0].blind_to = NULL;
	w->nodes[1].verified = false;
	expect(w, "one volume", "n2", CHECK_FAILED, "has not said");
	free_world(w);
}

static void
test_expected_type(void **state)
{
	struct world *w = make_world();

	(void)state;
	set(&w->job.expect_fs, "ocfs2");
	check(w);
	assert_int_equal(w->worst, CHECK_OK);
	set(&volume(w, 1)->fs_type, "ext4");
	expect(w, "expected file system", "n2", CHECK_FAILED, "/vol lies on ext4, not on ocfs2");
	expect(w, "file system", "n2", CHECK_WARNING, "ext4, but n");
	assert_true(check_fs_is("nfs", "nfs4"));
	assert_false(check_fs_is("nfs4", "nfs"));
	free_world(w);
}

static void
test_space_inodes_and_fill_level(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->in.need_bytes = 51ULL << 30;
	for (size_t i = 1; i < NODES; i++)
		volume(w, i)->free_bytes = 99ULL << 30;
	expect(w, "space", "n1", CHECK_FAILED, "all nodes together need 51 GiB");
	w->in.need_bytes = 50ULL << 30;
	check(w);
	assert_int_equal(w->worst, CHECK_WARNING); /* fits to the byte, but fills the volume */
	expect(w, "fill level", "n1", CHECK_WARNING, "40 % full, 90 % with this run's files");
	w->in.need_bytes = 1;
	volume(w, 0)->free_bytes = 13ULL << 30;
	expect(w, "fill level", "n1", CHECK_WARNING, "87 % full");
	w->in.need_files = 800001;
	volume(w, 1)->free_inodes = 900001;
	volume(w, 2)->free_inodes = LS_UNKNOWN_U64;
	expect(w, "inodes", "n1", CHECK_FAILED, "make 800001 files; 900000 inodes free");
	free_world(w);
}

static void
test_store_on_the_volume(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->own.store_fs_id = "00000000000000aa";
	w->own.store_bytes = 100ULL << 30;
	expect(w, "store", NULL, CHECK_FAILED, "lies on the volume under test");
	for (size_t i = 0; i < NODES; i++)
		set(&volume(w, i)->fs_type, "ext4");
	expect(w, "store", NULL, CHECK_WARNING, "is on the same file system");
	set(&w->job.path, "/var/lib/");
	expect(w, "store", NULL, CHECK_FAILED, "lies on the volume under test");
	w->in.before_run = true;
	expect(w, "store", NULL, CHECK_FAILED, "lies on the volume under test");

	/* Without ids: the same device of the same machine. */
	w->own.store_fs_id = NULL;
	w->own.boot_id = "boot-2";
	set(&volume(w, 1)->device, "8:1");
	expect(w, "store", NULL, CHECK_FAILED, "lies on the volume under test");
	w->own.boot_id = "boot-3";
	check(w);
	assert_int_equal(w->worst, CHECK_OK);
	free_world(w);
}

static void
test_coordinator_on_a_node(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->own.boot_id = "boot-2";
	expect(w, "coordinator", "n2", CHECK_WARNING, "the coordinator runs on this node");
	set(&w->infos[0].facts.boot_id, "boot-2");
	expect(w, "coordinator", NULL, CHECK_WARNING, "2 nodes are on one machine with the coordinator");
	free_world(w);
}

static void
test_locks(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->nodes[2].fcntl_lock = LOCK_GRANTED;
	expect(w, "fcntl locks", "n3", CHECK_WARNING, "local to the node");
	assert_string_equal(text_of(w, "flock locks", NULL),
	    "cluster-wide: none of the other 2 nodes gets the flock lock that n1 holds");
	w->nodes[2].flock = LOCK_MISSING;
	expect(w, "flock locks", "n3", CHECK_WARNING, "missing");
	w->nodes[2].flock = LOCK_UNTRIED;
	expect(w, "flock locks", "n3", CHECK_WARNING, "could not be tried");
	w->nodes[0].flock = LOCK_MISSING;
	expect(w, "flock locks", "n1", CHECK_WARNING, "missing");
	free_world(w);
}

static void
test_engines_and_direct(void **state)
{
	struct world *w = make_world();

	(void)state;
	volume(w, 1)->io_uring = false;
	expect(w, "io_uring", "n2", CHECK_WARNING, "this job does not use it");
	w->job.phases = ls_calloc(1, sizeof(*w->job.phases));
	w->job.phases_count = 1;
	field_struct_init(&phase_desc, w->job.phases);
	w->job.phases[0].engine = ENGINE_IO_URING;
	expect(w, "io_uring", "n2", CHECK_FAILED, "the job uses it");
	volume(w, 2)->libaio = false;
	expect(w, "libaio", "n3", CHECK_WARNING, "not to be had");
	w->job.phases[0].engine = ENGINE_LIBAIO;
	expect(w, "libaio", "n3", CHECK_FAILED, "the job uses it");
	w->in.direct_align = 1024;
	volume(w, 0)->dio_align = 4096;
	expect(w, "direct I/O", "n1", CHECK_FAILED, "needs 4096-byte alignment (learned from statx)");
	volume(w, 0)->dio_align = LS_UNKNOWN_U64;
	expect(w, "direct I/O", "n1", CHECK_FAILED, "not possible");
	free_world(w);
}

static void
test_differences_name_the_odd_node(void **state)
{
	struct world *w = make_world();

	(void)state;
	set(&w->infos[0].facts.kernel, "5.14.0");
	expect(w, "kernel", "n1", CHECK_WARNING, "5.14.0, but n");
	w->nodes[1].build = "def";
	expect(w, "lockstep build", "n2", CHECK_FAILED, "def, but n");
	volume(w, 2)->total_bytes++;
	volume(w, 2)->total_bytes += 1ULL << 30;
	expect(w, "volume size", "n3", CHECK_WARNING, "101 GiB, but n");
	set(&volume(w, 2)->fs_id, "dd");
	expect(w, "file system id", "n3", CHECK_WARNING, "dd, but n");
	set(&volume(w, 1)->mount_options, "rw,noatime,commit=5");
	expect(w, "mount options", "n2", CHECK_WARNING, "commit=5");
	set(&host(w, 2)->governor, "powersave");
	expect(w, "governor", "n3", CHECK_WARNING, "powersave, but n");
	host(w, 0)->block->read_ahead_bytes = 4096;
	expect(w, "device", "n1", CHECK_WARNING, "read-ahead 4 KiB");
	set(&host(w, 1)->clusters[0].name, "mail");
	expect(w, "cluster", "n2", CHECK_WARNING, "cluster mail");
	free_world(w);
}

static void
test_mount_options_that_matter(void **state)
{
	static const struct {
		const char *fs, *options;
		enum check_level level;
		const char *words;
	} cases[] = {
		{ "ocfs2", "rw,noatime,coherency=buffered", CHECK_WARNING, "stale data" },
		{ "ocfs2", "rw,noatime,data=writeback", CHECK_WARNING, "data=writeback: " },
		{ "ocfs2", "rw,noatime,heartbeat=none", CHECK_FAILED, "no other node" },
		{ "ocfs2", "rw,noatime,usrquota", CHECK_WARNING, "user quotas" },
		{ "ocfs2", "rw,noatime,localflocks", CHECK_WARNING, "flock locks exclude only" },
		{ "ocfs2", "rw", CHECK_WARNING, "without noatime" },
		{ "gfs2", "rw,noatime,lockproto=lock_nolock", CHECK_FAILED, "destroy" },
		{ "gfs2", "rw,noatime,localflocks", CHECK_WARNING, "flock and fcntl locks exclude only" },
		{ "gfs2", "rw,noatime,quota=on", CHECK_WARNING, "quotas" },
		{ "nfs4", "rw,local_lock=all", CHECK_WARNING, "exclude only processes" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct world *w = make_world();

		for (size_t i = 0; i < NODES; i++) {
			set(&volume(w, i)->fs_type, cases[k].fs);
			set(&volume(w, i)->mount_options, cases[k].options);
		}
		expect(w, "mount option", NULL, cases[k].level, cases[k].words);
		free_world(w);
	}

	/* On one node only: that one is named. Values that only begin alike do not count. */
	struct world *w = make_world();
	set(&volume(w, 1)->mount_options, "rw,noatime,coherency=buffered");
	expect(w, "mount option", "n2", CHECK_WARNING, "stale data");
	set(&volume(w, 1)->mount_options, "rw,noatime,localalloc=64,usrquotas");
	check(w);
	assert_non_null(strstr(text_of(w, "mount option", "n2"), "localalloc=N: megabytes"));
	assert_int_equal(w->worst, CHECK_WARNING); /* the difference alone */
	free_world(w);
}

static void
test_cluster_state_and_sessions(void **state)
{
	struct world *w = make_world();
	char *session = ls_strdup("iqn.x:vol, FAILED, portal 10.0.0.9:3260");

	(void)state;
	host(w, 1)->clusters[0].nodes = 2;
	expect(w, "cluster state", "n2", CHECK_WARNING, "o2cb knows of 2 nodes, fewer than the 3");
	host(w, 1)->clusters[0].nodes = NODES;
	set(&host(w, 2)->gfs2, "lab:vol has withdrawn after an error");
	expect(w, "cluster state", "n3", CHECK_FAILED, "withdrawn");
	set(&host(w, 2)->gfs2, NULL);
	struct cluster_facts *dlm = &host(w, 1)->clusters[0];
	set(&dlm->stack, "dlm");
	dlm->spaces = ls_calloc(1, sizeof(char *));
	dlm->spaces[dlm->spaces_count++] = ls_strdup("vol: 3 members");
	check(w);
	assert_non_null(strstr(text_of(w, "cluster state", "n2"), "nothing waits for quorum"));
	dlm->stopped = ls_calloc(1, sizeof(char *));
	dlm->stopped[dlm->stopped_count++] = ls_strdup("vol");
	expect(w, "cluster state", "n2", CHECK_FAILED, "lock space vol grants no locks");
	free(dlm->stopped[0]);
	dlm->stopped_count = 0;
	field_struct_fini(&cluster_facts_desc, &host(w, 0)->clusters[0]);
	host(w, 0)->clusters_count = 0;
	expect(w, "cluster state", "n1", CHECK_WARNING, "for this node alone");

	host(w, 1)->block->iscsi = ls_calloc(1, sizeof(char *));
	host(w, 1)->block->iscsi[0] = session;
	host(w, 1)->block->iscsi_count = 1;
	expect(w, "iscsi", "n2", CHECK_FAILED, "FAILED, portal");
	free_world(w);
}

static void
test_memory_swap_and_load(void **state)
{
	struct world *w = make_world();

	(void)state;
	host(w, 0)->swap_used_bytes = 1ULL << 30;
	expect(w, "swap", "n1", CHECK_WARNING, "1 GiB in use");
	host(w, 1)->load = 2.5;
	expect(w, "load", "n2", CHECK_WARNING, "2.50 over the last minute on 4 CPUs");
	w->infos[2].facts.memory_bytes = LS_UNKNOWN_U64;
	expect(w, "memory", "n3", CHECK_WARNING, "not known");
	w->infos[2].facts.memory_bytes = 64ULL << 30;
	w->job.phases = ls_calloc(1, sizeof(*w->job.phases));
	w->job.phases_count = 1;
	field_struct_init(&phase_desc, w->job.phases);
	w->job.phases[0].kind = PHASE_READ;
	expect(w, "memory", "n3", CHECK_WARNING, "below twice the memory");
	w->job.phases[0].direct = true;
	check(w);
	assert_string_equal(text_of(w, "memory", "n3"), "64 GiB, file set of 6.67 GiB per node");
	free_world(w);
}

static void
add_tool(struct world *w, size_t node, const char *version)
{
	struct node_facts *f = &w->infos[node].facts;
	struct tool_facts *t;

	f->tools = ls_grow(f->tools, f->tools_count, sizeof(*f->tools));
	t = &f->tools[f->tools_count++];
	field_struct_init(&tool_facts_desc, t);
	set(&t->name, "fio");
	set(&t->path, "/usr/bin/fio");
	set(&t->version, version);
}

/* The row "external programs" has the name of each program that the job wants. */
static void
test_external_programs(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->job.phases = ls_calloc(1, sizeof(*w->job.phases));
	w->job.phases_count = 1;
	field_struct_init(&phase_desc, w->job.phases);
	w->job.phases[0].kind = PHASE_RUN_FIO;
	add_tool(w, 0, "fio-3.33");
	add_tool(w, 1, "fio-3.33");
	expect(w, "fio", "n3", CHECK_FAILED, "fio");
	add_tool(w, 2, "fio-3.40");
	expect(w, "fio", "n3", CHECK_FAILED, "fio-3.40");
	w->job.allow_mixed_tools = true;
	expect(w, "fio", "n3", CHECK_WARNING, "fio-3.40");
	free_world(w);
}

/* Rows for who asks say nothing before a run: each phase has gates of its own. */
static void
test_before_a_run(void **state)
{
	struct world *w = make_world();

	(void)state;
	w->in.before_run = true;
	host(w, 1)->load = 50;
	w->own.boot_id = "boot-2";
	w->nodes[0].fcntl_lock = w->nodes[0].flock = LOCK_UNTRIED;
	check(w);
	assert_int_equal(w->worst, CHECK_OK);
	free_world(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_wrong),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_one_odd_volume_is_named),
		cmocka_unit_test(test_expected_type),
		cmocka_unit_test(test_space_inodes_and_fill_level),
		cmocka_unit_test(test_store_on_the_volume),
		cmocka_unit_test(test_coordinator_on_a_node),
		cmocka_unit_test(test_locks),
		cmocka_unit_test(test_engines_and_direct),
		cmocka_unit_test(test_differences_name_the_odd_node),
		cmocka_unit_test(test_mount_options_that_matter),
		cmocka_unit_test(test_cluster_state_and_sessions),
		cmocka_unit_test(test_external_programs),
		cmocka_unit_test(test_memory_swap_and_load),
		cmocka_unit_test(test_before_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
