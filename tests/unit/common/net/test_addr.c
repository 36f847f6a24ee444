/*
 * Addresses as people write them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "common/net/addr.h"

struct good_case {
	const char *text, *host;
	uint16_t port;
	bool is_unix;
	const char *formatted;
};

static const struct good_case good[] = {
	{ "node1", "node1", 7437, false, "node1:7437" },
	{ "node1:80", "node1", 80, false, "node1:80" },
	{ "node-1.example.org:1", "node-1.example.org", 1, false, "node-1.example.org:1" },
	{ "n_1:65535", "n_1", 65535, false, "n_1:65535" },
	{ ":7000", "", 7000, false, ":7000" },
	{ ":0", "", 0, false, ":0" },
	{ "127.0.0.1:0", "127.0.0.1", 0, false, "127.0.0.1:0" },
	{ "10.0.0.1", "10.0.0.1", 7437, false, "10.0.0.1:7437" },
	{ "::1", "::1", 7437, false, "[::1]:7437" },
	{ "::", "::", 7437, false, "[::]:7437" },
	{ "[::1]", "::1", 7437, false, "[::1]:7437" },
	{ "[::1]:22", "::1", 22, false, "[::1]:22" },
	{ "[fe80::1%eth0]:22", "fe80::1%eth0", 22, false, "[fe80::1%eth0]:22" },
	{ "fe80::1%eth0", "fe80::1%eth0", 7437, false, "[fe80::1%eth0]:7437" },
	{ "[::ffff:1.2.3.4]:5", "::ffff:1.2.3.4", 5, false, "[::ffff:1.2.3.4]:5" },
	{ "unix:/run/lockstep/s", "/run/lockstep/s", 0, true, "unix:/run/lockstep/s" },
	{ "unix:s", "s", 0, true, "unix:s" },
};

static void
test_addresses_are_parsed_and_formatted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct good_case *c = &good[i];
		struct addr a;
		struct ls_err err = { .rc = LS_OK };
		char buf[300];
		if (addr_parse(c->text, LOCKSTEP_PORT, &a, &err) != LS_OK)
			fail_msg("'%s': %s", c->text, err.text);
		if (strcmp(a.host, c->host) != 0 || a.port != c->port || a.is_unix != c->is_unix)
			fail_msg("'%s': got '%s' port %u", c->text, a.host, (unsigned)a.port);
		assert_string_equal(addr_format(&a, buf, sizeof(buf)), c->formatted);
	}
}

#define FIFTY     "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
#define TWO_FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY

static const char *const bad[] = {
	"",
	":",
	"node:",
	"node:x",
	"node:-1",
	"node:+1",
	"node: 1",
	"node:65536",
	"node:123456",
	"node:80:90",
	"[::1",
	"[::1]80",
	"[::1]:",
	"[::1]:x",
	"[node]:80",
	"[]",
	"[1.2.3.4]:5",
	"[fe80::1%]:5",
	"[%eth0]:5",
	"node 1",
	"node/1",
	"-node:1",
	".node",
	":::1",
	"1:2:3",
	"n\xc3\xb6"
	"de",
	"a@b:1",
	"unix:",
	"unix:/" FIFTY FIFTY FIFTY,
	TWO_FIFTY "abcd",
	TWO_FIFTY FIFTY ":1",
	"[" TWO_FIFTY FIFTY "]:1",
};

static void
test_wrong_addresses_are_refused_with_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct addr a = { .port = 4711 };
		struct ls_err err = { .rc = LS_OK };
		if (addr_parse(bad[i], LOCKSTEP_PORT, &a, &err) != LS_E_INVALID)
			fail_msg("'%s' was accepted: '%s' port %u", bad[i], a.host, (unsigned)a.port);
		assert_true(err.text[0] != '\0');
		assert_int_equal(a.port, 4711); /* untouched */
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_are_parsed_and_formatted),
		cmocka_unit_test(test_wrong_addresses_are_refused_with_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
