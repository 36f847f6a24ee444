#include "common/base/err.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static void
test_every_code_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (int a = LS_OK; a >= LS_E_STORE; a--) {
		assert_string_not_equal(ls_rc_name((enum ls_rc)a), "unknown");
		for (int b = LS_OK; b > a; b--)
			assert_string_not_equal(ls_rc_name((enum ls_rc)a), ls_rc_name((enum ls_rc)b));
	}
	assert_string_equal(ls_rc_name((enum ls_rc)(LS_E_STORE - 1)), "unknown");
}

static void
test_set_stores_code_and_sentence(void **state)
{
	struct ls_err err = { .sys = 5 };

	(void)state;
	assert_int_equal(ls_err_set(&err, LS_E_RANGE, "%s: %d", "x", 7), LS_E_RANGE);
	assert_int_equal(err.rc, LS_E_RANGE);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.text, "x: 7");
}

static void
test_sys_appends_the_reason(void **state)
{
	struct ls_err err;
	char reason[128];

	(void)state;
	assert_int_equal(ls_err_sys(&err, ENOENT, "/a: open"), LS_E_SYS);
	assert_int_equal(err.rc, LS_E_SYS);
	assert_int_equal(err.sys, ENOENT);
	assert_string_equal(err.text, "/a: open: No such file or directory");
	assert_non_null(strstr(ls_strerror(123456, reason, sizeof(reason)), "123456"));
	assert_string_equal(ls_strerror(ENOENT, reason, 8), "No such");
}

static void
test_wrap_puts_context_before(void **state)
{
	struct ls_err err;

	(void)state;
	ls_err_sys(&err, EIO, "write");
	assert_int_equal(ls_err_wrap(&err, "node %d", 3), LS_E_SYS);
	assert_int_equal(err.sys, EIO);
	assert_string_equal(err.text, "node 3: write: Input/output error");
}

static void
test_null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(ls_err_set(NULL, LS_E_PROTO, "x"), LS_E_PROTO);
	assert_int_equal(ls_err_sys(NULL, EIO, "x"), LS_E_SYS);
	assert_int_equal(ls_err_wrap(NULL, "x"), LS_E_INVALID);
}

/* What a sentence of that many bytes of filling and then text looks like at its end. */
static const struct {
	const char *name, *text;
	size_t filling;
	const char *tail;
} cut_cases[] = {
	{ "fits", "\xc3\xa9", 1021, "\xc3\xa9" },
	{ "cut in a sequence of two", "\xc3\xa9", 1022, "aa" },
	{ "cut after a sequence", "\xc3\xa9z", 1021, "\xc3\xa9" },
	{ "cut in a sequence of three", "\xe2\x82\xac", 1021, "aa" },
	{ "cut in a sequence of four", "\xf0\x9f\x92\xbe", 1020, "aa" },
	{ "ASCII", "zz", 1022, "az" },
};

static void
test_long_text_is_cut_between_characters(void **state)
{
	char filling[1024];
	struct ls_err err;

	(void)state;
	memset(filling, 'a', sizeof(filling));
	for (size_t i = 0; i < ARRAY_LEN(cut_cases); i++) {
		ls_err_set(&err, LS_E_INVALID, "%.*s%s", (int)cut_cases[i].filling, filling, cut_cases[i].text);
		size_t len = strlen(err.text);
		size_t tail = strlen(cut_cases[i].tail);

		if (len < tail || strcmp(err.text + len - tail, cut_cases[i].tail) != 0)
			fail_msg("%s: ends with '%s'", cut_cases[i].name, err.text + len - 4);
	}
}

static void
test_wrapping_a_long_text_keeps_it_terminated(void **state)
{
	char filling[2000];
	struct ls_err err;

	(void)state;
	memset(filling, 'a', sizeof(filling) - 1);
	filling[sizeof(filling) - 1] = '\0';
	ls_err_set(&err, LS_E_LIMIT, "%s", filling);
	assert_int_equal(ls_err_wrap(&err, "%s", filling), LS_E_LIMIT);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	ls_err_sys(&err, EIO, "%s", filling);
	assert_non_null(strstr(err.text, ": Input/output error"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_code_has_a_name_of_its_own),
		cmocka_unit_test(test_set_stores_code_and_sentence),
		cmocka_unit_test(test_sys_appends_the_reason),
		cmocka_unit_test(test_wrap_puts_context_before),
		cmocka_unit_test(test_null_is_allowed),
		cmocka_unit_test(test_long_text_is_cut_between_characters),
		cmocka_unit_test(test_wrapping_a_long_text_keeps_it_terminated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
