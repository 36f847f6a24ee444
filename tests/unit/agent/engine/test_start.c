/* The instant: who starts, when, what counts, when it ends. */
#include "tests/unit/agent/engine/rig.h"

#include "common/base/clock.h"

static struct phase
read_phase(uint64_t size)
{
	struct phase spec = rig_phase(PHASE_READ);

	spec.file_size = size;
	spec.record_size = 4096;
	return spec;
}

struct decision_case {
	const char *name;
	int64_t commit_off; /* committed epoch relative to the armed one */
	int64_t start_in_ns, late_limit_ns;
	enum shm_decision want;
};

static const struct decision_case decisions[] = {
	{ "committed and in time", 0, 2 * NS_PER_MS, RIG_LATE, SHM_STARTED },
	{ "a later epoch is committed", 3, 2 * NS_PER_MS, RIG_LATE, SHM_STARTED },
	{ "no commit", -1, 2 * NS_PER_MS, RIG_LATE, SHM_MISSED_COMMIT },
	{ "the instant lies in the past", 0, -50 * NS_PER_MS, 10 * NS_PER_MS, SHM_MISSED_LATE },
	{ "late but within the limit", 0, -5 * NS_PER_MS, RIG_LATE, SHM_STARTED },
	{ "neither commit nor in time", -1, -50 * NS_PER_MS, 10 * NS_PER_MS, SHM_MISSED_COMMIT },
};

static void
check_decision(struct rig *r, const struct decision_case *c)
{
	struct phase spec = read_phase(64 << 10);
	uint64_t epoch = rig_arm(r, &spec, false);
	int64_t start = ls_mono_now().ns + c->start_in_ns;

	rig_commit(r, epoch + (uint64_t)c->commit_off);
	engine_go(r->engine, (struct ls_mono){ start }, c->late_limit_ns);
	enum shm_decision got = rig_wait(r);
	if (got != c->want)
		fail_msg("%s: decided %d, wanted %d", c->name, (int)got, (int)c->want);
	assert_int_equal(atomic_load(&shm_map_control(r->map)->decision), c->want);
	assert_true(rig_get_i(&shm_map_control(r->map)->decided_ns) >= start);
	/* All workers of the node followed it. */
	for (uint32_t i = 0; i < r->workers[0]; i++) {
		struct shm_worker *w = rig_worker(r, i);
		uint64_t want = c->want == SHM_STARTED ? 16 : 0;
		if (rig_get(&w->done) != want || (rig_get_i(&w->first_op_ns) != 0) != (want != 0))
			fail_msg(
			    "%s: worker %u did %llu operations", c->name, i, (unsigned long long)rig_get(&w->done));
	}
	engine_flush(r->engine);
	rig_no_errors(r);
}

static void
test_decision_is_the_nodes(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 3, 3);
	for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
		check_decision(&r, &decisions[i]);
	rig_fini(&r);
}

static void
test_commit_comes_after_go(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	uint64_t epoch = rig_arm(&r, &spec, false);
	engine_go(r.engine, (struct ls_mono){ ls_mono_now().ns + 100 * NS_PER_MS }, RIG_LATE);
	rig_commit(&r, epoch);
	assert_int_equal(rig_wait(&r), SHM_STARTED);
	rig_fini(&r);
}

static void
test_nobody_begins_before_the_instant(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	unsigned slept = 0;
	rig_init(&r, NULL, 0, 1, 4, 4);
	for (int n = 0; n < 20; n++) {
		int64_t start = rig_run(&r, &spec);
		for (uint32_t i = 0; i < 4; i++) {
			assert_true(rig_get_i(&rig_worker(&r, i)->first_op_ns) >= start);
			slept += rig_get_i(&rig_worker(&r, i)->wake_late_ns) > 0;
		}
	}
	assert_true(slept > 0); /* on a busy machine some come too late to sleep at all */
	rig_fini(&r);
}

