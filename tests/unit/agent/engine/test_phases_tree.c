/* bonnie++'s small files, judged by what is in the trees. */
#include "tests/unit/agent/engine/rig.h"

#define FILES 50

static struct phase
tree_phase(enum phase_kind kind, enum phase_order order, uint64_t directories)
{
	struct phase spec = rig_phase(kind);

	spec.files = FILES;
	spec.size = 3000;
	spec.min_size = 100;
	spec.record_size = 1024;
	spec.directories = directories;
	spec.order = (int)order;
	return spec;
}

/* Files below n0/b.<worker>, and what their sizes are together. */
static size_t
count_files(struct rig *r, uint32_t worker, uint64_t directories, uint64_t *bytes)
{
	size_t n = 0;

	*bytes = 0;
	for (uint64_t d = 0; d < LS_MAX(directories, 1ULL); d++) {
		char path[64];
		struct dirent *entry;
		snprintf(path, sizeof(path), directories > 1 ? "n0/b.%u/%05u" : "n0/b.%u", worker, (unsigned)d);
		int fd = openat(r->dir_fd, path, O_RDONLY | O_DIRECTORY);
		if (fd < 0)
			return n;
		DIR *dir = fdopendir(fd);
		while ((entry = readdir(dir)) != NULL) {
			struct stat st;
			if (entry->d_name[0] == '.')
				continue;
			assert_int_equal(fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
			*bytes += (uint64_t)st.st_size;
			n++;
		}
		closedir(dir);
	}
	return n;
}

static void
check_ops(struct rig *r, enum op_kind op, uint64_t bytes[2])
{
	for (uint32_t i = 0; i < 2; i++) {
		struct shm_worker *w = rig_worker(r, i);
		assert_int_equal(rig_get(&w->op_ops[op]), FILES);
		assert_int_equal(rig_get(&w->ops), FILES);
		assert_int_equal(rig_get(&w->bytes), bytes[i]);
		assert_int_equal(rig_get(&w->latency[op].count), FILES);
	}
}

static void
run_tree(enum phase_order order, uint64_t directories, enum phase_semantics semantics, bool sync)
{
	uint64_t bytes[2], none[2] = { 0, 0 };
	struct rig r;
	struct phase spec = tree_phase(PHASE_BONNIE_CREATE, order, directories);

	rig_init(&r, NULL, 0, 2, 2, 2);
	spec.semantics = (int)semantics;
	spec.fsync = sync;
	rig_run(&r, &spec);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(count_files(&r, i, directories, &bytes[i]), FILES);
		assert_true(bytes[i] > 100 * FILES && bytes[i] < 3000 * FILES);
	}
	check_ops(&r, OP_CREATE, bytes);
	spec.kind = PHASE_BONNIE_STAT;
	rig_run(&r, &spec);
	check_ops(&r, OP_STAT, bytes);
	spec.kind = PHASE_BONNIE_DELETE;
	rig_run(&r, &spec);
	check_ops(&r, OP_DELETE, none);
	assert_int_equal(rig_size(&r, "n0/b.0"), -1);
	assert_int_equal(rig_size(&r, "n0/b.1"), -1);
	rig_fini(&r);
}

static void
test_create_stat_delete(void **state)
{
	(void)state;
	for (int order = ORDER_SEQUENTIAL; order <= ORDER_RANDOM; order++)
		for (uint64_t directories = 0; directories < 4; directories++)
			run_tree((enum phase_order)order, directories, directories % 2 == 0 ? BONNIE_2_00 : BONNIE_1_03,
			    directories > 1);
}

/* A tree that is not as the phase needs it is made anew, also after one that was cut short. */
static void
test_trees_are_made_as_needed(void **state)
{
	uint64_t bytes;
	struct rig r;
	struct phase spec = tree_phase(PHASE_BONNIE_STAT, ORDER_RANDOM, 3);

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	rig_run(&r, &spec);
	assert_int_equal(count_files(&r, 0, 3, &bytes), FILES);
	spec.order = ORDER_SEQUENTIAL;
	spec.directories = 2;
	rig_run(&r, &spec);
	assert_int_equal(count_files(&r, 0, 2, &bytes), FILES);

	rig_arm(&r, &spec, true); /* an attempt that never starts */
	spec.kind = PHASE_BONNIE_CREATE;
	rig_arm(&r, &spec, true);
	assert_int_equal(count_files(&r, 0, 2, &bytes), 0);
	spec.kind = PHASE_BONNIE_DELETE;
	rig_run(&r, &spec);
	assert_int_equal(rig_size(&r, "n0/b.0"), -1);
	rig_fini(&r);
}

static void
test_links(void **state)
{
	(void)state;
	for (int links = LINKS_HARD; links <= LINKS_SYMBOLIC; links++) {
		uint64_t bytes;
		struct rig r;
		struct stat st;
		struct phase spec = tree_phase(PHASE_BONNIE_CREATE, ORDER_SEQUENTIAL, links == LINKS_HARD ? 2 : 1);
		spec.size = spec.min_size = 0;
		spec.links = links;
		rig_init(&r, NULL, 0, 1, 1, 1);
		rig_run(&r, &spec);
		assert_int_equal(count_files(&r, 0, spec.directories, &bytes), FILES);
		for (int kind = PHASE_BONNIE_STAT; kind <= PHASE_BONNIE_DELETE; kind++) {
			spec.kind = kind;
			rig_run(&r, &spec);
			assert_int_equal(rig_get(&rig_worker(&r, 0)->ops), FILES);
		}
		assert_int_equal(fstatat(r.dir_fd, "n0/b.0", &st, 0), -1);
		rig_fini(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_stat_delete),
		cmocka_unit_test(test_trees_are_made_as_needed),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
