#include "common/pki/identity.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#define NAME_63 "a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *name;
	bool valid;
} name_cases[] = {
	{ "node1", true },
	{ "n", true },
	{ "0", true },
	{ "A.b_c-d", true },
	{ "_x", true },
	{ NAME_63, true },
	{ NAME_63 "4", false },
	{ "", false },
	{ ".hidden", false },
	{ "-option", false },
	{ "a/b", false },
	{ "a b", false },
	{ "a,URI:x", false },
	{ "n\xc3\xa4me", false },
	{ "a\n", false },
};

static void
test_names_are_checked(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(name_cases); i++)
		if (identity_name_valid(name_cases[i].name) != name_cases[i].valid)
			fail_msg("'%s': expected %svalid", name_cases[i].name, name_cases[i].valid ? "" : "not ");
}

static const struct {
	const char *uri;
	enum ls_rc rc;
	enum identity_role role;
	const char *name;
} uri_cases[] = {
	{ "lockstep://coordinator/c1", LS_OK, ROLE_COORDINATOR, "c1" },
	{ "lockstep://agent/node-1.example", LS_OK, ROLE_AGENT, "node-1.example" },
	{ "lockstep://operator/" NAME_63, LS_OK, ROLE_OPERATOR, NAME_63 },
	{ "lockstep://none/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://root/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://Agent/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://agent/", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://agent", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://agent/a/b", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://agent/a?x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep:///x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep://averyveryverylongrole/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "LOCKSTEP://agent/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "lockstep:agent/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "https://agent/x", LS_E_INVALID, ROLE_NONE, NULL },
	{ "", LS_E_INVALID, ROLE_NONE, NULL },
};

static void
test_uris_are_parsed_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(uri_cases); i++) {
		struct identity id = { .role = ROLE_NONE, .name = "untouched" };
		struct ls_err err = { 0 };
		enum ls_rc rc = identity_parse_uri(uri_cases[i].uri, &id, &err);

		if (rc != uri_cases[i].rc || id.role != uri_cases[i].role)
			fail_msg("'%s': rc %d, role %d", uri_cases[i].uri, (int)rc, (int)id.role);
		assert_string_equal(id.name, rc == LS_OK ? uri_cases[i].name : "untouched");
		assert_true(rc == LS_OK || err.text[0] != '\0');
	}
}

static void
test_a_uri_is_read_back(void **state)
{
	char buf[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(uri_cases); i++) {
		struct identity id;

		if (identity_parse_uri(uri_cases[i].uri, &id, NULL) == LS_OK)
			assert_string_equal(identity_uri(&id, buf, sizeof(buf)), uri_cases[i].uri);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_checked),
		cmocka_unit_test(test_uris_are_parsed_strictly),
		cmocka_unit_test(test_a_uri_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
