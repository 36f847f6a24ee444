#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "agent/engine/filled.h"
#include "common/base/defs.h"

/* A script of +begin-end and -begin-end on file 1, then which of 0..9 are known to be written. */
struct script {
	const char *name;
	const char *steps;
	const char *want; /* a digit for each byte that is covered */
};

static const struct script scripts[] = {
	{ "nothing", "", "" },
	{ "one", "+2-5", "234" },
	{ "apart", "+0-2 +4-6", "0145" },
	{ "touching become one", "+0-2 +2-4", "0123" },
	{ "overlapping", "+0-5 +3-8", "01234567" },
	{ "filling the gap", "+0-2 +4-6 +2-4", "012345" },
	{ "within", "+0-9 +3-4", "012345678" },
	{ "empty", "+5-5", "" },
	{ "drop in the middle", "+0-9 -3-5", "0125678" },
	{ "drop all", "+0-2 +4-6 -0-9", "" },
	{ "drop across", "+0-3 +5-8 -2-6", "0167" },
	{ "drop what is not there", "+0-3 -5-8", "012" },
	{ "drop and add", "+0-9 -3-5 +3-5", "012345678" },
};

static void
play(struct filled *f, const char *steps)
{
	unsigned begin, end;
	char sign;
	int used;

	while (sscanf(steps, " %c%u-%u%n", &sign, &begin, &end, &used) == 3) {
		if (sign == '+')
			filled_add(f, 1, begin, end);
		else
			filled_drop(f, 1, begin, end);
		steps += used;
	}
}

static void
test_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		const struct script *s = &scripts[i];
		struct filled f;
		char got[11] = "";
		filled_init(&f);
		filled_add(&f, 2, 0, 100); /* another file */
		play(&f, s->steps);
		for (unsigned b = 0; b < 10; b++)
			if (filled_covers(&f, 1, b, b + 1))
				snprintf(got + strlen(got), sizeof(got) - strlen(got), "%u", b);
		if (strcmp(got, s->want) != 0)
			fail_msg("%s: got \"%s\", wanted \"%s\"", s->name, got, s->want);
		assert_true(filled_covers(&f, 2, 0, 100));
		assert_false(filled_covers(&f, 2, 0, 101));
		filled_fini(&f);
	}
}

static void
test_ranges_that_were_joined_cover_the_whole(void **state)
{
	struct filled f;

	(void)state;
	filled_init(&f);
	for (uint64_t i = 0; i < 1000; i += 2)
		filled_add(&f, 1, i, i + 1);
	assert_int_equal(f.count, 500);
	assert_false(filled_covers(&f, 1, 0, 999));
	for (uint64_t i = 1; i < 1000; i += 2)
		filled_add(&f, 1, i, i + 1);
	assert_int_equal(f.count, 1);
	assert_true(filled_covers(&f, 1, 0, 1000));
	assert_true(filled_covers(&f, 1, 5, 5));
	filled_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_ranges_that_were_joined_cover_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
