/*
 * Connections without TLS: frames, limits, ends.
 */
#include "tests/unit/common/net/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/frame.h"

static struct loop *loop;
static struct peer a, b;

static int
set_up(void **state)
{
	(void)state;
	loop = loop_or_fail();
	peer_init(&a, loop);
	peer_init(&b, loop);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	conn_drop(a.conn);
	conn_drop(b.conn);
	loop_free(loop);
	return 0;
}

/* A connection in a, and its peer as a bare descriptor that the test writes to. */
static int
raw_peer(const struct conn_config *config)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(conn_accept(loop, fds[0], NULL, config, &peer_events, &a, &a.conn, NULL), LS_OK);
	return fds[1];
}

static void
write_all(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), (ssize_t)len);
}

static void
test_a_frame_goes_there_and_back(void **state)
{
	(void)state;
	a.on_open = PEER_SEND;
	a.text = "hello";
	b.on_frame = PEER_ECHO;
	peers_over_socketpair(&a, &b, &peer_config);
	struct ls_mono before = ls_mono_now();
	run_until(loop, until_frame, &a);
	assert_string_equal(b.last, "hello");
	assert_string_equal(a.last, "hello");
	assert_true(a.received.ns >= before.ns && a.received.ns <= ls_mono_now().ns);
	assert_int_equal(a.identity.role, ROLE_NONE);
	assert_string_equal(a.address, "unix");
	assert_int_equal(conn_bytes(a.conn), 2 * (FRAME_HEADER_BYTES + 5));
}

static bool
has_all_frames(void *arg)
{
	const struct peer *p = arg;

	return p->frames == 1000 || p->closed > 0;
}

static void
test_many_frames_keep_their_order_and_length(void **state)
{
	size_t total = 0;
	uint8_t frame[5000];

	(void)state;
	peers_over_socketpair(&a, &b, &peer_config);
	memset(frame, 'x', sizeof(frame));
	for (uint32_t i = 0; i < 1000; i++) {
		size_t len = 4 + (i * 37) % (sizeof(frame) - 4);
		memcpy(frame, &i, sizeof(i));
		conn_send(a.conn, frame, len); /* before on_open: queued */
		total += len;
	}
	assert_true(conn_output_pending(a.conn) > 0);
	run_until(loop, has_all_frames, &b);
	assert_int_equal(b.frames, 1000);
	assert_int_equal(b.bytes, total);
	assert_true(b.in_order);
	assert_int_equal(conn_output_pending(a.conn), 0);
}

static void
test_a_frame_of_exactly_the_limit_passes(void **state)
{
	uint8_t *big = ls_calloc(1, peer_config.frame_max);

	(void)state;
	a.on_frame = PEER_NOTHING;
	b.on_frame = PEER_ECHO;
	peers_over_socketpair(&a, &b, &peer_config);
	conn_send(a.conn, big, peer_config.frame_max);
	run_until(loop, until_frame, &a);
	assert_int_equal(a.bytes, peer_config.frame_max);
	free(big);
}

struct stream_case {
	const char *name;
	const char *bytes;
	size_t len;
	unsigned frames;
	enum ls_rc rc;
	const char *text; /* part of the reason */
};

static const struct stream_case stream_cases[] = {
	{ "end of file at once", "", 0, 0, LS_E_CLOSED, "closed the connection" },
	{ "end of file after a frame", "\0\0\0\1x", 5, 1, LS_E_CLOSED, "closed the connection" },
	{ "end of file in a frame", "\0\0\0\5abc", 7, 0, LS_E_CLOSED, "in the middle of a frame" },
	{ "end of file in a header", "\0\0", 2, 0, LS_E_CLOSED, "in the middle of a frame" },
	{ "empty frame", "\0\0\0\1x\0\0\0\0", 9, 1, LS_E_PROTO, "empty frame" },
	{ "one byte too long", "\0\0\0\101", 4, 0, LS_E_LIMIT, "65 bytes, the limit is 64" },
	{ "4 GiB", "\377\377\377\377", 4, 0, LS_E_LIMIT, "4294967295 bytes" },
	{ "text where a frame should be", "GET / HTTP/1.1\r\n", 16, 0, LS_E_LIMIT, "the limit is 64" },
	{ "two frames in one write", "\0\0\0\1x\0\0\0\2yz", 11, 2, LS_E_CLOSED, "closed" },
};

static void
test_what_comes_in_is_framed_or_refused(void **state)
{
	const struct conn_config config = { .frame_max = 64 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stream_cases); i++) {
		const struct stream_case *c = &stream_cases[i];
		peer_init(&a, loop);
		int fd = raw_peer(&config);
		write_all(fd, c->bytes, c->len);
		shutdown(fd, SHUT_WR);
		run_until(loop, until_closed, &a);
		if (a.frames != c->frames || a.why.rc != c->rc || strstr(a.why.text, c->text) == NULL)
			fail_msg("%s: %u frames, %s: %s", c->name, a.frames, ls_rc_name(a.why.rc), a.why.text);
		close(fd);
	}
}

