#include "agent/helper/wire.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

struct request_case {
	const char *packet;
	enum ls_rc rc;
	enum helper_verb verb;
	const char *path;
};

static const struct request_case requests[] = {
	{ "status", LS_OK, HELPER_STATUS, "" },
	{ "drop-caches", LS_OK, HELPER_DROP_CACHES, "" },
	{ "heartbeat", LS_OK, HELPER_HEARTBEAT, "" },
	{ "remount /mnt/shared", LS_OK, HELPER_REMOUNT, "/mnt/shared" },
	{ "remount /mnt/a b", LS_OK, HELPER_REMOUNT, "/mnt/a b" },
	{ "", LS_E_INVALID, 0, NULL },
	{ "statu", LS_E_INVALID, 0, NULL },
	{ "status ", LS_E_INVALID, 0, NULL },
	{ "status\n", LS_E_INVALID, 0, NULL },
	{ "STATUS", LS_E_INVALID, 0, NULL },
	{ "drop-caches 3", LS_E_INVALID, 0, NULL },
	{ "remount", LS_E_INVALID, 0, NULL },
	{ "remount ", LS_E_INVALID, 0, NULL },
	{ "remount mnt", LS_E_INVALID, 0, NULL },
	{ "remount /mnt/../etc", LS_E_INVALID, 0, NULL },
	{ "remount /mnt/./x", LS_E_INVALID, 0, NULL },
	{ "remount //mnt", LS_E_INVALID, 0, NULL },
	{ "remount /mnt\n/etc", LS_E_INVALID, 0, NULL },
	{ "remount /mnt\x7f", LS_E_INVALID, 0, NULL },
};

static void
test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		const struct request_case *c = &requests[i];
		struct helper_request out;
		struct ls_err err = { 0 };
		char again[HELPER_PACKET_MAX];

		if (helper_request_parse(c->packet, strlen(c->packet), &out, &err) != c->rc)
			fail_msg("\"%s\": %s", c->packet, err.text);
		if (c->rc != LS_OK) {
			assert_true(err.text[0] != '\0');
			continue;
		}
		assert_int_equal(c->verb, out.verb);
		assert_string_equal(c->path, out.path);
		assert_int_equal(strlen(c->packet), helper_request_format(&out, again, sizeof(again)));
		assert_string_equal(c->packet, again);
	}
}

static void
test_paths_have_a_length(void **state)
{
	char packet[HELPER_PATH_MAX + 32] = "remount ";
	struct helper_request out;
	struct ls_err err;

	(void)state;
	memset(packet + 8, 'a', HELPER_PATH_MAX + 1);
	packet[8] = '/';
	assert_int_equal(LS_OK, helper_request_parse(packet, 8 + HELPER_PATH_MAX, &out, &err));
	assert_int_equal(HELPER_PATH_MAX, strlen(out.path));
	assert_int_equal(LS_E_INVALID, helper_request_parse(packet, 8 + HELPER_PATH_MAX + 1, &out, &err));
	/* a NUL within is a control character, not an end */
	assert_int_equal(LS_E_INVALID, helper_request_parse("remount /a\0b", 12, &out, &err));
}

static void
test_answers(void **state)
{
	char buf[HELPER_PACKET_MAX], body[HELPER_PACKET_MAX];
	struct ls_err err;
	size_t len = helper_answer_ok(NULL, buf, sizeof(buf));

	(void)state;
	assert_int_equal(LS_OK, helper_answer_parse(buf, len, body, sizeof(body), &err));
	assert_string_equal("", body);
	len = helper_answer_no("umount: /mnt: target is busy.", buf, sizeof(buf));
	assert_int_equal(LS_E_REFUSED, helper_answer_parse(buf, len, body, sizeof(body), &err));
	assert_string_equal("umount: /mnt: target is busy.", err.text);
	/* what a helper says can stand on a terminal */
	len = helper_answer_no("a\033[2J\nb", buf, sizeof(buf));
	assert_int_equal(LS_E_REFUSED, helper_answer_parse(buf, len, body, sizeof(body), &err));
	assert_string_equal("a?[2J b", err.text);
	assert_int_equal(LS_E_PROTO, helper_answer_parse("", 0, body, sizeof(body), &err));
	assert_int_equal(LS_E_PROTO, helper_answer_parse("okay", 4, body, sizeof(body), &err));
	assert_int_equal(LS_E_PROTO, helper_answer_parse("hm", 2, body, sizeof(body), &err));
	/* a body that does not fit is cut */
	len = helper_answer_ok("0123456789", buf, sizeof(buf));
	assert_int_equal(LS_OK, helper_answer_parse(buf, len, body, 5, &err));
	assert_string_equal("0123", body);
}

static void
test_status(void **state)
{
	struct helper_status s;
	struct ls_err err;
	static const char text[] = "drop_caches yes\nheartbeat no\nremount /mnt/a\nremount /mnt/b\n";

	(void)state;
	assert_int_equal(LS_OK, helper_status_parse(text, "/mnt/b", &s, &err));
	assert_true(s.drop_caches);
	assert_false(s.heartbeat);
	assert_true(s.remount);
	assert_int_equal(LS_OK, helper_status_parse(text, "/mnt", &s, &err));
	assert_false(s.remount);
	assert_int_equal(LS_OK, helper_status_parse(text, NULL, &s, &err));
	assert_false(s.remount);
	assert_int_equal(LS_E_PROTO, helper_status_parse("what\n", NULL, &s, &err));
}

static void
test_heartbeats(void **state)
{
	static const char *const bad[] = { "A 1", "A 1 2", "A -1 2\n", " 1 2\n", "A 1 2 3\n", "A 1234567890123 2\n",
		"A\n" };
	struct helper_beats beats = { .count = 2,
		.list = { { "0C4B1A", 1200 * NS_PER_MS, 60 * NS_PER_S }, { "5D", 0, 1 * NS_PER_MS } } };
	struct helper_beats out;
	char text[HELPER_PACKET_MAX];
	struct ls_err err;

	(void)state;
	assert_int_equal(25, helper_beats_format(&beats, text, sizeof(text)));
	assert_int_equal(LS_OK, helper_beats_parse(text, &out, &err));
	assert_int_equal(2, out.count);
	assert_string_equal("0C4B1A", out.list[0].region);
	assert_int_equal(1200 * NS_PER_MS, out.list[0].age_ns);
	assert_int_equal(60 * NS_PER_S, out.list[0].dead_ns);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (helper_beats_parse(bad[i], &out, &err) != LS_E_PROTO)
			fail_msg("\"%s\" was taken", bad[i]);
	/* as many as there is room for */
	beats.count = HELPER_BEATS_MAX;
	for (size_t i = 0; i < HELPER_BEATS_MAX; i++) {
		memset(beats.list[i].region, 'A', HELPER_REGION_MAX);
		beats.list[i].age_ns = beats.list[i].dead_ns = 999999999999LL * NS_PER_MS;
	}
	assert_true(helper_beats_format(&beats, text, sizeof(text)) < HELPER_PACKET_MAX - 16);
	assert_int_equal(LS_OK, helper_beats_parse(text, &out, &err));
	assert_int_equal(HELPER_BEATS_MAX, out.count);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_paths_have_a_length),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_heartbeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
