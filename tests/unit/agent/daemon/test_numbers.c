/* From the mapping to a result: rings, totals, stalls, the device. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/daemon/device.h"
#include "agent/daemon/facts.h"
#include "agent/daemon/result.h"
#include "agent/daemon/sampler.h"
#include "agent/daemon/stalls.h"
#include "agent/shm/counters.h"

#define T (100 * NS_PER_S)

static struct shm_map *
new_map(uint32_t workers)
{
	struct shm_map *map;

	assert_int_equal(shm_map_new(workers, &map, NULL), LS_OK);
	for (uint32_t i = 0; i < workers; i++)
		shm_worker_reset(shm_map_worker(map, i));
	return map;
}

/* As a worker does at the end of an operation. */
static void
push(struct shm_worker *w, int64_t at_ns, uint64_t bytes, uint64_t ops)
{
	uint64_t n = w->ring_count;
	w->ring[n % SHM_RING].at_ns = at_ns;
	w->ring[n % SHM_RING].bytes = bytes;
	w->ring[n % SHM_RING].ops = ops;
	w->ring_count = n + 1;
}

static uint64_t
sum(const uint64_t *cells, size_t n)
{
	uint64_t total = 0;
	for (size_t i = 0; i < n; i++)
		total += cells[i];
	return total;
}

static void
test_steps_become_a_series(void **state)
{
	struct shm_map *map = new_map(2);
	struct sampler *s = sampler_new(map, 2);
	struct ls_mono start = { T };

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		shm_map_worker(map, i)->start_ns = T;
	sampler_begin(s, 2, start, true);
	push(shm_map_worker(map, 0), T + SHM_STEP_NS, 100, 1);
	push(shm_map_worker(map, 0), T + 2 * SHM_STEP_NS, 150, 2);
	sampler_drain(s, (struct ls_mono){ T + 10 * SHM_STEP_NS });
	sampler_end_worker(
	    s, 0, (struct ls_mono){ T + 3 * SHM_STEP_NS }, &(struct sampler_work){ .bytes = 180, .ops = 3 });
	sampler_end_worker(
	    s, 1, (struct ls_mono){ T + 2 * SHM_STEP_NS }, &(struct sampler_work){ .bytes = 20, .ops = 2 });
	const struct series_grid *grid = sampler_end(s, (struct ls_mono){ T + 3 * SHM_STEP_NS });
	assert_int_equal(grid->used, 3);
	assert_int_equal(grid->bytes[0], 110);
	assert_int_equal(grid->bytes[1], 60);
	assert_int_equal(grid->bytes[2], 30);
	assert_int_equal(sum(grid->ops, 3), 5);
	assert_int_equal(sampler_own(s, 0)->used, 3);
	assert_int_equal(sampler_own(s, 0)->bytes[0], 100);
	assert_int_equal(sampler_own(s, 0)->bytes[1], 50);
	assert_int_equal(sampler_own(s, 0)->bytes[2], 30);
	assert_int_equal(sampler_own(s, 1)->bytes[0] + sampler_own(s, 1)->bytes[1], 20);
	assert_null(sampler_own(s, 2));
	sampler_begin(s, 1, start, true); /* that of one worker is the node's */
	assert_null(sampler_own(s, 0));
	sampler_begin(s, 2, start, false);
	assert_null(sampler_own(s, 0));
	assert_int_equal(sampler_lost(s), 0);
	sampler_free(s);
	shm_map_free(map);
}

static void
test_ring_that_ran_over_gives_a_line(void **state)
{
	struct shm_map *map = new_map(1);
	struct sampler *s = sampler_new(map, 1);
	struct shm_worker *w = shm_map_worker(map, 0);
	uint64_t steps = 3 * SHM_RING;

	(void)state;
	w->start_ns = T;
	sampler_begin(s, 1, (struct ls_mono){ T }, false);
	for (uint64_t i = 1; i <= steps; i++)
		push(w, T + (int64_t)i * SHM_STEP_NS, i * 10, i);
	struct ls_mono end = { T + (int64_t)steps * SHM_STEP_NS };
	sampler_drain(s, end);
	assert_int_equal(sampler_lost(s), steps - (SHM_RING - 1));
	sampler_end_worker(s, 0, end, &(struct sampler_work){ .bytes = steps * 10, .ops = steps });
	const struct series_grid *grid = sampler_end(s, end);
	assert_int_equal(sum(grid->bytes, grid->used), steps * 10);
	assert_int_equal(sum(grid->ops, grid->used), steps);
	assert_int_equal(grid->interval_ns, 8 * SHM_STEP_NS); /* longer than 10 s: in steps of 100 ms */
	for (size_t i = 0; i < grid->used; i++)
		assert_int_equal(grid->bytes[i], 80);
	sampler_free(s);
	shm_map_free(map);
}