static void
test_a_frame_byte_by_byte(void **state)
{
	static const char bytes[] = "\0\0\0\5hello";

	(void)state;
	int fd = raw_peer(&peer_config);
	for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
		assert_int_equal(a.frames, 0);
		write_all(fd, bytes + i, 1);
		run_for(loop, NS_PER_MS);
	}
	assert_int_equal(a.frames, 1);
	assert_string_equal(a.last, "hello");
	close(fd);
}

static void
test_the_limit_can_be_raised_later(void **state)
{
	const struct conn_config config = { .frame_max = 4 };

	(void)state;
	int fd = raw_peer(&config);
	run_until(loop, until_opened, &a);
	conn_set_frame_max(a.conn, 5);
	write_all(fd, "\0\0\0\5hello", 9);
	run_until(loop, until_frame, &a);
	assert_string_equal(a.last, "hello");
	close(fd);
}

struct inside_case {
	const char *name;
	enum peer_action on_open, on_frame, on_close;
	unsigned frames;   /* of a */
	enum ls_rc rc;     /* of a; LS_OK: on_close must not be called */
	const char *other; /* what the other side got last */
};

static const struct inside_case inside_cases[] = {
	{ "close in on_open", PEER_CLOSE, PEER_NOTHING, PEER_NOTHING, 0, LS_OK, "" },
	{ "drop in on_open", PEER_DROP, PEER_NOTHING, PEER_NOTHING, 0, LS_OK, "" },
	{ "close in on_frame", PEER_NOTHING, PEER_CLOSE, PEER_NOTHING, 1, LS_OK, "" },
	{ "drop in on_frame", PEER_NOTHING, PEER_DROP, PEER_NOTHING, 1, LS_OK, "" },
	{ "refuse in on_frame", PEER_NOTHING, PEER_REFUSE, PEER_NOTHING, 1, LS_E_REFUSED, "" },
	{ "refuse without a word", PEER_NOTHING, PEER_REFUSE_SPEECHLESS, PEER_NOTHING, 1, LS_E_STATE, "" },
	{ "refuse, close in on_close", PEER_NOTHING, PEER_REFUSE, PEER_CLOSE, 1, LS_E_REFUSED, "" },
	{ "say and refuse, drop in on_close", PEER_NOTHING, PEER_SAY_AND_REFUSE, PEER_DROP, 1, LS_E_REFUSED, "sorry" },
};

static void
test_it_can_be_ended_inside_of_its_own_callbacks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(inside_cases); i++) {
		const struct inside_case *c = &inside_cases[i];
		peer_init(&a, loop);
		peer_init(&b, loop);
		a.on_open = c->on_open;
		a.on_frame = c->on_frame;
		a.on_close = c->on_close;
		peers_over_socketpair(&a, &b, &peer_config);
		conn_send(b.conn, "1", 1);
		conn_send(b.conn, "2", 1);
		run_until(loop, until_closed, &b);
		run_for(loop, NS_PER_MS);
		if (a.frames != c->frames || a.why.rc != c->rc || strcmp(b.last, c->other) != 0)
			fail_msg("%s: %u frames, %s: %s, other got '%s'", c->name, a.frames, ls_rc_name(a.why.rc),
			    a.why.text, b.last);
		a.conn = b.conn = NULL; /* every case ended both */
	}
}

static void
test_close_still_sends_what_is_queued(void **state)
{
	size_t len = 1u << 20;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	peers_over_socketpair(&a, &b, &peer_config);
	run_until(loop, until_opened, &a);
	for (int i = 0; i < 4; i++)
		conn_send(a.conn, big, len);
	assert_true(conn_output_pending(a.conn) > 0);
	conn_close(a.conn);
	a.conn = NULL;
	run_until(loop, until_closed, &b);
	assert_int_equal(b.frames, 4);
	assert_int_equal(b.why.rc, LS_E_CLOSED);
	assert_int_equal(a.closed, 0);
	free(big);
}

static void
test_close_gives_up_on_a_peer_that_does_not_read(void **state)
{
	size_t len = 1u << 20;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	int fd = raw_peer(&peer_config);
	run_until(loop, until_opened, &a);
	conn_send(a.conn, big, len);
	conn_close(a.conn);
	a.conn = NULL;
	run_for(loop, 2100 * NS_PER_MS);
	/* what the kernel had taken, then the end */
	ssize_t n;
	while ((n = recv(fd, big, len, MSG_DONTWAIT)) > 0)
		;
	assert_true(n == 0 || errno == ECONNRESET);
	close(fd);
	free(big);
}

