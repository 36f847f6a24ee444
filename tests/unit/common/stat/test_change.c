#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/base/defs.h"
#include "common/stat/change.h"

#define MOST 16

struct a_case {
	const char *name;
	double values[24];
	size_t n;
	size_t at[4]; /* from 1 on; 0 ends them */
};

static const struct a_case cases[] = {
	{ "nothing", { 0 }, 0, { 0 } },
	{ "too few", { 100, 100, 200, 200, 200 }, 5, { 0 } },
	{ "just enough", { 100, 100, 100, 200, 200, 200 }, 6, { 3 } },
	{ "all the same", { 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, 10, { 0 } },
	{ "all zero", { 0, 0, 0, 0, 0, 0, 0, 0 }, 8, { 0 } },
	{ "a step within the noise", { 100, 110, 90, 105, 95, 112, 94, 108, 99, 111 }, 10, { 0 } },
	{ "a small step without noise", { 100, 100, 100, 100, 104, 104, 104, 104 }, 8, { 0 } },
	{ "a step of 6 % without noise", { 100, 100, 100, 100, 106, 106, 106, 106 }, 8, { 4 } },
	{ "down, with noise", { 101, 99, 100, 102, 98, 100, 80, 81, 79, 80, 82, 78 }, 12, { 6 } },
	{ "one odd value", { 100, 101, 99, 100, 20, 100, 101, 99, 100, 101 }, 10, { 0 } },
	{ "two odd values", { 100, 101, 99, 100, 20, 21, 100, 101, 99, 100, 101 }, 11, { 0 } },
	{ "there and back", { 100, 101, 99, 100, 100, 50, 51, 49, 50, 50, 100, 101, 99, 100, 100 }, 15, { 5, 10 } },
	{ "two steps, three runs between", { 100, 100, 100, 150, 150, 150, 200, 200, 200 }, 9, { 3, 6 } },
	{ "a step with an odd value beside it", { 100, 101, 99, 100, 160, 50, 51, 49, 50, 50 }, 10, { 5 } },
};

static void
test_steps_are_found_where_they_are(void **state)
{
	(void)state;
	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		struct change found[MOST];
		size_t n = change_find(cases[c].values, cases[c].n, found, MOST);
		size_t wanted = 0;

		while (wanted < ARRAY_LEN(cases[c].at) && cases[c].at[wanted] != 0)
			wanted++;
		if (n != wanted)
			fail_msg("%s: %zu changes, not %zu", cases[c].name, n, wanted);
		for (size_t i = 0; i < n; i++)
			if (found[i].at != cases[c].at[i])
				fail_msg("%s: a change at %zu, not %zu", cases[c].name, found[i].at, cases[c].at[i]);
	}
}

static void
test_levels_are_the_medians(void **state)
{
	const double values[] = { 90, 100, 110, 100, 50, 40, 60, 50 };
	struct change found[MOST];

	(void)state;
	assert_int_equal(change_find(values, ARRAY_LEN(values), found, MOST), 1);
	assert_true(found[0].before == 100.0);
	assert_true(found[0].after == 50.0);
	assert_int_equal(change_find(values, ARRAY_LEN(values), found, 0), 0);
}

/* Normal noise of 2 %, no step: how often is one seen all the same? A rule that cries wolf is not read any more. */
static void
test_noise_alone_is_rarely_a_change(void **state)
{
	size_t marks = 0;
	unsigned short seed[3] = { 1, 2, 3 };

	(void)state;
	for (int run = 0; run < 1000; run++) {
		double values[30];
		struct change found[MOST];

		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			double sum = 0;

			for (int k = 0; k < 12; k++)
				sum += erand48(seed);
			values[i] = 100 + 2 * (sum - 6);
		}
		marks += change_find(values, ARRAY_LEN(values), found, MOST);
	}
	assert_in_range(marks, 0, 20); /* 30,000 values */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_are_found_where_they_are),
		cmocka_unit_test(test_levels_are_the_medians),
		cmocka_unit_test(test_noise_alone_is_rarely_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
