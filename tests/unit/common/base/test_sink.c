#include "common/base/sink.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void
test_text_grows_and_stays_terminated(void **state)
{
	struct sink s = { 0 };

	(void)state;
	sink_add(&s, "abc", 2);
	assert_string_equal(s.text, "ab");
	sink_printf(&s, "%d", 12);
	sink_repeat(&s, '-', 3);
	assert_string_equal(s.text, "ab12---");
	assert_int_equal(s.len, 7);
	sink_free(&s);
	assert_null(s.text);
	assert_int_equal(s.len, 0);
	sink_free(&s);
}

static void
test_nothing_added_is_an_empty_text(void **state)
{
	struct sink s = { 0 };

	(void)state;
	sink_add(&s, NULL, 0);
	assert_string_equal(s.text, "");
	sink_repeat(&s, 'x', 0);
	sink_printf(&s, "%s", "");
	assert_string_equal(s.text, "");
	sink_free(&s);
}

static void
test_printing_more_than_the_room_at_hand(void **state)
{
	char *wide = malloc(5001);
	struct sink s = { 0 };

	(void)state;
	memset(wide, 'w', 5000);
	wide[5000] = '\0';
	for (size_t n = 250; n < 262; n++) { /* around the room that is reserved at once */
		sink_free(&s);
		sink_printf(&s, "%.*s", (int)n, wide);
		assert_int_equal(s.len, n);
		assert_int_equal(strlen(s.text), n);
	}
	sink_printf(&s, "<%s>", wide);
	assert_int_equal(s.len, 261 + 5002);
	assert_int_equal(s.text[s.len - 1], '>');
	sink_free(&s);
	free(wide);
}

static void
test_bytes_of_any_value_are_kept(void **state)
{
	struct sink s = { 0 };

	(void)state;
	sink_add(&s, "a\0b", 3);
	assert_int_equal(s.len, 3);
	assert_memory_equal(s.text, "a\0b", 4);
	sink_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_grows_and_stays_terminated),
		cmocka_unit_test(test_nothing_added_is_an_empty_text),
		cmocka_unit_test(test_printing_more_than_the_room_at_hand),
		cmocka_unit_test(test_bytes_of_any_value_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