static void
test_64_workers_on_few_processors(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	rig_init(&r, NULL, 0, 1, 64, 64);
	for (int n = 0; n < 3; n++) {
		rig_run(&r, &spec);
		for (uint32_t i = 0; i < 64; i++)
			assert_int_equal(rig_get(&rig_worker(&r, i)->ops), 16);
	}
	/* Fewer in the next phase: the rest keeps out of it and shows nothing. */
	r.workers[0] = 2;
	rig_run(&r, &spec);
	assert_int_equal(rig_get(&rig_worker(&r, 1)->ops), 16);
	assert_int_equal(rig_get(&rig_worker(&r, 2)->ops), 0);
	assert_int_equal(atomic_load(&rig_worker(&r, 2)->state), SHM_IDLE);
	rig_fini(&r);
}

static void
test_more_workers_than_room(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);
	struct io_error error;
	struct ls_err err;
	uint64_t epoch;

	(void)state;
	rig_init(&r, NULL, 0, 1, 3, 2);
	assert_int_equal(rig_try_arm(&r, &spec, false, &epoch, &error, &err), LS_E_LIMIT);
	assert_string_equal(error.step, "arm");
	assert_string_equal(error.text, err.text);
	assert_non_null(strstr(err.text, "3 workers"));
	field_struct_fini(&io_error_desc, &error);
	rig_fini(&r);
}

static void
test_idle_node_has_left_at_once(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	rig_init(&r, NULL, 0, 2, 1, 1);
	r.workers[0] = 0;
	rig_start(&r, rig_arm(&r, &spec, false));
	assert_int_equal(rig_wait(&r), SHM_STARTED);
	assert_int_equal(engine_flush(r.engine) < NS_PER_S, 1);
	assert_int_equal(rig_count(&r, "."), 0);
	rig_fini(&r);
}

/* What began before the warm-up's end is done and not counted. */
static void
check_warmup(struct rig *r, enum phase_engine engine)
{
	struct phase spec = read_phase(1 << 20);

	spec.engine = (int)engine;
	spec.depth = engine == ENGINE_SYNC ? 1 : 4;
	spec.warmup = 40 * NS_PER_MS;
	spec.time = 60 * NS_PER_MS;
	int64_t start = rig_run(r, &spec);
	int64_t end = start + spec.warmup + spec.time;
	for (uint32_t i = 0; i < r->workers[0]; i++) {
		struct shm_worker *w = rig_worker(r, i);
		assert_true(rig_get_i(&w->first_op_ns) < start + spec.warmup);
		assert_true(rig_get_i(&w->start_ns) >= start + spec.warmup);
		assert_true(rig_get_i(&w->end_ns) >= rig_get_i(&w->start_ns));
		assert_true(rig_get_i(&w->end_ns) < end + 2 * NS_PER_S);
		assert_true(rig_get(&w->done) > rig_get(&w->ops));
		assert_true(rig_get(&w->ops) > 0);
		assert_int_equal(rig_get(&w->bytes), rig_get(&w->ops) * 4096);
		assert_int_equal(rig_get(&w->latency[OP_READ].count), rig_get(&w->ops));
		assert_true(rig_get_i(&w->ring[0].at_ns) > start + spec.warmup);
		assert_true(rig_get_i(&w->cpu_user_ns) + rig_get_i(&w->cpu_system_ns) > 0);
	}
}

static void
test_warmup_and_time(void **state)
{
	static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO };
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	for (size_t i = 0; i < ARRAY_LEN(engines); i++)
		if (engine_supports(engines[i], NULL) == LS_OK)
			check_warmup(&r, engines[i]);
	rig_fini(&r);
}

static void
test_warmup_longer_than_the_work_counts_nothing(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	spec.warmup = 3600 * NS_PER_S;
	rig_init(&r, NULL, 0, 1, 1, 1);
	rig_run(&r, &spec);
	struct shm_worker *w = rig_worker(&r, 0);
	assert_int_equal(rig_get(&w->done), 16);
	assert_int_equal(rig_get(&w->ops), 0);
	assert_int_equal(rig_get_i(&w->start_ns), 0);
	assert_true(rig_get_i(&w->end_ns) > 0);
	assert_int_equal(rig_get(&w->ring_count), 0);
	rig_fini(&r);
}

