/*
 * Listening sockets: addresses, Unix socket files, storms, running out of descriptors.
 */
#include "tests/unit/common/net/fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct loop *loop;
static struct listener *listener;
static char dir[64];

#define FDS_MAX 64

struct accepted {
	unsigned count, wanted;
	int fds[FDS_MAX];
	bool free_listener; /* in the callback */
};

static struct accepted got;

static int
set_up(void **state)
{
	(void)state;
	loop = loop_or_fail();
	listener = NULL;
	got = (struct accepted){ .wanted = 1 };
	snprintf(dir, sizeof(dir), "/tmp/lockstep-test-listen-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	listener_free(listener);
	loop_free(loop);
	for (unsigned i = 0; i < got.count; i++)
		close(got.fds[i]);
	return rmdir(dir); /* fails the test when a socket file was left behind */
}

static void
on_connection(int fd, void *arg)
{
	struct accepted *a = arg;

	assert_true(a->count < FDS_MAX);
	a->fds[a->count++] = fd;
	if (a->free_listener) {
		listener_free(listener);
		listener = NULL;
	}
}

static bool
until_accepted(void *arg)
{
	const struct accepted *a = arg;

	return a->count >= a->wanted;
}

static void
listen_on(const char *address, mode_t mode)
{
	struct ls_err err = { .rc = LS_OK };

	if (listener_new(loop, address, mode, on_connection, &got, &listener, &err) != LS_OK)
		fail_msg("%s: %s", address, err.text);
}

static const char *
unix_address(const char *name)
{
	static char buf[128];

	snprintf(buf, sizeof(buf), "unix:%s/%s", dir, name);
	return buf;
}

static const char *
unix_path(const char *name)
{
	return unix_address(name) + strlen("unix:");
}

/* A plain client; fd or -1 */
static int
connect_tcp(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&in, sizeof(in)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%.100s", path);
	if (connect(fd, (const struct sockaddr *)(const void *)&un, sizeof(un)) == 0)
		return fd;
	close(fd);
	return -1;
}

static uint16_t
port_of_listener(void)
{
	return (uint16_t)strtoul(strrchr(listener_address(listener), ':') + 1, NULL, 10);
}

static const char *const tcp_addresses[] = { "127.0.0.1:0", ":0", "localhost:0" };

static void
test_tcp_listeners_take_a_free_port_and_accept(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tcp_addresses); i++) {
		listen_on(tcp_addresses[i], 0);
		assert_true(port_of_listener() > 0);
		int fd = connect_tcp(port_of_listener());
		if (fd < 0 && strcmp(tcp_addresses[i], "localhost:0") == 0) {
			listener_free(listener); /* localhost's first address may be ::1 */
			listener = NULL;
			continue;
		}
		assert_true(fd >= 0);
		got.wanted = got.count + 1;
		run_until(loop, until_accepted, &got);
		assert_true((fcntl(got.fds[got.count - 1], F_GETFL) & O_NONBLOCK) != 0);
		assert_true((fcntl(got.fds[got.count - 1], F_GETFD) & FD_CLOEXEC) != 0);
		close(fd);
		listener_free(listener);
		listener = NULL;
	}
}

static void
test_a_port_in_use_is_named(void **state)
{
	struct listener *second = NULL;
	struct ls_err err = { .rc = LS_OK };

	(void)state;
	listen_on("127.0.0.1:0", 0);
	assert_int_equal(
	    listener_new(loop, listener_address(listener), 0, on_connection, &got, &second, &err), LS_E_SYS);
	assert_int_equal(err.sys, EADDRINUSE);
	assert_non_null(strstr(err.text, listener_address(listener)));
	assert_null(second);
}

