#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "agent/daemon/live_latency.h"
#include "common/base/field.h"

#define NOW_NS (100 * NS_PER_S)

static const struct ls_mono now = { NOW_NS };

static struct shm_map *
make_map(void)
{
	struct shm_map *map;
	struct ls_err err;

	if (shm_map_new(2, &map, &err) != LS_OK)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < 2; i++)
		for (size_t op = 0; op < OP_COUNT; op++)
			hist_reset(&shm_map_worker(map, i)->latency[op]);
	return map;
}

static void
did(struct shm_worker *w, enum op_kind op, uint64_t ns, uint64_t times)
{
	hist_record_many(&w->latency[op], ns, times);
	atomic_fetch_add(&w->op_ops[op], times);
}

static void
test_nothing_is_known_at_first(void **state)
{
	struct shm_map *map = make_map();
	int64_t max, p99;

	(void)state;
	live_latency(map, 2, now, &max, &p99);
	assert_true(max == LS_UNKNOWN_I64 && p99 == LS_UNKNOWN_I64);
	shm_map_free(map);
}

static void
test_workers_and_operations_are_taken_together(void **state)
{
	struct shm_map *map = make_map();
	int64_t max, p99;

	(void)state;
	did(shm_map_worker(map, 0), OP_WRITE, 100, 990);
	did(shm_map_worker(map, 1), OP_READ, 5000, 10);
	live_latency(map, 2, now, &max, &p99);
	assert_int_equal(max, 5000);
	assert_int_equal(p99, 100);
	did(shm_map_worker(map, 1), OP_READ, 5000, 1);
	live_latency(map, 2, now, &max, &p99);
	assert_in_range(p99, 4960, 5040);
	live_latency(map, 1, now, &max, &p99); /* the first one only */
	assert_int_equal(max, 100);
	shm_map_free(map);
}

static void
test_a_call_that_has_not_returned_counts_as_longest(void **state)
{
	static const struct {
		const char *name;
		enum shm_worker_state state;
		enum shm_call call;
		int64_t since_ns, max_ns;
	} cases[] = {
		{ "in a write", SHM_RUNNING, SHM_CALL_PWRITE, NOW_NS - 7 * NS_PER_S, 7 * NS_PER_S },
		{ "waits for its rate", SHM_RUNNING, SHM_CALL_PACE, NOW_NS - 7 * NS_PER_S, 100 },
		{ "another program", SHM_RUNNING, SHM_CALL_TOOL, NOW_NS - 7 * NS_PER_S, 100 },
		{ "in no call", SHM_RUNNING, SHM_CALL_NONE, NOW_NS - 7 * NS_PER_S, 100 },
		{ "parked", SHM_PARKED, SHM_CALL_PWRITE, NOW_NS - 7 * NS_PER_S, 100 },
		{ "began just now", SHM_RUNNING, SHM_CALL_PWRITE, NOW_NS + 5, 100 },
		{ "has not begun one", SHM_RUNNING, SHM_CALL_PWRITE, 0, 100 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct shm_map *map = make_map();
		struct shm_worker *w = shm_map_worker(map, 1);
		int64_t max, p99;

		did(shm_map_worker(map, 0), OP_WRITE, 100, 1);
		atomic_store(&w->state, cases[i].state);
		atomic_store(&w->call, cases[i].call);
		atomic_store(&w->since_ns, cases[i].since_ns);
		live_latency(map, 2, now, &max, &p99);
		if (max != cases[i].max_ns || p99 != 100)
			fail_msg("%s: %lld ns, p99 %lld ns", cases[i].name, (long long)max, (long long)p99);
		shm_map_free(map);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_known_at_first),
		cmocka_unit_test(test_workers_and_operations_are_taken_together),
		cmocka_unit_test(test_a_call_that_has_not_returned_counts_as_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