/* Steps lie on the grid, at most one in each, and never go back. */
static void
test_steps(void **state)
{
	struct rig r;
	struct phase spec = read_phase(1 << 20);

	(void)state;
	spec.time = 300 * NS_PER_MS;
	rig_init(&r, NULL, 0, 1, 1, 1);
	int64_t start = rig_run(&r, &spec);
	struct shm_worker *w = rig_worker(&r, 0);
	uint64_t n = rig_get(&w->ring_count);
	assert_true(n >= 2 && n <= 26);
	for (uint64_t i = 1; i < n; i++) {
		int64_t before = (rig_get_i(&w->ring[i - 1].at_ns) - start) / SHM_STEP_NS;
		int64_t now = (rig_get_i(&w->ring[i].at_ns) - start) / SHM_STEP_NS;
		assert_true(now > before || i == n - 1);
		assert_true(rig_get(&w->ring[i].bytes) >= rig_get(&w->ring[i - 1].bytes));
		assert_true(rig_get(&w->ring[i].ops) >= rig_get(&w->ring[i - 1].ops));
	}
	assert_int_equal(rig_get(&w->ring[n - 1].ops), rig_get(&w->ops));
	rig_fini(&r);
}

static void
test_stop(void **state)
{
	static const enum phase_engine engines[] = { ENGINE_SYNC, ENGINE_IO_URING, ENGINE_LIBAIO, ENGINE_NULL };
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct phase spec = read_phase(64 << 10);
		struct engine_arm arm = { .spec = &spec, .node_workers = r.workers };
		struct ls_err err;
		uint64_t epoch;
		if (engine_supports(engines[i], NULL) != LS_OK)
			continue;
		spec.engine = (int)engines[i];
		spec.depth = engines[i] == ENGINE_SYNC || engines[i] == ENGINE_NULL ? 1 : 4;
		spec.time = 3600 * NS_PER_S;
		rig_start(&r, rig_arm(&r, &spec, false));
		while (rig_get(&rig_worker(&r, 0)->ops) < 10 || rig_get(&rig_worker(&r, 1)->ops) < 10)
			poll(NULL, 0, 1);
		assert_int_equal(engine_arm(r.engine, &arm, &epoch, NULL, &err), LS_E_STATE);
		engine_stop(r.engine);
		assert_int_equal(rig_wait(&r), SHM_STARTED);
		engine_flush(r.engine);
		rig_no_errors(&r);
		assert_true(rig_get_i(&rig_worker(&r, 0)->end_ns) > 0);
		assert_int_equal(atomic_load(&rig_worker(&r, 0)->state), SHM_ENDED);
	}
	/* A stop for one epoch does not touch the next. */
	struct phase spec = read_phase(64 << 10);
	rig_run(&r, &spec);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->ops), 16);
	rig_fini(&r);
}

static void
test_stop_before_the_instant(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	rig_init(&r, NULL, 0, 1, 2, 2);
	uint64_t epoch = rig_arm(&r, &spec, false);
	rig_commit(&r, epoch);
	engine_go(r.engine, (struct ls_mono){ ls_mono_now().ns + 20 * NS_PER_MS }, RIG_LATE);
	engine_stop(r.engine);
	rig_wait(&r);
	assert_int_equal(rig_get(&rig_worker(&r, 0)->done), 0);
	rig_fini(&r);
}

/* Freed in the middle of a phase: the workers end first. */
static void
test_free_while_running(void **state)
{
	struct rig r;
	struct phase spec = read_phase(64 << 10);

	(void)state;
	spec.time = 3600 * NS_PER_S;
	rig_init(&r, NULL, 0, 1, 2, 2);
	rig_start(&r, rig_arm(&r, &spec, false));
	while (rig_get(&rig_worker(&r, 0)->ops) < 10)
		poll(NULL, 0, 1);
	rig_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decision_is_the_nodes),
		cmocka_unit_test(test_commit_comes_after_go),
		cmocka_unit_test(test_nobody_begins_before_the_instant),
		cmocka_unit_test(test_64_workers_on_few_processors),
		cmocka_unit_test(test_more_workers_than_room),
		cmocka_unit_test(test_idle_node_has_left_at_once),
		cmocka_unit_test(test_warmup_and_time),
		cmocka_unit_test(test_warmup_longer_than_the_work_counts_nothing),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_before_the_instant),
		cmocka_unit_test(test_free_while_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
