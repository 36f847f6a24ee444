/* Runners that SIGKILL does not end. The runner is a stand-in: when its process is gone is the test's to say. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/daemon/hung.h"
#include "common/base/mem.h"
#include "tests/unit/common/net/waiting.h"

/* --- a runner whose end is told by the test; these replace those of runner_link.c ------------------------------------------- */

struct runner {
	pid_t pid;
	bool at_once; /* it is gone when it is given up */
	bool abandoned;
	loop_fn on_gone;
	void *arg;
};

pid_t
runner_pid(const struct runner *r)
{
	return r->pid;
}

void
runner_abandon(struct runner *r, loop_fn on_gone, void *arg)
{
	r->abandoned = true;
	r->on_gone = on_gone;
	r->arg = arg;
	if (r->at_once)
		on_gone(arg);
}

static void
die(struct runner *r)
{
	r->on_gone(r->arg);
}

/* --- what is told ------------------------------------------------------------------------------------------------------------- */

struct fixture {
	struct loop *loop;
	struct hung *hung;
	unsigned changed; /* how often it was told that the list has changed */
	char gone[128];   /* the runs whose runners are gone, a blank behind each */
};

static void
on_changed(void *arg)
{
	struct fixture *f = arg;

	f->changed++;
}

static void
on_gone(const char *run, void *arg)
{
	struct fixture *f = arg;
	size_t used = strlen(f->gone);

	snprintf(f->gone + used, sizeof(f->gone) - used, "%s ", run);
}

static int
setup(void **state)
{
	struct fixture *f = ls_calloc(1, sizeof(*f));

	f->loop = loop_or_fail();
	f->hung = hung_new(f->loop, on_changed, f);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	hung_free(f->hung);
	loop_free(f->loop);
	free(f);
	return 0;
}

static bool
has_changed(void *arg)
{
	const struct fixture *f = arg;

	return f->changed > 0;
}

/* How many the coordinator is told of. */
static size_t
told(const struct fixture *f)
{
	struct msg_hung m = hung_message(f->hung);

	free(m.runners);
	return m.runners_count;
}

/* --- tests -------------------------------------------------------------------------------------------------------------------- */

static void
test_who_is_gone_at_once_is_told_to_nobody(void **state)
{
	struct fixture *f = *state;
	struct runner r = { .pid = 11, .at_once = true };

	hung_take(f->hung, &r, "run1", NULL, on_gone, f);
	assert_true(r.abandoned);
	assert_string_equal(f->gone, "run1 ");
	run_for(f->loop, HUNG_AFTER_NS + 200 * NS_PER_MS); /* its timer does not come up later */
	assert_int_equal(f->changed, 0);
	assert_int_equal(told(f), 0);
}

static void
test_who_is_gone_within_the_second_is_told_to_nobody(void **state)
{
	struct fixture *f = *state;
	struct runner r = { .pid = 11 };

	hung_take(f->hung, &r, "run1", NULL, on_gone, f);
	assert_string_equal(f->gone, "");
	assert_int_equal(told(f), 0);
	die(&r);
	assert_string_equal(f->gone, "run1 ");
	run_for(f->loop, HUNG_AFTER_NS + 200 * NS_PER_MS);
	assert_int_equal(f->changed, 0);
}

static void
test_who_hangs_is_told_with_call_and_file_until_it_is_gone(void **state)
{
	struct fixture *f = *state;
	struct runner r = { .pid = 4711 };
	char run[] = "run1", call[] = "pwrite", file[] = "n0/data.0";
	struct stall stall = { .call = call, .file = file };

	hung_take(f->hung, &r, run, &stall, on_gone, f);
	memset(run, 'x', 4); /* all of it was borrowed */
	memset(call, 'x', 6);
	memset(file, 'x', 9);
	run_until(f->loop, has_changed, f);

	struct msg_hung m = hung_message(f->hung);
	assert_int_equal(m.runners_count, 1);
	assert_string_equal(m.runners[0].run, "run1");
	assert_int_equal(m.runners[0].pid, 4711);
	assert_string_equal(m.runners[0].call, "pwrite");
	assert_string_equal(m.runners[0].file, "n0/data.0");
	assert_true(m.runners[0].since_ns >= HUNG_AFTER_NS);
	free(m.runners);

	die(&r);
	assert_string_equal(f->gone, "run1 ");
	assert_int_equal(f->changed, 2);
	assert_int_equal(told(f), 0);
}

