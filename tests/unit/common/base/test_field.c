#include "common/base/field.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static const char *const whole_modes[] = { "fast", "safe", NULL };

#include "common/base/field_decl.h"
#include "tests/unit/common/base/part.def"
#include "tests/unit/common/base/whole.def"
#include "common/base/field_undef.h"

#include "common/base/field_table.h"
#include "tests/unit/common/base/part.def"
#include "tests/unit/common/base/whole.def"
#include "common/base/field_undef.h"

static void
test_init_sets_the_defaults(void **state)
{
	struct whole w;

	(void)state;
	memset(&w, 0xa5, sizeof(w));
	field_struct_init(&whole_desc, &w);
	assert_true(w.flag);
	assert_int_equal(w.number, -3);
	assert_true(w.total == LS_UNKNOWN_U64);
	assert_int_equal(w.file_size, 4096);
	assert_int_equal(w.pause, NS_PER_MS);
	assert_true(isnan(w.ratio));
	assert_true(w.known_ratio >= 0 && w.known_ratio <= 0);
	assert_int_equal(w.mode, 1);
	assert_string_equal(w.name, "dflt");
	assert_null(w.note);
	assert_null(w.tags);
	assert_int_equal(w.tags_count, 0);
	assert_null(w.pairs);
	assert_string_equal(w.inner.label, "new");
	assert_int_equal(w.inner.weight, 7);
	assert_null(w.maybe);
	assert_int_equal(w.parts_count, 0);
	field_struct_fini(&whole_desc, &w);
}

/* The sanitizers see what is not freed, and what is freed twice. */
static void
test_fini_frees_all_and_can_be_repeated(void **state)
{
	struct whole w;

	(void)state;
	field_struct_init(&whole_desc, &w);
	w.note = ls_strdup("n");
	w.tags = ls_calloc(2, sizeof(*w.tags));
	w.tags[0] = ls_strdup("t"); /* the second stays NULL: half-filled */
	w.tags_count = 2;
	w.numbers = ls_calloc(3, sizeof(*w.numbers));
	w.numbers_count = 3;
	w.pairs = ls_calloc(4, sizeof(*w.pairs));
	w.pairs_count = 2;
	w.maybe = ls_malloc(sizeof(*w.maybe));
	field_struct_init(&part_desc, w.maybe);
	w.parts = ls_calloc(2, sizeof(*w.parts));
	w.parts_count = 2;
	field_struct_init(&part_desc, &w.parts[0]);
	field_struct_fini(&whole_desc, &w);
	assert_null(w.name);
	assert_null(w.tags);
	assert_int_equal(w.parts_count, 0);
	assert_null(w.maybe);
	assert_null(w.inner.label);
	field_struct_fini(&whole_desc, &w);
	field_struct_fini(&whole_desc, NULL);

	struct whole zero;
	memset(&zero, 0, sizeof(zero));
	field_struct_fini(&whole_desc, &zero);
}

static void
test_the_table_describes_the_struct(void **state)
{
	const struct field_desc *f = field_find(&whole_desc, "parts");

	(void)state;
	assert_string_equal(whole_desc.name, "whole");
	assert_string_equal(whole_desc.help, "All kinds.");
	assert_int_equal(whole_desc.size, sizeof(struct whole));
	assert_int_equal(whole_desc.field_count, 16);
	assert_non_null(f);
	assert_int_equal(f->kind, FIELD_STRUCT_LIST);
	assert_int_equal(f->offset, offsetof(struct whole, parts));
	assert_int_equal(f->count_offset, offsetof(struct whole, parts_count));
	assert_ptr_equal(f->sub, &part_desc);
	assert_int_equal(f->max, 8);
	assert_true((field_find(&whole_desc, "maybe")->flags & FIELD_NULLABLE) != 0);
	assert_null(field_find(&whole_desc, "part"));
	assert_null(field_find(&whole_desc, ""));
}

#define LETTERS_32 "abcdefghijklmnopqrstuvwxyzabcdef"
#define LETTERS_64 LETTERS_32 LETTERS_32

static const struct {
	const char *a, *b;
	unsigned distance;
} distance_cases[] = {
	{ "", "", 0 },
	{ "", "abc", 3 },
	{ "abc", "abc", 0 },
	{ "kitten", "sitting", 3 },
	{ "file_sise", "file_size", 1 },
	{ "ab", "ba", 2 },
	{ "abc", "bc", 1 },
	{ LETTERS_64, LETTERS_64, 0 },
	{ LETTERS_64 "x", LETTERS_64, 64 },
	{ "", LETTERS_64, 64 },
};

static void
test_distances_are_levenshteins(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(distance_cases); i++) {
		assert_int_equal(field_distance(distance_cases[i].a, distance_cases[i].b), distance_cases[i].distance);
		assert_int_equal(field_distance(distance_cases[i].b, distance_cases[i].a), distance_cases[i].distance);
	}
}

static void
test_the_nearest_name_is_near(void **state)
{
	(void)state;
	assert_string_equal(field_nearest(&whole_desc, "file_sise"), "file_size");
	assert_string_equal(field_nearest(&whole_desc, "filesize"), "file_size");
	assert_string_equal(field_nearest(&whole_desc, "part"), "parts");
	assert_null(field_nearest(&whole_desc, "something_else"));
	assert_null(field_nearest(&whole_desc, LETTERS_64 LETTERS_64));
}

static void
test_enum_names_go_both_ways(void **state)
{
	(void)state;
	assert_int_equal(field_enum_value(whole_modes, "fast"), 0);
	assert_int_equal(field_enum_value(whole_modes, "safe"), 1);
	assert_int_equal(field_enum_value(whole_modes, "saf"), -1);
	assert_string_equal(field_enum_name(whole_modes, 1), "safe");
	assert_string_equal(field_enum_name(whole_modes, 2), "?");
	assert_string_equal(field_enum_name(whole_modes, -1), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init_sets_the_defaults),
		cmocka_unit_test(test_fini_frees_all_and_can_be_repeated),
		cmocka_unit_test(test_the_table_describes_the_struct),
		cmocka_unit_test(test_distances_are_levenshteins),
		cmocka_unit_test(test_the_nearest_name_is_near),
		cmocka_unit_test(test_enum_names_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
