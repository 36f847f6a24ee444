/* Creating, asking and deleting files, judged by what is in the directories. */
#include "tests/unit/agent/engine/rig.h"

#include "common/base/clock.h"

#define FILES 50

static struct phase
meta_phase(enum phase_kind kind, enum phase_dirs dirs)
{
	struct phase spec = rig_phase(kind);

	spec.files = FILES;
	spec.size = 5000;
	spec.dirs = (int)dirs;
	return spec;
}

/* Files of both workers in the directories. */
static size_t
files_there(struct rig *r, enum phase_dirs dirs)
{
	if (dirs == DIRS_SHARED)
		return rig_count(r, "shared/d");
	return rig_count(r, "n1/d.0") + rig_count(r, "n1/d.1");
}

static void
check_ops(struct rig *r, enum op_kind op, uint64_t ops, uint64_t bytes)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct shm_worker *w = rig_worker(r, i);
		assert_int_equal(rig_get(&w->ops), ops);
		assert_int_equal(rig_get(&w->bytes), bytes);
		assert_int_equal(rig_get(&w->op_ops[op]), ops);
		assert_int_equal(rig_get(&w->latency[op].count), ops);
		assert_true(rig_get_i(&w->end_ns) >= rig_get_i(&w->start_ns));
	}
}

static void
check_name(struct rig *r, enum phase_dirs dirs, uint32_t worker, unsigned i, off_t size)
{
	char path[96];

	if (dirs == DIRS_SHARED)
		snprintf(path, sizeof(path), "shared/d/%08x.1.%u", i, worker);
	else
		snprintf(path, sizeof(path), "n1/d.%u/%08x", worker, i);
	if (rig_size(r, path) != size)
		fail_msg("%s has %jd bytes, wanted %jd", path, (intmax_t)rig_size(r, path), (intmax_t)size);
	if (size > 0)
		rig_check_stamps(r, path, 0, (uint64_t)size, data_writer(1, worker), 0);
}

static void
test_create_stat_delete(void **state)
{
	(void)state;
	for (int dirs = DIRS_PRIVATE; dirs <= DIRS_SHARED; dirs++)
		for (int sync = 0; sync < 2; sync++) {
			struct rig r;
			rig_init(&r, NULL, 1, 2, 2, 2);
			struct phase spec = meta_phase(PHASE_CREATE, (enum phase_dirs)dirs);
			spec.fsync = sync != 0;
			rig_run(&r, &spec);
			check_ops(&r, OP_CREATE, FILES, FILES * spec.size);
			assert_int_equal(files_there(&r, (enum phase_dirs)dirs), 2 * FILES);
			for (unsigned i = 0; i < 2 * FILES; i++)
				check_name(&r, (enum phase_dirs)dirs, i % 2, i / 2, (off_t)spec.size);

			spec.kind = PHASE_STAT;
			rig_run(&r, &spec);
			check_ops(&r, OP_STAT, FILES, 0);
			spec.kind = PHASE_DELETE;
			rig_run(&r, &spec);
			check_ops(&r, OP_DELETE, FILES, 0);
			assert_int_equal(files_there(&r, (enum phase_dirs)dirs), 0);
			rig_fini(&r);
		}
}

static void
test_missing_files_are_laid_out(void **state)
{
	static const enum phase_kind kinds[] = { PHASE_STAT, PHASE_DELETE };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct rig r;
		struct phase spec = meta_phase(kinds[k], DIRS_PRIVATE);
		rig_init(&r, NULL, 1, 2, 2, 2);
		uint64_t epoch = rig_arm(&r, &spec, false);
		assert_int_equal(files_there(&r, DIRS_PRIVATE), 2 * FILES);
		check_name(&r, DIRS_PRIVATE, 1, FILES - 1, (off_t)spec.size);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->done), 0);
		rig_start(&r, epoch);
		assert_int_equal(rig_wait(&r), SHM_STARTED);
		engine_flush(r.engine);
		rig_no_errors(&r);
		check_ops(&r, phase_kind_info(kinds[k])->op, FILES, 0);
		rig_fini(&r);
	}
}

