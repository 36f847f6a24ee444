#include "common/base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The sanitizers ask for this; without it an impossible size ends the process instead of giving NULL. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);

const char *
__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void
test_sizes_of_zero_give_memory(void **state)
{
	void *all[] = { ls_calloc(0, 0), ls_calloc(0, 8), ls_malloc(0), ls_realloc(NULL, 0, 4), ls_try_calloc(0, 0) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_non_null(all[i]);
		free(all[i]);
	}
}

static void
test_calloc_is_zeroed(void **state)
{
	static const char zero[64];
	char *p = ls_calloc(8, 8);

	(void)state;
	assert_memory_equal(p, zero, 64);
	free(p);
}

static void
test_job_sized_memory_may_be_refused(void **state)
{
	volatile size_t huge = SIZE_MAX / 2;

	(void)state;
	assert_null(ls_try_calloc(huge, 4)); /* the product overflows */
}

static void
test_copies_of_strings(void **state)
{
	char *a = ls_strdup("abc"), *b = ls_strndup("abcdef", 3), *c = ls_strndup("ab", 9),
	     *d = ls_asprintf("%d-%s", 7, "x");

	(void)state;
	assert_null(ls_strdup(NULL));
	assert_null(ls_strndup(NULL, 3));
	assert_string_equal(a, "abc");
	assert_string_equal(b, "abc");
	assert_string_equal(c, "ab");
	assert_string_equal(d, "7-x");
	free(a);
	free(b);
	free(c);
	free(d);
}

static void
test_a_growing_array_keeps_its_elements(void **state)
{
	size_t *items = NULL;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		items = ls_grow(items, i, sizeof(*items));
		items[i] = i * 3;
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(items[i], i * 3);
	free(items);
}

static void
test_small_memory_that_is_out_ends_the_process(void **state)
{
	volatile size_t huge = SIZE_MAX / 2;
	int status;

	(void)state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		close(STDERR_FILENO);
		free(ls_calloc(huge, 4));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_of_zero_give_memory),
		cmocka_unit_test(test_calloc_is_zeroed),
		cmocka_unit_test(test_job_sized_memory_may_be_refused),
		cmocka_unit_test(test_copies_of_strings),
		cmocka_unit_test(test_a_growing_array_keeps_its_elements),
		cmocka_unit_test(test_small_memory_that_is_out_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
