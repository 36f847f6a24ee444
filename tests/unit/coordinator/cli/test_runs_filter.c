#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "common/base/defs.h"
#include "coordinator/cli/runs_filter.h"

/* 2026-11-30T12:00:00Z */
static const struct ls_wall now = { 1796040000LL * NS_PER_S };

static void
test_runs_are_kept_or_not(void **state)
{
	static const struct {
		struct runs_wanted wanted;
		const char *name;
		int state;
		const char *at;
		bool kept;
	} cases[] = {
		{ { .name = NULL }, "nightly", RUN_FINISHED, "2026-11-30T01:02:03.000Z", true },
		{ { .name = NULL }, "nightly", RUN_QUEUED, NULL, true },
		{ { .name = "night*" }, "nightly", RUN_FINISHED, NULL, true },
		{ { .name = "night" }, "nightly", RUN_FINISHED, NULL, false },
		{ { .name = NULL, .state = "failed" }, "nightly", RUN_FAILED, NULL, true },
		{ { .name = NULL, .state = "failed" }, "nightly", RUN_FINISHED, NULL, false },
		{ { .name = NULL, .since = "2026-11-30" }, "n", RUN_FINISHED, "2026-11-30T01:02:03.000Z", true },
		{ { .name = NULL, .since = "2026-11-30" }, "n", RUN_FINISHED, "2026-11-29T23:59:59.999Z", false },
		{ { .name = NULL, .until = "2026-11-29" }, "n", RUN_FINISHED, "2026-11-29T23:59:59.999Z", true },
		{ { .name = NULL, .until = "2026-11-29" }, "n", RUN_FINISHED, "2026-11-30T00:00:00.000Z", false },
		{ { .name = NULL, .since = "2026-11-29T22", .until = "2026-11-30T01:02" }, "n", RUN_FINISHED,
		    "2026-11-30T01:02:59.000Z", true },
		{ { .name = NULL, .since = "7d" }, "n", RUN_FINISHED, "2026-11-23T12:00:00.001Z", true },
		{ { .name = NULL, .since = "7d" }, "n", RUN_FINISHED, "2026-11-23T11:59:59.999Z", false },
		{ { .name = NULL, .since = "2026" }, "n", RUN_QUEUED, NULL, false },
		{ { .name = NULL, .until = "2026" }, "n", RUN_QUEUED, NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct runs_filter filter;
		struct run_row row = { .state = cases[i].state };
		char name[32];
		char at[40];

		strcpy(name, cases[i].name);
		row.name = name;
		if (cases[i].at != NULL) {
			strcpy(at, cases[i].at);
			row.started_at = at;
		}
		assert_int_equal(runs_filter_parse(&cases[i].wanted, now, &filter, NULL), LS_OK);
		if (runs_filter_keeps(&filter, &row) != cases[i].kept)
			fail_msg("case %zu: kept %d", i, !cases[i].kept);
	}
}

static void
test_runs_are_kept_by_tag_and_volume(void **state)
{
	static const struct {
		const char *tag, *volume;
		bool kept;
	} cases[] = {
		{ "keep", NULL, true },
		{ "base*", NULL, true },
		{ "base", NULL, false },
		{ NULL, "/mnt/vol", true },
		{ NULL, "/mnt/vol/a", true },
		{ NULL, "/mnt/v", false },
		{ NULL, "/mnt/*", true },
		{ NULL, "/srv", false },
		{ "keep", "/srv", false },
	};
	char keep[] = "keep", baseline[] = "baseline", name[] = "n", path[] = "/mnt/vol/a", none[] = "";
	char *tags[] = { keep, baseline };
	struct run_row row = { .name = name, .path = path, .tags = tags, .tags_count = 2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct runs_wanted wanted = { .tag = cases[i].tag, .volume = cases[i].volume };
		struct runs_filter filter;

		assert_int_equal(runs_filter_parse(&wanted, now, &filter, NULL), LS_OK);
		row.path = path;
		if (runs_filter_keeps(&filter, &row) != cases[i].kept)
			fail_msg("case %zu: kept %d", i, !cases[i].kept);
		row.path = none; /* imports may not tell it */
		if (cases[i].volume != NULL)
			assert_false(runs_filter_keeps(&filter, &row));
	}
}

static void
test_what_cannot_be_understood_is_named(void **state)
{
	static const struct {
		struct runs_wanted wanted;
		const char *says;
	} cases[] = {
		{ { .state = "done" }, "--state: \"done\"" },
		{ { .since = "yesterday" }, "--since: \"yesterday\"" },
		{ { .until = "30.11.2026" }, "--until: \"30.11.2026\"" },
		{ { .since = "202" }, "--since: \"202\"" },
		{ { .since = "100000d" }, "--since: \"100000d\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct runs_filter filter;
		struct ls_err err;

		assert_int_equal(runs_filter_parse(&cases[i].wanted, now, &filter, &err), LS_E_INVALID);
		if (strstr(err.text, cases[i].says) == NULL)
			fail_msg("case %zu: %s", i, err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_are_kept_or_not),
		cmocka_unit_test(test_runs_are_kept_by_tag_and_volume),
		cmocka_unit_test(test_what_cannot_be_understood_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
