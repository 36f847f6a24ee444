/*
 * The loop: timers, descriptors, signals, deferred work, the thread beside it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/net/loop.h"

static struct loop *loop;
static char trace[256]; /* what happened, a letter each */

static int
set_up(void **state)
{
	struct ls_err err = { .rc = LS_OK };

	(void)state;
	trace[0] = '\0';
	if (loop_new(&loop, &err) != LS_OK)
		fail_msg("loop_new: %s", err.text);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

static void
note(void *letter)
{
	size_t n = strlen(trace);

	assert_true(n + 1 < sizeof(trace));
	trace[n] = *(const char *)letter;
	trace[n + 1] = '\0';
}

static void
stop(void *arg)
{
	(void)arg;
	loop_stop(loop);
}

static void
run(void)
{
	struct ls_err err = { .rc = LS_OK };

	if (loop_run(loop, &err) != LS_OK)
		fail_msg("loop_run: %s", err.text);
}

static char letter_a[] = "a", letter_b[] = "b", letter_c[] = "c";

/* --- timers --- */

static void
test_timers_fire_in_order_and_once(void **state)
{
	(void)state;
	struct loop_timer *c = loop_timer_new(loop, note, letter_c);
	struct loop_timer *a = loop_timer_new(loop, note, letter_a);
	struct loop_timer *b = loop_timer_new(loop, note, letter_b);
	struct loop_timer *end = loop_timer_new(loop, stop, NULL);
	loop_timer_set(c, 3 * NS_PER_MS);
	loop_timer_set(a, 1 * NS_PER_MS);
	loop_timer_set_at(b, (struct ls_mono){ .ns = ls_mono_now().ns + 2 * NS_PER_MS });
	loop_timer_set(end, 6 * NS_PER_MS);
	assert_true(loop_timer_armed(a));
	run();
	assert_string_equal(trace, "abc");
	assert_false(loop_timer_armed(a));
	loop_timer_free(a);
	loop_timer_free(b);
	loop_timer_free(c);
	loop_timer_free(end);
	loop_timer_free(NULL);
}

static void
test_a_timer_can_be_moved_and_cancelled(void **state)
{
	(void)state;
	struct loop_timer *a = loop_timer_new(loop, note, letter_a);
	struct loop_timer *b = loop_timer_new(loop, note, letter_b);
	struct loop_timer *end = loop_timer_new(loop, stop, NULL);
	loop_timer_set(a, 1 * NS_PER_MS);
	loop_timer_set(a, 3600 * NS_PER_S);
	loop_timer_set(b, 1 * NS_PER_MS);
	loop_timer_cancel(b);
	loop_timer_cancel(b);
	loop_timer_set(end, 3 * NS_PER_MS);
	run();
	assert_string_equal(trace, "");
	loop_timer_set(a, -5); /* the past: at once */
	loop_timer_set(end, 1 * NS_PER_MS);
	run();
	assert_string_equal(trace, "a");
	loop_timer_free(a);
	loop_timer_free(b);
	loop_timer_free(end);
}

static struct loop_timer *self_freeing;

static void
free_self(void *arg)
{
	loop_timer_free(self_freeing);
	note(arg);
	loop_stop(loop);
}

static void
test_a_timer_can_be_freed_in_its_own_callback(void **state)
{
	(void)state;
	self_freeing = loop_timer_new(loop, free_self, letter_a);
	loop_timer_set(self_freeing, 0);
	run();
	assert_string_equal(trace, "a");
}

struct busy {
	struct loop_timer *timer;
	struct ls_mono due;
};

static void
be_busy_then_set(void *arg)
{
	struct busy *busy = arg;

	ls_mono_sleep_until((struct ls_mono){ .ns = ls_mono_now().ns + 3 * NS_PER_MS });
	busy->due.ns = ls_mono_now().ns + 2 * NS_PER_MS;
	loop_timer_set_at(busy->timer, busy->due);
}

static void
test_a_timer_set_late_in_a_callback_is_not_early(void **state)
{
	struct busy busy = { .timer = loop_timer_new(loop, stop, NULL) };
	struct loop_timer *first = loop_timer_new(loop, be_busy_then_set, &busy);

	(void)state;
	loop_timer_set(first, 0);
	run();
	assert_true(ls_mono_now().ns >= busy.due.ns);
	loop_timer_free(first);
	loop_timer_free(busy.timer);
}

static int
compare_int64(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return (a > b) - (a < b);
}

static void
test_timers_are_precise(void **state)
{
	struct loop_timer *timer = loop_timer_new(loop, stop, NULL);
	int64_t late[21];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(late); i++) {
		struct ls_mono due = { .ns = ls_mono_now().ns + 2 * NS_PER_MS };
		loop_timer_set_at(timer, due);
		run();
		late[i] = ls_mono_now().ns - due.ns;
		assert_true(late[i] >= 0);
	}
	qsort(late, ARRAY_LEN(late), sizeof(late[0]), compare_int64);
	/* the coarse clock would make it 1 to 4 ms; the median, because the machine may be busy */
	if (late[ARRAY_LEN(late) / 2] > NS_PER_MS)
		fail_msg("2 ms timers are %lld us late", (long long)(late[ARRAY_LEN(late) / 2] / NS_PER_US));
	loop_timer_free(timer);
}

