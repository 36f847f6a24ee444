/*
 * What systemd is told: the test plays its side of the notification socket.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/svc/svc.h"

static struct loop *loop;
static int notify_fd;

static int
set_up(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	(void)state;
	/* an abstract name: nothing to remove */
	int n = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "lockstep-test-svc-%d", (int)getpid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	char env[128];
	snprintf(env, sizeof(env), "@%s", un.sun_path + 1);

	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify_fd < 0 || bind(notify_fd, (const struct sockaddr *)(const void *)&un, len) != 0)
		return -1;
	setenv("NOTIFY_SOCKET", env, 1);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return loop_new(&loop, NULL) == LS_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	close(notify_fd);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	return 0;
}

static void
expect_told(const char *wanted)
{
	char got[256];
	ssize_t n = recv(notify_fd, got, sizeof(got) - 1, 0);

	got[n < 0 ? 0 : n] = '\0';
	assert_string_equal(got, wanted);
}

static void
test_ready_and_stopping_are_told(void **state)
{
	(void)state;
	struct svc *svc = svc_new(loop);
	svc_ready(svc, "listening on 127.0.0.1:7437");
	expect_told("READY=1\nSTATUS=listening on 127.0.0.1:7437");
	svc_stopping(svc);
	expect_told("STOPPING=1");
	expect_told(""); /* no watchdog was asked for */
	svc_free(svc);
}

struct watch {
	struct loop_timer *timer;
	unsigned count;
};

static void
count_watchdogs(void *arg)
{
	struct watch *w = arg;
	char got[64];
	ssize_t n;

	while ((n = recv(notify_fd, got, sizeof(got) - 1, 0)) > 0) {
		got[n] = '\0';
		assert_string_equal(got, "WATCHDOG=1");
		w->count++;
	}
	if (w->count >= 3)
		loop_stop(loop);
	else
		loop_timer_set(w->timer, NS_PER_MS);
}

static void
test_the_watchdog_is_fed_in_half_of_its_time(void **state)
{
	struct watch w = { .count = 0 };

	(void)state;
	setenv("WATCHDOG_USEC", "20000", 1);
	struct ls_mono begin = ls_mono_now();
	struct svc *svc = svc_new(loop);
	w.timer = loop_timer_new(loop, count_watchdogs, &w);
	loop_timer_set(w.timer, 0);
	assert_int_equal(loop_run(loop, NULL), LS_OK);
	/* the first at once, the third after twice 10 ms */
	assert_true(ls_mono_now().ns - begin.ns >= 20 * NS_PER_MS);
	loop_timer_free(w.timer);
	svc_free(svc);
}

static void
test_without_systemd_nothing_happens(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	struct svc *svc = svc_new(loop);
	svc_ready(svc, "ready");
	svc_stopping(svc);
	expect_told("");
	svc_free(svc);
	svc_free(NULL);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_ready_and_stopping_are_told),
		T(test_the_watchdog_is_fed_in_half_of_its_time),
		T(test_without_systemd_nothing_happens),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
