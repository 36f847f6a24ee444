/* Where helper programs are looked for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/program.h"

static void
test_a_program_beside_this_one_is_found(void **state)
{
	char *path = program_find("test_program", "/nowhere");

	(void)state;
	assert_int_equal(path[0], '/');
	assert_non_null(strstr(path, "/test_program"));
	assert_null(strstr(path, "/nowhere"));
	free(path);
}

static void
test_else_it_is_where_the_folder_says(void **state)
{
	char *path = program_find("no-such-program", "/nowhere");

	(void)state;
	assert_string_equal(path, "/nowhere/no-such-program");
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_beside_this_one_is_found),
		cmocka_unit_test(test_else_it_is_where_the_folder_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