/* --- descriptors and signals --- */

struct watched {
	int fd;
	struct loop_fd *watch;
	unsigned calls;
};

static void
on_readable(void *arg)
{
	struct watched *w = arg;
	char byte;

	w->calls++;
	assert_int_equal(read(w->fd, &byte, 1), 1);
	note(&byte);
	if (byte == 'z') {
		loop_fd_free(w->watch); /* in its own callback */
		loop_stop(loop);
	}
}

static void
test_a_descriptor_is_watched_until_freed(void **state)
{
	struct watched w = { .calls = 0 };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	w.fd = fds[0];
	w.watch = loop_fd_new(loop, fds[0], on_readable, &w);
	assert_non_null(w.watch);
	assert_int_equal(write(fds[1], "xyzu", 4), 4);
	run();
	assert_string_equal(trace, "xyz"); /* level-triggered: called again while there is something left */
	close(fds[0]);
	close(fds[1]);
	loop_fd_free(NULL);
}

static void
test_what_cannot_be_watched_gives_null(void **state)
{
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	assert_null(loop_fd_new(loop, fileno(file), note, letter_a)); /* epoll knows no regular files */
	fclose(file);
}

static void
test_signals_arrive_in_the_loop(void **state)
{
	(void)state;
	struct loop_signal *usr1 = loop_signal_new(loop, SIGUSR1, note, letter_a);
	struct loop_signal *usr2 = loop_signal_new(loop, SIGUSR2, stop, NULL);
	raise(SIGUSR1);
	assert_string_equal(trace, "");
	raise(SIGUSR2);
	run();
	assert_string_equal(trace, "a");
	loop_signal_free(usr1);
	loop_signal_free(usr2);
	loop_signal_free(NULL);
}

static void
test_sigpipe_is_ignored(void **state)
{
	struct sigaction sa;

	(void)state;
	assert_int_equal(sigaction(SIGPIPE, NULL, &sa), 0);
	assert_true(sa.sa_handler == SIG_IGN);
}

/* --- deferred work --- */

static void
defer_two(void *arg)
{
	(void)arg;
	loop_defer(loop, note, letter_b);
	loop_defer(loop, stop, NULL);
	note(letter_a);
}

static void
test_deferred_work_runs_after_the_callback_in_order(void **state)
{
	struct loop_timer *timer = loop_timer_new(loop, defer_two, NULL);

	(void)state;
	loop_timer_set(timer, 0);
	run();
	assert_string_equal(trace, "ab");
	loop_timer_free(timer);
}

static void
defer_again(void *arg)
{
	const bool *go_on = arg;

	if (*go_on)
		loop_defer(loop, defer_again, arg);
}

static void
clear_and_stop(void *arg)
{
	bool *go_on = arg;

	*go_on = false;
	loop_stop(loop);
}

static void
test_work_that_defers_itself_does_not_starve_the_loop(void **state)
{
	bool go_on = true;
	struct loop_timer *timer = loop_timer_new(loop, clear_and_stop, &go_on);

	(void)state;
	loop_timer_set(timer, NS_PER_MS);
	loop_defer(loop, defer_again, &go_on);
	run();
	assert_false(go_on);
	loop_timer_free(timer);
}

static void
test_stop_before_run_takes_effect(void **state)
{
	(void)state;
	loop_defer(loop, note, letter_a);
	loop_stop(loop);
	run();
	assert_string_equal(trace, "a");
}

/* --- the thread beside the loop --- */

struct job {
	struct offload *off;
	pthread_t worked_in;
	int64_t number, sum; /* not atomic: the hand-over must order them (TSan watches) */
	struct ls_mono slow_until;
	bool again;
	unsigned *done;
	int64_t *order;
};

