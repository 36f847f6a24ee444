#include "common/base/clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

static void
test_the_monotonic_clock_never_falls(void **state)
{
	struct ls_mono last = ls_mono_now();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct ls_mono now = ls_mono_now();

		assert_true(now.ns >= last.ns);
		last = now;
	}
}

static void
test_sleeping_lasts_until_the_instant(void **state)
{
	struct ls_mono until = { ls_mono_now().ns + 2 * NS_PER_MS };

	(void)state;
	ls_mono_sleep_until(until);
	assert_true(ls_mono_now().ns >= until.ns);
	ls_mono_sleep_until((struct ls_mono){ 0 });
	ls_mono_sleep_until((struct ls_mono){ -5 });
	ls_mono_sleep_until((struct ls_mono){ INT64_MIN });
	ls_mono_sleep_until(until);
}

static void
on_signal(int number)
{
	(void)number;
}

static void *
send_signals(void *arg)
{
	pthread_t *sleeper = arg;

	for (int i = 1; i <= 3; i++) {
		ls_mono_sleep_until((struct ls_mono){ ls_mono_now().ns + NS_PER_MS });
		pthread_kill(*sleeper, SIGUSR1);
	}
	return NULL;
}

static void
test_signals_do_not_end_a_sleep(void **state)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), sender;

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	struct ls_mono until = { ls_mono_now().ns + 20 * NS_PER_MS };
	assert_int_equal(pthread_create(&sender, NULL, send_signals, &self), 0);
	ls_mono_sleep_until(until);
	assert_true(ls_mono_now().ns >= until.ns);
	pthread_join(sender, NULL);
}

static const struct {
	int64_t ns;
	const char *text;
} wall_cases[] = {
	{ 0, "1970-01-01T00:00:00.000Z" },
	{ 999999999, "1970-01-01T00:00:00.999Z" },
	{ 1796051045123456789, "2026-11-30T15:04:05.123Z" },
	{ 951782400000000000, "2000-02-29T00:00:00.000Z" },
	{ -1, "1969-12-31T23:59:59.999Z" },
	{ -NS_PER_S, "1969-12-31T23:59:59.000Z" },
	{ INT64_MAX, "2262-04-11T23:47:16.854Z" },
	{ INT64_MIN, "1677-09-21T00:12:43.145Z" },
};

static void
test_wall_times_are_written_in_utc(void **state)
{
	char buf[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wall_cases); i++)
		assert_string_equal(
		    ls_wall_format((struct ls_wall){ wall_cases[i].ns }, buf, sizeof(buf)), wall_cases[i].text);
	assert_int_equal(strlen(ls_wall_format(ls_wall_now(), buf, sizeof(buf))), 24);
}

static void
test_wall_times_are_read_back(void **state)
{
	static const char *const bad[] = { "", "now", "2026-11-30", "2026-11-30T15:04:05Z", "2026-13-30T15:04:05.123Z",
		"2026-11-30T15:04:05.123+", "1969-12-31T23:59:59.999Z", "2026-00-30T15:04:05.123Z",
		"2026-11-30T24:04:05.123Z", "-026-11-30T15:04:05.123Z" };
	struct ls_wall t = { 7 };

	(void)state;
	assert_true(ls_wall_parse("2026-11-30T15:04:05.123Z", &t));
	assert_int_equal(t.ns, 1796051045123000000);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		t.ns = 7;
		assert_false(ls_wall_parse(bad[i], &t));
		assert_int_equal(t.ns, 7);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_monotonic_clock_never_falls),
		cmocka_unit_test(test_sleeping_lasts_until_the_instant),
		cmocka_unit_test(test_signals_do_not_end_a_sleep),
		cmocka_unit_test(test_wall_times_are_written_in_utc),
		cmocka_unit_test(test_wall_times_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
