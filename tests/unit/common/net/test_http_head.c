#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/defs.h"
#include "common/base/mem.h"
#include "common/net/http_head.h"

#define H "Host: x\r\n"

static const struct {
	const char *text;
	int status;
	const char *path;
} cases[] = {
	{ "GET / HTTP/1.1\r\n" H "\r\n", 0, "/" },
	{ "GET /run/20261130-1.json?x=%2e%2e HTTP/1.1\r\nhost:x\r\n\r\n", 0, "/run/20261130-1.json" },
	{ "HEAD / HTTP/1.0\r\n" H "\r\n", 0, "/" },
	{ "GET / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", 0, "/" },
	{ "POST / HTTP/1.1\r\n" H "\r\n", 405, NULL },
	{ "get / HTTP/1.1\r\n" H "\r\n", 405, NULL },
	{ "OPTIONS * HTTP/1.1\r\n" H "\r\n", 405, NULL },
	{ "GET / HTTP/2.0\r\n" H "\r\n", 505, NULL },
	{ "GET /\r\n" H "\r\n", 400, NULL },
	{ "GET  / HTTP/1.1\r\n" H "\r\n", 400, NULL },
	{ "GET / HTTP/1.1 x\r\n" H "\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H H "\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H "X\r\n\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H " folded\r\n\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H "X : y\r\n\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H "X: a\nb\r\n\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H "Authorization: a\r\nAuthorization: b\r\n\r\n", 400, NULL },
	{ "GET / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n", 413, NULL },
	{ "GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 413, NULL },
	{ "GET http://x/ HTTP/1.1\r\n" H "\r\n", 400, NULL },
	{ "GET /../etc/passwd HTTP/1.1\r\n" H "\r\n", 400, NULL },
	{ "GET /%2e%2e/etc HTTP/1.1\r\n" H "\r\n", 400, NULL },
	{ "GET //evil HTTP/1.1\r\n" H "\r\n", 400, NULL },
	{ "GET /a\\b HTTP/1.1\r\n" H "\r\n", 400, NULL },
	{ "\r\n\r\n", 400, NULL },
	{ "\x16\x03\x01\r\n\r\n", 400, NULL },
};

static void
test_heads_are_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len = strlen(cases[i].text);
		char *exact = ls_malloc(len); /* for ASan: not a byte beyond */
		struct http_head head;

		memcpy(exact, cases[i].text, len);
		int status = http_head_parse(exact, len, &head);
		if (status != cases[i].status)
			fail_msg("case %zu: %d, not %d", i, status, cases[i].status);
		if (cases[i].path != NULL)
			assert_string_equal(head.path, cases[i].path);
		free(exact);
	}
}

static void
test_fields_that_count(void **state)
{
	struct http_head head;
	const char *text = "HEAD / HTTP/1.1\r\n" H "AUTHORIZATION:\t Bearer a b \r\nConnection: Close\r\n\r\n";

	(void)state;
	assert_int_equal(http_head_parse(text, strlen(text), &head), 0);
	assert_string_equal(head.authorization, "Bearer a b");
	assert_true(head.head_only);
	assert_false(head.keep_alive);
	text = "GET / HTTP/1.1\r\n" H "\r\n";
	assert_int_equal(http_head_parse(text, strlen(text), &head), 0);
	assert_true(head.keep_alive);
	assert_string_equal(head.authorization, "");
}

static void
test_what_is_too_long(void **state)
{
	char text[HTTP_HEAD_MAX + 64];
	struct http_head head;
	int n;

	(void)state;
	n = snprintf(text, sizeof(text), "GET /%0300d HTTP/1.1\r\n" H "\r\n", 0);
	assert_int_equal(http_head_parse(text, (size_t)n, &head), 414);
	n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" H "Authorization: %01100d\r\n\r\n", 0);
	assert_int_equal(http_head_parse(text, (size_t)n, &head), 431);
	n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" H "X: %0*d\r\n\r\n", HTTP_HEAD_MAX, 0);
	assert_int_equal(http_head_parse(text, (size_t)n, &head), 431);
}

static void
test_the_end_of_a_head(void **state)
{
	(void)state;
	assert_int_equal(http_head_end("GET / HTTP/1.1\r\n\r", 17), 0);
	assert_int_equal(http_head_end("GET / HTTP/1.1\r\n\r\nmore", 22), 18);
	assert_int_equal(http_head_end("", 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads_are_read_strictly),
		cmocka_unit_test(test_fields_that_count),
		cmocka_unit_test(test_what_is_too_long),
		cmocka_unit_test(test_the_end_of_a_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