/* Numbers of files that differ from phase to phase: what is there is known, what is missing comes. */
static void
test_numbers_of_files_differ(void **state)
{
	static const struct {
		enum phase_kind kind;
		uint64_t files;
		size_t left; /* of both workers, after the phase */
	} steps[] = {
		{ PHASE_CREATE, 30, 60 },
		{ PHASE_STAT, 40, 80 },
		{ PHASE_DELETE, 10, 60 },
		{ PHASE_STAT, 20, 80 },
		{ PHASE_DELETE, 40, 0 },
		{ PHASE_STAT, 5, 10 },
		{ PHASE_CREATE, 7, 14 },
		{ PHASE_CREATE, 3, 6 },
		{ PHASE_DELETE, 3, 0 },
		{ PHASE_CREATE, 9, 18 },
		{ PHASE_DELETE, 8, 2 },
		{ PHASE_STAT, 2, 4 },
	};
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 1, 2, 2, 2);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct phase spec = meta_phase(steps[i].kind, DIRS_PRIVATE);
		spec.files = steps[i].files;
		rig_run(&r, &spec);
		check_ops(&r, phase_kind_info(steps[i].kind)->op, steps[i].files,
		    steps[i].kind == PHASE_CREATE ? steps[i].files * spec.size : 0);
		if (files_there(&r, DIRS_PRIVATE) != steps[i].left)
			fail_msg("step %zu: %zu files, wanted %zu", i, files_there(&r, DIRS_PRIVATE), steps[i].left);
	}
	rig_fini(&r);
}

/* A void attempt that had started: the next arm finds the state before it. */
static void
test_redo(void **state)
{
	static const struct {
		enum phase_kind kind;
		size_t before;
	} cases[] = { { PHASE_CREATE, 0 }, { PHASE_DELETE, 2 * FILES } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rig r;
		struct phase spec = meta_phase(cases[i].kind, DIRS_SHARED);
		rig_init(&r, NULL, 1, 2, 2, 2);
		rig_run(&r, &spec);
		rig_arm(&r, &spec, true);
		assert_int_equal(files_there(&r, DIRS_SHARED), cases[i].before);
		rig_fini(&r);
	}
}

static void
test_no_files_is_idle(void **state)
{
	struct rig r;
	struct phase spec = meta_phase(PHASE_CREATE, DIRS_PRIVATE);

	(void)state;
	spec.files = 0;
	rig_init(&r, NULL, 1, 2, 2, 2);
	for (int kind = PHASE_CREATE; kind <= PHASE_DELETE; kind++) {
		spec.kind = kind;
		rig_run(&r, &spec);
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(atomic_load(&rig_worker(&r, i)->state), SHM_IDLE);
			assert_int_equal(rig_get(&rig_worker(&r, i)->done), 0);
			assert_int_equal(rig_get_i(&rig_worker(&r, i)->start_ns), 0);
		}
	}
	rig_fini(&r);
}

static void
test_time(void **state)
{
	struct rig r;
	struct phase spec = meta_phase(PHASE_STAT, DIRS_PRIVATE);

	(void)state;
	rig_init(&r, NULL, 1, 2, 2, 2);
	spec.time = 50 * NS_PER_MS;
	rig_run(&r, &spec);
	assert_true(rig_get(&rig_worker(&r, 0)->ops) > 2 * FILES); /* went round */
	spec.kind = PHASE_DELETE;
	spec.time = 60 * NS_PER_S;
	rig_run(&r, &spec); /* ends when all are gone */
	check_ops(&r, OP_DELETE, FILES, 0);
	spec.kind = PHASE_CREATE;
	spec.files = 100000000;
	spec.size = 0;
	spec.time = 50 * NS_PER_MS;
	rig_run(&r, &spec); /* ends when the time is over */
	uint64_t made = rig_get(&rig_worker(&r, 0)->ops) + rig_get(&rig_worker(&r, 1)->ops);
	assert_true(made > 0);
	assert_int_equal(files_there(&r, DIRS_PRIVATE), made);
	rig_fini(&r);
}

static void
test_open_close_and_chmod(void **state)
{
	(void)state;
	for (int dirs = DIRS_PRIVATE; dirs <= DIRS_SHARED; dirs++) {
		struct rig r;
		struct stat st;
		rig_init(&r, NULL, 1, 2, 2, 2);
		struct phase spec = meta_phase(PHASE_OPEN_CLOSE, (enum phase_dirs)dirs);
		rig_run(&r, &spec);
		check_ops(&r, OP_OPEN, FILES, 0);
		spec.kind = PHASE_CHMOD;
		rig_run(&r, &spec);
		check_ops(&r, OP_CHMOD, FILES, 0);
		const char *path = dirs == DIRS_SHARED ? "shared/d/00000031.1.1" : "n1/d.1/00000031";
		assert_int_equal(fstatat(r.dir_fd, path, &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
		rig_fini(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_stat_delete),
		cmocka_unit_test(test_open_close_and_chmod),
		cmocka_unit_test(test_missing_files_are_laid_out),
		cmocka_unit_test(test_numbers_of_files_differ),
		cmocka_unit_test(test_redo),
		cmocka_unit_test(test_no_files_is_idle),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
