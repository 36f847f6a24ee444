#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/shm/counters.h"

static void
test_both_sides_see_the_same(void **state)
{
	struct shm_map *agent, *runner;
	struct ls_err err;

	(void)state;
	assert_int_equal(shm_map_new(3, &agent, &err), LS_OK);
	assert_int_equal(shm_map_open(dup(shm_map_fd(agent)), &runner, &err), LS_OK);
	assert_int_equal(shm_map_workers(runner), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal((uintptr_t)shm_map_worker(runner, i) % LS_CACHE_LINE, 0);
		atomic_store(&shm_map_worker(runner, i)->bytes, 100 + i);
	}
	atomic_store(&shm_map_control(agent)->commit_epoch, 7);
	shm_map_free(runner);
	assert_int_equal(atomic_load(&shm_map_worker(agent, 2)->bytes), 102); /* outlives the runner's mapping */
	assert_int_equal(atomic_load(&shm_map_control(agent)->commit_epoch), 7);
	shm_map_free(agent);
	shm_map_free(NULL);
}

static void
test_size_is_sealed(void **state)
{
	struct shm_map *map;

	(void)state;
	assert_int_equal(shm_map_new(1, &map, NULL), LS_OK);
	assert_int_equal(ftruncate(shm_map_fd(map), 0), -1);
	assert_int_equal(ftruncate(shm_map_fd(map), 1 << 30), -1);
	shm_map_free(map);
}

/* A memfd with that many bytes, these seals and this control block. */
static int
make_fd(off_t size, int seals, const struct shm_control *control)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_true(pwrite(fd, control, sizeof(*control), 0) > 0);
	assert_int_equal(ftruncate(fd, size), 0);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
test_foreign_descriptors_are_refused(void **state)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	const off_t right = (off_t)(sizeof(struct shm_control) + 2 * sizeof(struct shm_worker));
	const struct {
		const char *name;
		uint64_t magic;
		uint32_t version, workers;
		off_t size;
		int seals;
		const char *says;
	} cases[] = {
		{ "not sealed", SHM_MAGIC, SHM_VERSION, 2, right, 0, "not sealed" },
		{ "half sealed", SHM_MAGIC, SHM_VERSION, 2, right, F_SEAL_GROW, "not sealed" },
		{ "too small", SHM_MAGIC, SHM_VERSION, 2, 16, seals, "only 16 bytes" },
		{ "other magic", 1, SHM_VERSION, 2, right, seals, "not made by" },
		{ "other version", SHM_MAGIC, SHM_VERSION + 1, 2, right, seals, "this runner knows" },
		{ "size of other workers", SHM_MAGIC, SHM_VERSION, 3, right, seals, "3 workers" },
		{ "absurd number", SHM_MAGIC, SHM_VERSION, UINT32_MAX, right, seals, "4294967295 workers" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct shm_control control = {
			.magic = cases[i].magic, .version = cases[i].version, .workers = cases[i].workers
		};
		struct shm_map *map;
		struct ls_err err;
		int fd = make_fd(cases[i].size, cases[i].seals, &control);
		assert_int_equal(shm_map_open(fd, &map, &err), LS_E_INVALID);
		if (strstr(err.text, cases[i].says) == NULL)
			fail_msg("%s: %s", cases[i].name, err.text);
		assert_int_equal(fcntl(fd, F_GETFD), -1); /* taken over and closed */
	}

	struct shm_map *map;
	struct ls_err err;
	assert_int_equal(shm_map_open(open("/dev/null", O_RDWR), &map, &err), LS_E_SYS);
}

static void
test_reset_empties_all(void **state)
{
	struct shm_map *map;

	(void)state;
	assert_int_equal(shm_map_new(1, &map, NULL), LS_OK);
	struct shm_worker *w = shm_map_worker(map, 0);
	shm_worker_reset(w);
	hist_record(&w->latency[OP_READ], 1000);
	atomic_store(&w->bytes, 1);
	atomic_store(&w->ring_count, 5);
	atomic_store(&w->ring[3].bytes, 9);
	atomic_store(&w->op_ops[OP_READ], 1);
	atomic_store(&w->op_ops[OP_STAT], 2);
	atomic_store(&w->state, SHM_RUNNING);
	strcpy(w->file, "x");
	shm_worker_reset(w);
	assert_int_equal(atomic_load(&w->bytes), 0);
	assert_int_equal(atomic_load(&w->ring_count), 0);
	assert_int_equal(atomic_load(&w->ring[3].bytes), 0);
	assert_int_equal(atomic_load(&w->op_ops[OP_STAT]), 0);
	assert_int_equal(atomic_load(&w->state), SHM_IDLE);
	assert_string_equal(w->file, "");
	for (int op = 0; op < OP_COUNT; op++) {
		assert_int_equal(atomic_load(&w->latency[op].count), 0);
		assert_int_equal(atomic_load(&w->latency[op].buckets[hist_index(1000)]), 0);
	}
	shm_map_free(map);
}

/* A thousand workers that do one kind of operation cost what they touch, not what there is room for. */
static void
test_unused_histograms_cost_little(void **state)
{
	struct shm_map *map;
	struct stat st;

	(void)state;
	assert_int_equal(shm_map_new(1000, &map, NULL), LS_OK);
	for (uint32_t i = 0; i < 1000; i++)
		shm_worker_reset(shm_map_worker(map, i));
	assert_int_equal(fstat(shm_map_fd(map), &st), 0);
	assert_true(st.st_blocks * 512 < 48LL << 20);
	shm_map_free(map);
}

static void
test_every_call_has_a_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHM_CALL_COUNT; i++)
		assert_true(shm_call_names[i] != NULL && shm_call_names[i][0] != '\0');
	assert_null(shm_call_names[SHM_CALL_COUNT]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_sides_see_the_same),
		cmocka_unit_test(test_size_is_sealed),
		cmocka_unit_test(test_foreign_descriptors_are_refused),
		cmocka_unit_test(test_reset_empties_all),
		cmocka_unit_test(test_unused_histograms_cost_little),
		cmocka_unit_test(test_every_call_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