static void
job_work(void *arg)
{
	struct job *job = arg;

	job->worked_in = pthread_self();
	for (int64_t i = 1; i <= 1000; i++)
		job->sum += i;
	if (job->slow_until.ns > 0)
		ls_mono_sleep_until(job->slow_until);
}

static void
job_done(void *arg)
{
	struct job *job = arg;

	assert_int_equal(job->sum % 500500, 0);
	assert_false(pthread_equal(job->worked_in, pthread_self()));
	if (job->order != NULL)
		job->order[*job->done] = job->number;
	(*job->done)++;
	if (job->again) {
		job->again = false;
		offload_submit(job->off, job_work, job_done, job);
	}
}

static struct offload *
new_offload(void)
{
	struct offload *off = NULL;
	struct ls_err err = { .rc = LS_OK };

	if (offload_new(loop, "test-offload-with-a-long-name", &off, &err) != LS_OK)
		fail_msg("offload_new: %s", err.text);
	return off;
}

struct drained {
	struct offload *off;
	struct loop_timer *timer;
};

static void
stop_when_drained(void *arg)
{
	struct drained *d = arg;

	if (offload_pending(d->off) == 0)
		loop_stop(loop);
	else
		loop_timer_set(d->timer, NS_PER_MS / 10);
}

static void
test_work_runs_elsewhere_and_is_done_in_order_here(void **state)
{
	struct job jobs[100] = { 0 };
	int64_t order[100];
	unsigned done = 0;
	struct drained drained = { .off = new_offload() };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = (struct job){ .number = (int64_t)i, .done = &done, .order = order };
		offload_submit(drained.off, job_work, job_done, &jobs[i]);
	}
	assert_int_equal(offload_pending(drained.off), 100);
	assert_int_equal(done, 0); /* only from the loop */
	drained.timer = loop_timer_new(loop, stop_when_drained, &drained);
	loop_timer_set(drained.timer, 0);
	run();
	assert_int_equal(done, 100);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		assert_int_equal(order[i], (int64_t)i);
	loop_timer_free(drained.timer);
	offload_free(drained.off);
}

static void
test_free_waits_and_runs_what_is_done(void **state)
{
	struct job jobs[3] = { 0 };
	unsigned done = 0;
	struct offload *off = new_offload();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		jobs[i] = (struct job){ .off = off, .done = &done };
	jobs[0].slow_until.ns = ls_mono_now().ns + 5 * NS_PER_MS;
	jobs[1].again = true; /* its done function submits it once more */
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		offload_submit(off, job_work, job_done, &jobs[i]);
	offload_submit(off, job_work, NULL, &jobs[2]); /* nothing to do afterwards */
	offload_free(off);
	assert_int_equal(done, 4);
	offload_free(NULL);
}

static void
test_the_loop_stays_responsive_beside_slow_work(void **state)
{
	unsigned done = 0;
	struct job job = { .done = &done };
	struct offload *off = new_offload();
	struct loop_timer *timer = loop_timer_new(loop, stop, NULL);

	(void)state;
	struct ls_mono begin = ls_mono_now();
	job.slow_until.ns = begin.ns + 200 * NS_PER_MS;
	offload_submit(off, job_work, job_done, &job);
	loop_timer_set(timer, 2 * NS_PER_MS);
	run();
	assert_int_equal(done, 0);
	assert_true(ls_mono_now().ns - begin.ns < 150 * NS_PER_MS);
	offload_free(off);
	assert_int_equal(done, 1);
	loop_timer_free(timer);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_timers_fire_in_order_and_once),
		T(test_a_timer_can_be_moved_and_cancelled),
		T(test_a_timer_can_be_freed_in_its_own_callback),
		T(test_a_timer_set_late_in_a_callback_is_not_early),
		T(test_timers_are_precise),
		T(test_a_descriptor_is_watched_until_freed),
		T(test_what_cannot_be_watched_gives_null),
		T(test_signals_arrive_in_the_loop),
		T(test_sigpipe_is_ignored),
		T(test_deferred_work_runs_after_the_callback_in_order),
		T(test_work_that_defers_itself_does_not_starve_the_loop),
		T(test_stop_before_run_takes_effect),
		T(test_work_runs_elsewhere_and_is_done_in_order_here),
		T(test_free_waits_and_runs_what_is_done),
		T(test_the_loop_stays_responsive_beside_slow_work),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