static void
test_nonsense_in_a_ring_does_no_harm(void **state)
{
	struct shm_map *map = new_map(1);
	struct sampler *s = sampler_new(map, 1);
	struct shm_worker *w = shm_map_worker(map, 0);

	(void)state;
	w->start_ns = T;
	sampler_begin(s, 1, (struct ls_mono){ T }, false);
	push(w, T + 10, 100, 10);
	push(w, INT64_MAX, 200, 20); /* far in the future: taken as now */
	push(w, INT64_MIN, 300, 30); /* before the last: taken as it */
	push(w, T + 30, 50, 5);      /* backwards: left out */
	sampler_drain(s, (struct ls_mono){ T + NS_PER_S });
	const struct series_grid *grid = sampler_end(s, (struct ls_mono){ T + NS_PER_S });
	assert_int_equal(sum(grid->bytes, grid->used), 300);
	sampler_free(s);
	shm_map_free(map);
}

/* A worker that has done n writes of 10 bytes, from T + 5 to T + end. */
static void
fill_worker(struct shm_worker *w, uint64_t n, int64_t end, uint32_t worker_state)
{
	w->first_op_ns = w->start_ns = T + 5;
	w->last_ns = T + end;
	w->end_ns = worker_state == SHM_ENDED ? T + end : 0;
	w->bytes = w->op_bytes[OP_WRITE] = 10 * n;
	w->ops = w->op_ops[OP_WRITE] = n;
	w->cpu_user_ns = 7;
	w->cpu_system_ns = 8;
	w->state = worker_state;
	for (uint64_t i = 0; i < n; i++)
		hist_record(&w->latency[OP_WRITE], 1000);
}

static struct result_input
input(struct shm_map *map, struct sampler *s, uint32_t workers)
{
	static char node[] = "n1";

	sampler_begin(s, workers, (struct ls_mono){ T }, false);
	return (struct result_input){ .node = node,
		.start = { T },
		.now = { T + NS_PER_S },
		.map = map,
		.sampler = s,
		.workers = workers,
		.first_rank = 4,
		.started = true,
		.agent_cpu_ns = 3,
		.agent_net_bytes = 9 };
}

static void
test_result_of_a_phase_that_ended(void **state)
{
	struct shm_map *map = new_map(2);
	struct sampler *s = sampler_new(map, 2);
	struct result_input in = input(map, s, 2);
	struct msg_phase_done done = { .flush_ns = 55 };
	struct device_io device = { .read_bytes = 1, .write_bytes = 2, .busy_ns = 3 };
	struct node_result r;

	(void)state;
	in.done = &done;
	in.device = &device;
	fill_worker(shm_map_worker(map, 0), 3, 1000, SHM_ENDED);
	fill_worker(shm_map_worker(map, 1), 5, 2000, SHM_ENDED);
	result_build(&in, &r);
	assert_string_equal(r.node, "n1");
	assert_int_equal(r.state, NODE_DONE);
	assert_int_equal(r.bytes, 80);
	assert_int_equal(r.ops, 8);
	assert_int_equal(r.start_ns, 5);
	assert_int_equal(r.end_ns, 2000);
	assert_int_equal(r.flush_ns, 55);
	assert_int_equal(r.cpu.user_ns, 14);
	assert_int_equal(r.cpu.system_ns, 16);
	assert_int_equal(r.workers_count, 2);
	assert_int_equal(r.workers[1].rank, 5);
	assert_int_equal(r.workers[1].end_ns, 2000);
	assert_non_null(r.by_op.write);
	assert_null(r.by_op.read);
	assert_int_equal(r.by_op.write->latency_ns.count, 8);
	assert_non_null(r.latency_ns);
	assert_int_equal(r.series.bytes_count, 1);
	assert_int_equal(r.series.bytes[0], 80);
	assert_int_equal(r.device->write_bytes, 2);
	assert_int_equal(r.agent.net_bytes, 9);
	assert_int_equal(r.error_list_count, 0);
	field_struct_fini(&node_result_desc, &r);
	sampler_free(s);
	shm_map_free(map);
}

/* The same worker with as many reads of 20 bytes, noted in its ring when all were done. */
static void
add_reads(struct shm_worker *w, uint64_t n)
{
	uint64_t count = w->ring_count;
	struct shm_step *step = &w->ring[count % SHM_RING];

	w->op_bytes[OP_READ] = 20 * n;
	w->op_ops[OP_READ] = n;
	w->bytes += 20 * n;
	w->ops += n;
	for (uint64_t i = 0; i < n; i++)
		hist_record(&w->latency[OP_READ], 500);
	step->at_ns = w->end_ns;
	step->bytes = w->bytes;
	step->ops = w->ops;
	step->write_bytes = w->op_bytes[OP_WRITE];
	step->write_ops = w->op_ops[OP_WRITE];
	w->ring_count = count + 1;
}

