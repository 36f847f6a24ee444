#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "agent/daemon/allow.h"

struct allow_case {
	const char *name;
	const char *path;
	bool allowed;
};

static const struct allow_case cases[] = {
	{ "an entry itself", "/mnt/a", true },
	{ "an entry with a slash", "/mnt/a/", true },
	{ "below an entry", "/mnt/a/x/y", true },
	{ "below an entry that ends in a slash", "/srv/b/x", true },
	{ "that entry itself", "/srv/b", true },
	{ "begins like an entry", "/mnt/ab", false },
	{ "above an entry", "/mnt", false },
	{ "elsewhere", "/etc", false },
	{ "root", "/", false },
	{ "dot dot", "/mnt/a/../../etc", false },
	{ "dot dot at the end", "/mnt/a/..", false },
	{ "dot", "/mnt/a/./x", false },
	{ "dot at the end", "/mnt/a/.", false },
	{ "names that begin with dots", "/mnt/a/..x/.y/...", true },
	{ "two slashes", "/mnt/a//x", false },
	{ "two slashes first", "//mnt/a", false },
	{ "two slashes last", "/mnt/a//", false },
	{ "relative", "mnt/a", false },
	{ "empty", "", false },
	{ "none", NULL, false },
};

static void
test_only_what_is_allowed_is_allowed(void **state)
{
	char a[] = "/mnt/a", b[] = "/srv/b/", odd[] = "relative";
	char *const list[] = { odd, a, b };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ls_err err = { 0 };
		enum ls_rc rc = allow_check(list, ARRAY_LEN(list), cases[i].path, &err);
		if ((rc == LS_OK) != cases[i].allowed)
			fail_msg("%s: got %s, wanted %s", cases[i].name, ls_rc_name(rc),
			    cases[i].allowed ? "allowed" : "refused");
		if (rc && (rc != LS_E_REFUSED || !strstr(err.text, cases[i].path ? cases[i].path : "(no path)")))
			fail_msg("%s: the sentence does not name the path: %s", cases[i].name, err.text);
	}
}

static void
test_without_entries_nothing_is_allowed(void **state)
{
	struct ls_err err;

	(void)state;
	assert_int_equal(allow_check(NULL, 0, "/mnt/a", &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, "/mnt/a"));
	assert_non_null(strstr(err.text, "allow"));
}

static void
test_root_allows_all(void **state)
{
	char root[] = "/";
	char *const list[] = { root };

	(void)state;
	assert_int_equal(allow_check(list, 1, "/mnt/a", NULL), LS_OK);
	assert_int_equal(allow_check(list, 1, "/", NULL), LS_OK);
}

/* Letter by letter: another name of the same device is not what was allowed. */
static void
test_devices_are_allowed_by_name(void **state)
{
	char a[] = "/dev/sdb", b[] = "/dev/dm-3";
	char *const list[] = { a, b };
	struct ls_err err;

	(void)state;
	assert_int_equal(allow_device(list, 2, "/dev/sdb", NULL), LS_OK);
	assert_int_equal(allow_device(list, 2, "/dev/dm-3", NULL), LS_OK);
	assert_int_equal(allow_device(list, 2, "/dev/sdb1", NULL), LS_E_REFUSED);
	assert_int_equal(allow_device(list, 2, "/dev/sd", NULL), LS_E_REFUSED);
	assert_int_equal(allow_device(list, 2, "/dev/sdb/", NULL), LS_E_REFUSED);
	assert_int_equal(allow_device(NULL, 0, "/dev/sdb", &err), LS_E_REFUSED);
	assert_non_null(strstr(err.text, "/dev/sdb"));
	assert_non_null(strstr(err.text, "raw_devices"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_allowed_is_allowed),
		cmocka_unit_test(test_without_entries_nothing_is_allowed),
		cmocka_unit_test(test_root_allows_all),
		cmocka_unit_test(test_devices_are_allowed_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
