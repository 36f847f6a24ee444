/* When operations begin where the job says so, by each back end. */
#include "tests/unit/agent/engine/rig.h"

#include <sched.h>

#include "agent/engine/pace.h"

struct due_case {
	const char *name;
	uint64_t ops_per_s, bytes_per_s;
	int64_t think_ns;
	uint64_t bytes; /* of each operation */
	int64_t took;   /* each ends so long after it was due */
	int64_t due[4]; /* of the first ones */
};

static const struct due_case cases[] = {
	{ "100 operations per second", 100, 0, 0, 4096, 1, { 0, 10000000, 20000000, 30000000 } },
	{ "3 per second", 3, 0, 0, 1, 1, { 0, 333333333, 666666666, 1000000000 } },
	{ "a slow one does not move the next", 100, 0, 0, 4096, NS_PER_S, { 0, 10000000, 20000000, 30000000 } },
	{ "1 MiB per second", 0, 1 << 20, 0, 1 << 18, 1, { 0, 250000000, 500000000, 750000000 } },
	{ "the later of both", 4, 1 << 20, 0, 1 << 19, 1, { 0, 500000000, 1000000000, 1500000000 } },
	{ "a rate beyond any", 0, INT64_MAX, 0, 1 << 30, 1, { 0, 0, 0, 0 } },
	{ "a pause", 0, 0, 1000, 4096, 5, { 0, 1005, 2010, 3015 } },
};

static void
test_instants(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct due_case *c = &cases[i];
		struct pace p = { c->ops_per_s, c->bytes_per_s, c->think_ns, 0, 0 };
		int64_t ended = 0;
		for (size_t k = 0; k < 4; k++) {
			int64_t due = pace_due(&p, ended, c->bytes);
			if (due != c->due[k])
				fail_msg("%s: operation %zu is due at %lld, not %lld", c->name, k, (long long)due,
				    (long long)c->due[k]);
			ended = due + c->took;
		}
	}
}

/* No drift, however long. */
static void
test_a_year_of_instants(void **state)
{
	struct pace p = { .ops_per_s = 7, .ops = 7ULL * 86400 * 365 };

	(void)state;
	assert_int_equal(pace_due(&p, 0, 1), 86400LL * 365 * NS_PER_S);
}

static const struct {
	enum phase_kind kind;
	enum phase_engine engine;
	uint64_t depth;
} engines[] = {
	{ PHASE_READ, ENGINE_SYNC, 1 },
	{ PHASE_RANDOM_WRITE, ENGINE_IO_URING, 4 },
	{ PHASE_RANDOM_READ, ENGINE_IO_URING, 1 },
	{ PHASE_RANDOM_READ, ENGINE_LIBAIO, 4 },
	{ PHASE_MIXED, ENGINE_LIBAIO, 1 },
	{ PHASE_FREAD, ENGINE_SYNC, 1 },
	{ PHASE_READ, ENGINE_NULL, 1 },
};

static struct phase
paced(size_t i)
{
	struct phase spec = rig_phase(engines[i].kind);

	spec.file_size = 1 << 20;
	spec.record_size = 4096;
	spec.engine = (int)engines[i].engine;
	spec.depth = engines[i].depth;
	spec.time = NS_PER_S / 2;
	return spec;
}

static struct shm_worker *
run(struct rig *r, const struct phase *spec)
{
	uint64_t epoch = rig_arm(r, spec, false);

	rig_start(r, epoch);
	assert_int_equal(rig_wait(r), SHM_STARTED);
	engine_flush(r->engine);
	rig_no_errors(r);
	return rig_worker(r, 0);
}

/* So many operations in the time, no more: the worker sleeps in between. Fewer only if the machine stood still at the very end. */
static void
test_rate_holds(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct phase spec = paced(i);
		spec.rate_ops = i % 2 ? 0 : 100;
		spec.rate_bytes = i % 2 ? 400 << 10 : 0;
		struct shm_worker *w = run(&r, &spec);
		if (rig_get(&w->ops) < 40 || rig_get(&w->ops) > 50)
			fail_msg("case %zu: %llu operations in half a second of 100 per second", i,
			    (unsigned long long)rig_get(&w->ops));
		uint64_t latencies = 0, services = 0;
		for (int op = 0; op < OP_COUNT; op++) {
			latencies += rig_get(&w->latency[op].count);
			services += rig_get(&w->service[op].count);
			if (rig_get(&w->latency[op].count) > 0)
				assert_true(rig_get(&w->latency[op].sum) >= rig_get(&w->service[op].sum));
		}
		assert_int_equal(latencies, rig_get(&w->ops));
		assert_int_equal(services, rig_get(&w->ops));
		/* Asleep, not spinning: far less CPU time than wall time. */
		assert_true(rig_get_i(&w->cpu_user_ns) + rig_get_i(&w->cpu_system_ns) < NS_PER_S / 4);
	}
	rig_fini(&r);
}

/* 10 ms between operations: no more than 51 (and the depth) in half a second, and the pause is in no latency. */
static void
test_think_time(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct phase spec = paced(i);
		spec.think = 10 * NS_PER_MS;
		struct shm_worker *w = run(&r, &spec);
		assert_in_range(rig_get(&w->ops), 5 * engines[i].depth, 50 * engines[i].depth);
		for (int op = 0; op < OP_COUNT; op++) {
			assert_int_equal(rig_get(&w->service[op].count), 0);
			if (rig_get(&w->latency[op].count) > 0)
				assert_true(rig_get(&w->latency[op].min) < 10 * NS_PER_MS);
		}
	}
	rig_fini(&r);
}

/* A worker that sleeps for a long time leaves when it is told to. */
static void
test_stop_is_heard_in_a_pause(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, NULL, 0, 1, 1, 1);
	for (size_t i = 0; i < ARRAY_LEN(engines); i++) {
		struct phase spec = paced(i);
		spec.time = 0;
		spec.think = 3600 * NS_PER_S;
		uint64_t epoch = rig_arm(&r, &spec, false);
		rig_start(&r, epoch);
		while (rig_get(&rig_worker(&r, 0)->done) < engines[i].depth)
			sched_yield();
		engine_stop(r.engine);
		assert_int_equal(rig_wait(&r), SHM_STARTED);
		assert_int_equal(rig_get(&rig_worker(&r, 0)->ops), engines[i].depth);
	}
	rig_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instants),
		cmocka_unit_test(test_a_year_of_instants),
		cmocka_unit_test(test_rate_holds),
		cmocka_unit_test(test_think_time),
		cmocka_unit_test(test_stop_is_heard_in_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