static void
test_the_loop_can_end_while_a_closed_one_still_sends(void **state)
{
	size_t len = 1u << 20;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	int fd = raw_peer(&peer_config);
	run_until(loop, until_opened, &a);
	conn_send(a.conn, big, len);
	conn_close(a.conn);
	a.conn = NULL;
	free(big);
	close(fd);
	/* tear_down frees the loop: no leak, no use after free */
}

static void
test_too_much_unsent_output_ends_it(void **state)
{
	const struct conn_config config = { .frame_max = 1u << 20, .output_max = 1u << 20 };
	size_t len = 1u << 19;
	uint8_t *big = ls_calloc(1, len);

	(void)state;
	int fd = raw_peer(&config);
	run_until(loop, until_opened, &a);
	for (int i = 0; i < 10; i++)
		conn_send(a.conn, big, len);
	assert_int_equal(a.closed, 0); /* not from within conn_send */
	run_until(loop, until_closed, &a);
	assert_int_equal(a.why.rc, LS_E_LIMIT);
	assert_non_null(strstr(a.why.text, "does not read"));
	close(fd);
	free(big);
}

static void
test_a_broken_socket_is_reported_once(void **state)
{
	(void)state;
	int fd = raw_peer(&peer_config);
	run_until(loop, until_opened, &a);
	write_all(fd, "\0\0\0\4bye!", 8);
	close(fd);
	conn_send(a.conn, "x", 1);
	conn_send(a.conn, "y", 1);
	assert_int_equal(a.closed, 0);
	run_until(loop, until_closed, &a);
	assert_int_equal(a.frames, 1); /* what had arrived before is not lost */
	assert_string_equal(a.last, "bye!");
	assert_true(a.why.rc == LS_E_CLOSED || a.why.rc == LS_E_SYS);
}

static void
test_close_after_a_failed_send_is_quiet(void **state)
{
	(void)state;
	int fd = raw_peer(&peer_config);
	run_until(loop, until_opened, &a);
	close(fd);
	conn_send(a.conn, "x", 1);
	conn_close(a.conn);
	run_for(loop, NS_PER_MS);
	assert_int_equal(a.closed, 0);
	a.conn = NULL;
}

struct dial_case {
	const char *address;
	enum ls_rc rc; /* of conn_dial, or, when that is LS_OK, of on_close */
	bool at_once;
	const char *text;
};

static const struct dial_case dial_cases[] = {
	{ "", LS_E_INVALID, true, "empty" },
	{ "unix:", LS_E_INVALID, true, "path" },
	{ "localhost:1", LS_E_INVALID, true, "TLS" },
	{ ":7437", LS_E_INVALID, true, "a host and a port" },
	{ "unix:/nonexistent/socket", LS_E_SYS, false, "/nonexistent/socket" },
};

static void
test_dialing_wrong_addresses_says_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(dial_cases); i++) {
		const struct dial_case *c = &dial_cases[i];
		struct ls_err err = { .rc = LS_OK };
		peer_init(&a, loop);
		enum ls_rc rc = conn_dial(loop, c->address, NULL, &peer_config, &peer_events, &a, &a.conn, &err);
		if (rc == LS_OK) {
			assert_false(c->at_once);
			assert_int_equal(a.closed, 0);
			run_until(loop, until_closed, &a);
			err = a.why;
		}
		if (err.rc != c->rc || strstr(err.text, c->text) == NULL)
			fail_msg("'%s': %s: %s", c->address, ls_rc_name(err.rc), err.text);
	}
}

static void
test_closing_while_dialing_is_quiet(void **state)
{
	(void)state;
	assert_int_equal(
	    conn_dial(loop, "unix:/nonexistent", NULL, &peer_config, &peer_events, &a, &a.conn, NULL), LS_OK);
	conn_close(a.conn);
	a.conn = NULL;
	run_for(loop, NS_PER_MS);
	assert_int_equal(a.closed, 0);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_a_frame_goes_there_and_back),
		T(test_many_frames_keep_their_order_and_length),
		T(test_a_frame_of_exactly_the_limit_passes),
		T(test_what_comes_in_is_framed_or_refused),
		T(test_a_frame_byte_by_byte),
		T(test_the_limit_can_be_raised_later),
		T(test_it_can_be_ended_inside_of_its_own_callbacks),
		T(test_close_still_sends_what_is_queued),
		T(test_close_gives_up_on_a_peer_that_does_not_read),
		T(test_the_loop_can_end_while_a_closed_one_still_sends),
		T(test_too_much_unsent_output_ends_it),
		T(test_a_broken_socket_is_reported_once),
		T(test_close_after_a_failed_send_is_quiet),
		T(test_dialing_wrong_addresses_says_why),
		T(test_closing_while_dialing_is_quiet),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
