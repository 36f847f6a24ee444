/*
 * A loop in a test: runs until something has happened, fails the test when that takes too long.
 */
#ifndef LS_TESTS_UNIT_COMMON_NET_WAITING_H
#define LS_TESTS_UNIT_COMMON_NET_WAITING_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/net/loop.h"

#define WAITING_PATIENCE_NS (20 * NS_PER_S)

static inline struct loop *
loop_or_fail(void)
{
	struct loop *loop = NULL;
	struct ls_err err = { .rc = LS_OK };

	if (loop_new(&loop, &err) != LS_OK)
		fail_msg("loop_new: %s", err.text);
	return loop;
}

struct patience {
	struct loop *loop;
	bool over;
};

static inline void
patience_end(void *arg)
{
	struct patience *patience = arg;

	patience->over = true;
	loop_stop(patience->loop);
}

typedef bool (*until_fn)(void *arg);

struct until {
	struct loop *loop;
	struct loop_timer *timer;
	until_fn fn;
	void *arg;
};

static inline void
until_check(void *arg)
{
	struct until *u = arg;

	if (u->fn(u->arg))
		loop_stop(u->loop);
	else
		loop_timer_set(u->timer, NS_PER_MS / 5);
}

/* Runs the loop until fn says so; fails the test when that takes too long. */
static inline void
run_until(struct loop *loop, until_fn fn, void *arg)
{
	struct patience patience = { .loop = loop };
	struct until until = { .loop = loop, .fn = fn, .arg = arg };
	struct loop_timer *timer = loop_timer_new(loop, patience_end, &patience);

	until.timer = loop_timer_new(loop, until_check, &until);
	loop_timer_set(timer, WAITING_PATIENCE_NS);
	loop_timer_set(until.timer, 0);
	assert_int_equal(loop_run(loop, NULL), LS_OK);
	loop_timer_free(until.timer);
	loop_timer_free(timer);
	if (patience.over)
		fail_msg("waited in vain");
}

/* Lets the loop turn for a while, for what must not happen. */
static inline bool
until_past(void *arg)
{
	const struct ls_mono *end = arg;

	return ls_mono_now().ns >= end->ns;
}

static inline void
run_for(struct loop *loop, int64_t ns)
{
	struct ls_mono end = { .ns = ls_mono_now().ns + ns };

	run_until(loop, until_past, &end);
}

#endif
