/* What counts, and when a step is noted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "agent/engine/tally.h"

struct fixture {
	struct shm_map *map;
	struct shm_worker *w;
	struct tally t;
};

static void
set_up(struct fixture *f, int64_t start, int64_t warmup, int64_t time)
{
	assert_int_equal(shm_map_new(1, &f->map, NULL), LS_OK);
	f->w = shm_map_worker(f->map, 0);
	shm_worker_reset(f->w);
	tally_arm(&f->t, f->w, shm_map_control(f->map), 1, OP_READ);
	atomic_store(&shm_map_control(f->map)->limit_ns, tally_limit_ns(start, warmup, time));
	tally_go(&f->t, start, warmup);
	getrusage(RUSAGE_THREAD, &f->t.cpu);
}

static void
op(struct fixture *f, int64_t begin, int64_t end, uint64_t bytes)
{
	tally_begin(&f->t, begin);
	tally_end(&f->t, begin, end, bytes);
	tally_note(&f->t, end);
}

static void
test_warmup_is_done_but_not_counted(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, 1000, 100, 0);
	op(&f, 1000, 1050, 1);
	op(&f, 1050, 1100, 2);
	op(&f, 1099, 1200, 4); /* astride: began before the warm-up's end */
	assert_int_equal(f.w->bytes, 0);
	assert_int_equal(f.w->start_ns, 0);
	op(&f, 1200, 1300, 8);
	op(&f, 1300, 1500, 16);
	tally_finish(&f.t, 0);
	assert_int_equal(f.w->bytes, 24);
	assert_int_equal(f.w->ops, 2);
	assert_int_equal(f.w->done, 5);
	assert_int_equal(f.w->first_op_ns, 1000);
	assert_int_equal(f.w->start_ns, 1200);
	assert_int_equal(f.w->end_ns, 1500);
	assert_int_equal(f.w->latency[OP_READ].count, 2);
	assert_int_equal(f.w->latency[OP_READ].min, 100);
	assert_int_equal(f.w->latency[OP_READ].max, 200);
	shm_map_free(f.map);
}

static void
test_time_ends_after_the_warmup(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, 1000, 100, 50);
	assert_true(tally_more(&f.t, 1149));
	assert_false(tally_more(&f.t, 1150));
	atomic_store(&shm_map_control(f.map)->limit_ns, 1120); /* the agent lowers it */
	assert_true(tally_more(&f.t, 1119));
	assert_false(tally_more(&f.t, 1120));
	atomic_store(&shm_map_control(f.map)->stop_epoch, 1);
	assert_false(tally_more(&f.t, 1100));
	shm_map_free(f.map);
}

static void
test_a_step_for_each_interval(void **state)
{
	struct fixture f;
	const int64_t s = SHM_STEP_NS;

	(void)state;
	set_up(&f, 0, 0, 0);
	op(&f, 0, s - 1, 1);             /* none is due */
	op(&f, s - 1, s, 1);             /* the first that ends at or after the boundary */
	op(&f, s, s + 5, 1);             /* the same interval */
	op(&f, s + 5, 4 * s + 7, 1);     /* two intervals without an end */
	op(&f, 4 * s + 7, 5 * s - 1, 1); /* the same interval */
	assert_int_equal(f.w->ring_count, 2);
	assert_int_equal(f.w->ring[0].at_ns, s);
	assert_int_equal(f.w->ring[0].ops, 2);
	assert_int_equal(f.w->ring[1].at_ns, 4 * s + 7);
	assert_int_equal(f.w->ring[1].ops, 4);
	tally_finish(&f.t, 0);
	assert_int_equal(f.w->ring_count, 3); /* the whole */
	assert_int_equal(f.w->ring[2].at_ns, 5 * s - 1);
	assert_int_equal(f.w->ring[2].ops, 5);
	shm_map_free(f.map);
}

/* Operations that are seen to end together are in one step, and the last step is the whole. */
static void
test_ends_at_one_instant_are_one_step(void **state)
{
	struct fixture f;
	const int64_t s = SHM_STEP_NS;

	(void)state;
	set_up(&f, 0, 0, 0);
	tally_begin(&f.t, 0);
	for (int i = 0; i < 8; i++)
		tally_end(&f.t, 0, s + 3, 10);
	tally_note(&f.t, s + 3);
	tally_finish(&f.t, 0);
	assert_int_equal(f.w->ring_count, 1);
	assert_int_equal(f.w->ring[0].ops, 8);
	assert_int_equal(f.w->ring[0].bytes, 80);
	shm_map_free(f.map);
}

static void
test_ring_keeps_the_newest(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, 0, 0, 0);
	for (int64_t i = 1; i <= SHM_RING + 10; i++)
		op(&f, (i - 1) * SHM_STEP_NS, i * SHM_STEP_NS, 1);
	assert_int_equal(f.w->ring_count, SHM_RING + 10);
	assert_int_equal(f.w->ring[9].ops, SHM_RING + 10);
	assert_int_equal(f.w->ring[10].ops, 11);
	shm_map_free(f.map);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_warmup_is_done_but_not_counted),
		cmocka_unit_test(test_time_ends_after_the_warmup),
		cmocka_unit_test(test_a_step_for_each_interval),
		cmocka_unit_test(test_ends_at_one_instant_are_one_step),
		cmocka_unit_test(test_ring_keeps_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