static void
test_a_unix_socket_has_its_mode_and_goes_with_its_listener(void **state)
{
	struct stat st;
	mode_t before = umask(077);

	(void)state;
	listen_on(unix_address("s"), 0660);
	umask(before);
	assert_int_equal(stat(unix_path("s"), &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0660); /* whatever the umask is */
	assert_string_equal(listener_address(listener), unix_address("s"));
	int fd = connect_unix(unix_path("s"));
	assert_true(fd >= 0);
	run_until(loop, until_accepted, &got);
	close(fd);
	listener_free(listener);
	listener = NULL;
	assert_int_equal(stat(unix_path("s"), &st), -1);
}

static void
test_a_stale_unix_socket_is_replaced(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	snprintf(un.sun_path, sizeof(un.sun_path), "%.100s", unix_path("s"));
	assert_int_equal(bind(fd, (const struct sockaddr *)(const void *)&un, sizeof(un)), 0);
	close(fd); /* as after kill -9: the file stays */
	listen_on(unix_address("s"), 0600);
	fd = connect_unix(unix_path("s"));
	assert_true(fd >= 0);
	close(fd);
}

static void
test_a_living_unix_socket_is_not_taken_away(void **state)
{
	struct listener *second = NULL;
	struct ls_err err = { .rc = LS_OK };

	(void)state;
	listen_on(unix_address("s"), 0600);
	assert_int_equal(listener_new(loop, unix_address("s"), 0600, on_connection, &got, &second, &err), LS_E_EXISTS);
	assert_non_null(strstr(err.text, "another program listens"));
	int fd = connect_unix(unix_path("s"));
	assert_true(fd >= 0);
	close(fd);
}

static void
test_another_kind_of_file_is_not_taken_away(void **state)
{
	struct ls_err err = { .rc = LS_OK };
	struct stat st;
	int fd = open(unix_path("s"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)state;
	close(fd);
	assert_int_equal(
	    listener_new(loop, unix_address("s"), 0600, on_connection, &got, &listener, &err), LS_E_EXISTS);
	assert_non_null(strstr(err.text, "not a socket"));
	assert_int_equal(stat(unix_path("s"), &st), 0);
	unlink(unix_path("s"));
}

static void
test_the_file_of_a_successor_stays(void **state)
{
	struct listener *successor = NULL;
	struct stat st;

	(void)state;
	listen_on(unix_address("s"), 0600);
	assert_int_equal(unlink(unix_path("s")), 0);
	assert_int_equal(listener_new(loop, unix_address("s"), 0600, on_connection, &got, &successor, NULL), LS_OK);
	listener_free(listener);
	listener = NULL;
	assert_int_equal(stat(unix_path("s"), &st), 0);
	listener_free(successor);
}

struct error_case {
	const char *address;
	enum ls_rc rc;
};

static const struct error_case error_cases[] = {
	{ "127.0.0.1:x", LS_E_INVALID }, { "unix:", LS_E_INVALID }, { "unix:/nonexistent/dir/s", LS_E_SYS },
	{ "192.0.2.1:0", LS_E_SYS }, /* not an address of this machine (RFC 5737) */
};

static void
test_what_cannot_be_listened_on_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(error_cases); i++) {
		const struct error_case *c = &error_cases[i];
		struct ls_err err = { .rc = LS_OK };
		enum ls_rc rc = listener_new(loop, c->address, 0600, on_connection, &got, &listener, &err);
		if (rc != c->rc || listener != NULL || err.text[0] == '\0')
			fail_msg("%s: %s: %s", c->address, ls_rc_name(rc), err.text);
	}
}

static void
test_it_can_be_freed_in_its_callback(void **state)
{
	int fds[3];

	(void)state;
	listen_on(unix_address("s"), 0600);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = connect_unix(unix_path("s"));
	got.free_listener = true;
	run_until(loop, until_accepted, &got);
	assert_int_equal(got.count, 1);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

struct turn {
	unsigned most; /* accepted between two looks */
	unsigned seen;
};

static struct turn turns;

static bool
until_all_counted(void *arg)
{
	(void)arg;
	unsigned now = got.count - turns.seen;
	turns.seen = got.count;
	turns.most = LS_MAX(turns.most, now);
	return got.count == 60;
}

static void
look_each_turn(void *arg)
{
	until_all_counted(NULL);
	if (got.count < 60)
		loop_defer(loop, look_each_turn, arg);
	else
		loop_stop(loop);
}

static void
test_a_storm_is_taken_in_portions(void **state)
{
	int fds[60];

	(void)state;
	turns = (struct turn){ .most = 0 };
	listen_on("127.0.0.1:0", 0);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		assert_true((fds[i] = connect_tcp(port_of_listener())) >= 0);
	loop_defer(loop, look_each_turn, NULL);
	assert_int_equal(loop_run(loop, NULL), LS_OK);
	assert_int_equal(got.count, 60);
	assert_true(turns.most > 0 && turns.most <= 16);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

static void
test_without_descriptors_it_pauses_and_goes_on(void **state)
{
	struct rlimit before, none;
	struct timespec cpu0, cpu1;

	(void)state;
	listen_on("127.0.0.1:0", 0);
	int fd = connect_tcp(port_of_listener());
	assert_true(fd >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu0);
	run_for(loop, 60 * NS_PER_MS);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(got.count, 0);
	int64_t cpu_ns = (cpu1.tv_sec - cpu0.tv_sec) * NS_PER_S + (cpu1.tv_nsec - cpu0.tv_nsec);
	if (cpu_ns > 40 * NS_PER_MS)
		fail_msg("%lld us of CPU time in 60 ms: it spins", (long long)(cpu_ns / NS_PER_US));
	run_until(loop, until_accepted, &got);
	close(fd);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_tcp_listeners_take_a_free_port_and_accept),
		T(test_a_port_in_use_is_named),
		T(test_a_unix_socket_has_its_mode_and_goes_with_its_listener),
		T(test_a_stale_unix_socket_is_replaced),
		T(test_a_living_unix_socket_is_not_taken_away),
		T(test_another_kind_of_file_is_not_taken_away),
		T(test_the_file_of_a_successor_stays),
		T(test_what_cannot_be_listened_on_is_named),
		T(test_it_can_be_freed_in_its_callback),
		T(test_a_storm_is_taken_in_portions),
		T(test_without_descriptors_it_pauses_and_goes_on),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
