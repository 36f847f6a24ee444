#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/runner/link.h"
#include "common/base/frame.h"

#define FINISH "{\"type\":\"finish\",\"run\":\"r1\"}"

static struct link *
pair(int *other)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	*other = fds[1];
	return link_new(fds[0]);
}

static void
put(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), (ssize_t)len);
}

static size_t
frame(uint8_t *out, const char *text)
{
	size_t len = strlen(text);

	frame_header_put(out, (uint32_t)len);
	memcpy(out + FRAME_HEADER_BYTES, text, len);
	return len + FRAME_HEADER_BYTES;
}

static void
expect_finish(struct link *link)
{
	struct msg msg = { 0 };
	struct ls_err err = { 0 };

	assert_int_equal(link_next(link, &msg, &err), LINK_MESSAGE);
	assert_int_equal(msg.type, MSG_FINISH);
	assert_string_equal(((struct msg_finish *)msg.body)->run, "r1");
	msg_fini(&msg);
}

static void
test_frames_arrive_whole_however_they_are_cut(void **state)
{
	uint8_t bytes[256];
	struct msg msg;
	struct ls_err err;
	int other;
	struct link *link = pair(&other);
	size_t n = frame(bytes, FINISH);

	(void)state;
	for (size_t i = 0; i + 1 < n; i++) {
		put(other, bytes + i, 1);
		assert_int_equal(link_next(link, &msg, &err), LINK_NOTHING);
	}
	put(other, bytes + n - 1, 1);
	expect_finish(link);

	/* two and a half in one piece */
	memcpy(bytes + n, bytes, n);
	memcpy(bytes + 2 * n, bytes, n / 2);
	put(other, bytes, 2 * n + n / 2);
	expect_finish(link);
	expect_finish(link);
	assert_int_equal(link_next(link, &msg, &err), LINK_NOTHING);
	put(other, bytes + n / 2, n - n / 2);
	expect_finish(link);
	close(other);
	assert_int_equal(link_next(link, &msg, &err), LINK_CLOSED);
	link_free(link);
}

static void
test_what_came_before_the_end_is_still_read(void **state)
{
	uint8_t bytes[256];
	struct msg msg;
	int other;
	struct link *link = pair(&other);

	(void)state;
	put(other, bytes, frame(bytes, FINISH));
	close(other);
	expect_finish(link);
	assert_int_equal(link_next(link, &msg, NULL), LINK_CLOSED);
	link_free(link);
}

static const struct {
	const char *name, *text;
} bad[] = {
	{ "empty frame", "" },
	{ "no object", "[]" },
	{ "cut text", "{\"type\":\"finish\"" },
	{ "no type", "{\"run\":\"r1\"}" },
	{ "unknown type", "{\"type\":\"dance\"}" },
	{ "not for a runner", "{\"type\":\"welcome\",\"version\":\"1\",\"build\":\"b\"}" },
	{ "missing field", "{\"type\":\"finish\"}" },
	{ "garbage", "\xff\xfe\x01" },
};

static void
test_what_is_no_message_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t bytes[256];
		struct msg msg;
		struct ls_err err = { 0 };
		int other;
		struct link *link = pair(&other);

		put(other, bytes, frame(bytes, bad[i].text));
		if (link_next(link, &msg, &err) != LINK_BAD || err.text[0] == '\0')
			fail_msg("%s passes", bad[i].name);
		link_free(link);
		close(other);
	}
}

static void
test_a_long_frame_is_refused_by_its_header(void **state)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct msg msg;
	struct ls_err err = { 0 };
	int other;
	struct link *link = pair(&other);

	(void)state;
	frame_header_put(header, MSG_FRAME_MAX + 1);
	put(other, header, sizeof(header));
	assert_int_equal(link_next(link, &msg, &err), LINK_BAD);
	link_free(link);
	close(other);
}

static void
test_sending_to_nobody_is_told(void **state)
{
	struct msg_error body = { .text = (char[]){ "x" } };
	struct ls_err err = { 0 };
	int other;
	struct link *link = pair(&other);

	(void)state;
	assert_int_equal(link_send(link, MSG_ERROR, &body, &err), LS_OK);
	close(other);
	assert_int_equal(link_send(link, MSG_ERROR, &body, &err), LS_E_CLOSED);
	link_free(link);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_arrive_whole_however_they_are_cut),
		cmocka_unit_test(test_what_came_before_the_end_is_still_read),
		cmocka_unit_test(test_what_is_no_message_is_told),
		cmocka_unit_test(test_a_long_frame_is_refused_by_its_header),
		cmocka_unit_test(test_sending_to_nobody_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