static void
test_a_hang_outside_of_workers_has_no_call(void **state)
{
	struct fixture *f = *state;
	struct runner r = { .pid = 1 };

	hung_take(f->hung, &r, "run1", NULL, NULL, NULL); /* nobody waits for its end */
	run_until(f->loop, has_changed, f);

	struct msg_hung m = hung_message(f->hung);
	assert_int_equal(m.runners_count, 1);
	assert_null(m.runners[0].call);
	assert_null(m.runners[0].file);
	free(m.runners);
	die(&r);
	assert_int_equal(told(f), 0);
}

static void
test_each_of_several_goes_by_itself(void **state)
{
	struct fixture *f = *state;
	struct runner r[3] = { { .pid = 1 }, { .pid = 2 }, { .pid = 3 } };

	hung_take(f->hung, &r[0], "a", NULL, on_gone, f);
	hung_take(f->hung, &r[1], "b", NULL, on_gone, f);
	hung_take(f->hung, &r[2], "c", NULL, on_gone, f);
	run_for(f->loop, HUNG_AFTER_NS + 200 * NS_PER_MS);
	assert_int_equal(f->changed, 3);
	assert_int_equal(told(f), 3);
	die(&r[1]); /* from the middle */
	assert_int_equal(told(f), 2);
	die(&r[2]);
	die(&r[0]);
	assert_string_equal(f->gone, "b c a ");
	assert_int_equal(told(f), 0);
	assert_int_equal(f->changed, 6);
}

#define MANY 20

static void
test_a_message_names_sixteen_at_most(void **state)
{
	struct fixture *f = *state;
	struct runner r[MANY] = { 0 };

	for (size_t i = 0; i < MANY; i++)
		hung_take(f->hung, &r[i], "run", NULL, NULL, NULL);
	run_for(f->loop, HUNG_AFTER_NS + 200 * NS_PER_MS);
	assert_int_equal(f->changed, MANY);
	assert_int_equal(told(f), 16); /* the limit of the message's table as well */
	for (size_t i = 0; i < MANY; i++)
		die(&r[i]);
	assert_int_equal(told(f), 0);
}

/* The agent ends while one hangs, and its loop goes on for a moment: nobody is asked and told any more. */
static void
test_the_end_of_one_that_was_forgotten_calls_nobody(void **state)
{
	struct fixture *f = *state;
	struct runner early = { .pid = 1 }, late = { .pid = 2 };

	hung_take(f->hung, &late, "late", NULL, on_gone, f);
	run_until(f->loop, has_changed, f);
	hung_take(f->hung, &early, "early", NULL, on_gone, f);
	hung_free(f->hung);
	f->hung = NULL;
	run_for(f->loop, HUNG_AFTER_NS + 200 * NS_PER_MS); /* the other's second passes without a word */
	assert_int_equal(f->changed, 1);
	die(&early);
	die(&late);
	assert_string_equal(f->gone, "");
	assert_int_equal(f->changed, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_who_is_gone_at_once_is_told_to_nobody),
		TEST(test_who_is_gone_within_the_second_is_told_to_nobody),
		TEST(test_who_hangs_is_told_with_call_and_file_until_it_is_gone),
		TEST(test_a_hang_outside_of_workers_has_no_call),
		TEST(test_each_of_several_goes_by_itself),
		TEST(test_a_message_names_sixteen_at_most),
		TEST(test_the_end_of_one_that_was_forgotten_calls_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