static void
test_reads_and_writes_of_a_mixed_phase_are_apart(void **state)
{
	struct shm_map *map = new_map(2);
	struct sampler *s = sampler_new(map, 2);
	struct result_input in = input(map, s, 2);
	struct node_result r;

	(void)state;
	sampler_begin_apart(s, 2, (struct ls_mono){ T });
	for (uint32_t i = 0; i < 2; i++) {
		fill_worker(shm_map_worker(map, i), 3, 3 * SHM_STEP_NS, SHM_ENDED);
		add_reads(shm_map_worker(map, i), 6 + i);
	}
	result_build(&in, &r);
	assert_int_equal(r.series.bytes_count, 0);
	assert_int_equal(r.series.ops_count, 0);
	assert_int_equal(r.by_op.read->series->bytes_count, 3);
	assert_int_equal(r.by_op.write->series->ops_count, 3);
	int64_t reads = 0, writes = 0;
	for (size_t i = 0; i < 3; i++) {
		reads += r.by_op.read->series->bytes[i];
		writes += r.by_op.write->series->bytes[i];
	}
	assert_int_equal(reads, 13 * 20);
	assert_int_equal(writes, 6 * 10);
	assert_int_equal(r.workers[0].read->ops, 6);
	assert_int_equal(r.workers[1].read->bytes, 7 * 20);
	assert_int_equal(r.workers[1].write->bytes, 3 * 10);
	assert_null(r.workers[0].series);
	field_struct_fini(&node_result_desc, &r);
	sampler_free(s);
	shm_map_free(map);
}

static void
test_result_of_a_killed_runner(void **state)
{
	struct shm_map *map = new_map(2);
	struct sampler *s = sampler_new(map, 2);
	struct result_input in = input(map, s, 2);
	struct node_result r;

	(void)state;
	in.failure = "the runner was killed by signal 9";
	fill_worker(shm_map_worker(map, 0), 3, 1000, SHM_RUNNING);
	result_build(&in, &r);
	assert_int_equal(r.state, NODE_FAILED);
	assert_int_equal(r.bytes, 30);
	assert_int_equal(r.end_ns, 1000);                     /* its last operation's end */
	assert_true(r.cpu.user_ns == LS_UNKNOWN_I64);         /* never 0 for what is not known */
	assert_true(r.workers[1].start_ns == LS_UNKNOWN_I64); /* it had not begun */
	assert_true(r.workers[1].end_ns == LS_UNKNOWN_I64);
	assert_true(r.flush_ns == LS_UNKNOWN_I64);
	assert_int_equal(r.error_list_count, 1);
	assert_string_equal(r.error_list[0].text, in.failure);
	assert_null(r.device);
	field_struct_fini(&node_result_desc, &r);
	sampler_free(s);
	shm_map_free(map);
}

static void
test_result_of_an_idle_node(void **state)
{
	struct shm_map *map = new_map(1);
	struct sampler *s = sampler_new(map, 1);
	struct result_input in = input(map, s, 0);
	struct msg_phase_done done = { .flush_ns = LS_UNKNOWN_I64 };
	struct node_result r;

	(void)state;
	in.done = &done;
	result_build(&in, &r);
	assert_int_equal(r.state, NODE_IDLE);
	assert_int_equal(r.workers_count, 0);
	assert_true(isnan(r.bytes_per_s));
	field_struct_fini(&node_result_desc, &r);
	sampler_free(s);
	shm_map_free(map);
}

static void
test_operations_that_failed_fail_the_node(void **state)
{
	struct shm_map *map = new_map(1);
	struct sampler *s = sampler_new(map, 1);
	struct result_input in = input(map, s, 1);
	char text[] = "no space", name[] = "ENOSPC";
	struct io_error error = { .worker = 0, .text = text, .errno_name = name };
	struct msg_phase_done done = { .errors = 70, .error_list = &error, .error_list_count = 1 };
	struct node_result r;

	(void)state;
	in.done = &done;
	result_build(&in, &r);
	assert_int_equal(r.state, NODE_FAILED);
	assert_int_equal(r.errors, 70);
	assert_string_equal(r.error_list[0].errno_name, "ENOSPC");
	field_struct_fini(&node_result_desc, &r);
	sampler_free(s);
	shm_map_free(map);
}

static void
free_stalls(struct stall *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		field_struct_fini(&stall_desc, &list[i]);
	free(list);
}

static void
test_workers_that_do_not_move_are_named(void **state)
{
	struct shm_map *map = new_map(3);
	struct stalls *stalls = stalls_new(3);
	struct stall *list;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct shm_worker *w = shm_map_worker(map, i);
		w->state = SHM_RUNNING;
		w->call = SHM_CALL_PWRITE;
		w->since_ns = T;
		w->tid = getpid();
		memcpy(w->file, "f\001", 3);
	}
	stalls_reset(stalls, (struct ls_mono){ T });
	assert_int_equal(stalls_look(stalls, map, 3, getpid(), (struct ls_mono){ T + 1 }, &list), 0);
	shm_map_worker(map, 1)->done = 1;
	shm_map_worker(map, 2)->state = SHM_PARKED;
	assert_int_equal(stalls_look(stalls, map, 3, getpid(), (struct ls_mono){ T + NS_PER_S }, &list), 0);
	size_t n = stalls_look(stalls, map, 3, getpid(), (struct ls_mono){ T + 1 + STALL_AFTER_NS }, &list);
	assert_int_equal(n, 1);
	assert_int_equal(list[0].worker, 0);
	assert_string_equal(list[0].call, "pwrite");
	assert_string_equal(list[0].file, "f?");
	assert_int_equal(list[0].since_ns, STALL_AFTER_NS);
	assert_string_equal(list[0].state, "R"); /* this very thread */
	free_stalls(list, n);

	/* Without a runner there is no state; a call that is not known does no harm. */
	shm_map_worker(map, 1)->call = 9999;
	stalls_look(stalls, map, 3, 0, (struct ls_mono){ T + 2 * NS_PER_S }, &list);
	free_stalls(list, 1);
	n = stalls_look(stalls, map, 3, 0, (struct ls_mono){ T + 9 * NS_PER_S }, &list);
	assert_int_equal(n, 2);
	assert_null(list[0].state);
	assert_string_equal(list[1].call, "?");
	free_stalls(list, n);
	stalls_free(stalls);
	shm_map_free(map);
}

static void
test_device_counters(void **state)
{
	struct device_io a, b;

	(void)state;
	assert_true(device_parse("  100 0 2000 5 200 0 4000 6 0 77 88 0 0 0 0\n", &a));
	assert_int_equal(a.read_bytes, 2000 * 512);
	assert_int_equal(a.write_bytes, 4000 * 512);
	assert_int_equal(a.busy_ns, 77 * NS_PER_MS);
	assert_false(device_parse("", &a));
	assert_false(device_parse("1 2 3", &a));
	assert_false(device_read("/sys", NULL, &a));
	assert_false(device_read("/sys", "8:1/../..", &a));
	assert_false(device_read("/sys", "x", &a));
	assert_false(device_read("/nonexistent", "8:1", &a));

	a = (struct device_io){ .read_bytes = 5, .write_bytes = 10, .busy_ns = 1 };
	b = (struct device_io){ .read_bytes = 15, .write_bytes = 3, .busy_ns = 4 };
	struct device_io d = device_delta(&a, &b);
	assert_int_equal(d.read_bytes, 10);
	assert_int_equal(d.write_bytes, 0);
	assert_int_equal(d.busy_ns, 3);
}

static void
test_spin_is_twice_the_lateness_within_limits(void **state)
{
	(void)state;
	assert_int_equal(facts_spin_ns(0), 200 * NS_PER_US);
	assert_int_equal(facts_spin_ns(150 * NS_PER_US), 300 * NS_PER_US);
	assert_int_equal(facts_spin_ns(NS_PER_S), 2 * NS_PER_MS);
}

static void
test_facts_know_this_machine(void **state)
{
	struct node_facts facts;

	(void)state;
	field_struct_init(&node_facts_desc, &facts);
	facts_collect(123, &facts);
	assert_non_null(facts.hostname);
	assert_non_null(facts.kernel);
	assert_true(facts.cpus >= 1 && facts.cpus != LS_UNKNOWN_U64);
	assert_true(facts.memory_bytes > (1 << 20) && facts.memory_bytes != LS_UNKNOWN_U64);
	assert_int_equal(facts.wakeup_lateness_ns, 123);
	assert_null(facts.volume);
	field_struct_fini(&node_facts_desc, &facts);
	assert_true(facts_wakeup_lateness_ns() > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_become_a_series),
		cmocka_unit_test(test_ring_that_ran_over_gives_a_line),
		cmocka_unit_test(test_nonsense_in_a_ring_does_no_harm),
		cmocka_unit_test(test_result_of_a_phase_that_ended),
		cmocka_unit_test(test_reads_and_writes_of_a_mixed_phase_are_apart),
		cmocka_unit_test(test_result_of_a_killed_runner),
		cmocka_unit_test(test_result_of_an_idle_node),
		cmocka_unit_test(test_operations_that_failed_fail_the_node),
		cmocka_unit_test(test_workers_that_do_not_move_are_named),
		cmocka_unit_test(test_device_counters),
		cmocka_unit_test(test_spin_is_twice_the_lateness_within_limits),
		cmocka_unit_test(test_facts_know_this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
