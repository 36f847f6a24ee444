/* States, operations, histograms in documents, warnings. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/model/results.h"

static void
test_end_states(void **state)
{
	(void)state;
	for (int i = 0; i < RUN_STATE_COUNT; i++) {
		bool end = i == RUN_FINISHED || i == RUN_FAILED || i == RUN_ABORTED || i == RUN_REFUSED;

		assert_non_null(run_state_names[i]);
		assert_int_equal(run_state_is_end((enum run_state)i), end);
	}
	assert_null(run_state_names[RUN_STATE_COUNT]);
	assert_string_equal(phase_state_names[PHASE_STATE_INTERRUPTED], "interrupted");
	assert_null(phase_state_names[PHASE_STATE_COUNT]);
	assert_string_equal(node_state_names[NODE_IDLE], "idle");
	assert_null(node_state_names[NODE_STATE_COUNT]);
}

static void
test_each_operation_has_its_slot(void **state)
{
	struct op_result results[OP_COUNT] = { 0 };
	struct by_op by_op = { 0 };

	(void)state;
	for (int i = 0; i < OP_COUNT; i++) {
		assert_null(by_op_get(&by_op, (enum op_kind)i));
		*by_op_slot(&by_op, (enum op_kind)i) = &results[i];
	}
	for (int i = 0; i < OP_COUNT; i++)
		assert_ptr_equal(by_op_get(&by_op, (enum op_kind)i), &results[i]);
	assert_ptr_equal(by_op.write, &results[OP_WRITE]);
}

static void
test_empty_histogram_is_unknown(void **state)
{
	struct hist *h = ls_calloc(1, sizeof(*h));
	struct latency l;

	(void)state;
	hist_reset(h);
	field_struct_init(&latency_desc, &l);
	latency_from_hist(h, &l);
	assert_int_equal(l.count, 0);
	assert_true(l.min == LS_UNKNOWN_I64 && l.max == LS_UNKNOWN_I64 && l.p50 == LS_UNKNOWN_I64 && isnan(l.mean));
	assert_int_equal(l.histogram.buckets_count, 0);
	assert_int_equal(latency_add_to_hist(&l, h, NULL), LS_OK);
	assert_int_equal(h->count, 0);
	field_struct_fini(&latency_desc, &l);
	free(h);
}

static void
test_histogram_survives_a_document(void **state)
{
	struct hist *h = ls_calloc(1, sizeof(*h)), *back = ls_calloc(1, sizeof(*back));
	struct latency l;

	(void)state;
	hist_reset(h);
	hist_reset(back);
	for (uint64_t i = 1; i <= 1000; i++)
		hist_record(h, i * i);
	field_struct_init(&latency_desc, &l);
	latency_from_hist(h, &l);
	latency_from_hist(h, &l); /* once more into the same: nothing is doubled or leaked */
	assert_int_equal(l.count, 1000);
	assert_int_equal(l.min, 1);
	assert_int_equal(l.max, 1000000);
	assert_int_equal(l.sum, 333833500);
	assert_true(fabs(l.mean - 333833.5) < 0.001);
	assert_true(l.p50 <= l.p90 && l.p90 <= l.p99 && l.p99 <= l.p99_9 && l.p99_9 <= l.p99_99 && l.p99_99 <= l.max);

	assert_int_equal(latency_add_to_hist(&l, back, NULL), LS_OK);
	assert_int_equal(memcmp(h, back, sizeof(*h)), 0);
	assert_int_equal(latency_add_to_hist(&l, back, NULL), LS_OK);
	assert_int_equal(back->count, 2000);
	field_struct_fini(&latency_desc, &l);
	free(h);
	free(back);
}

static void
test_missing_bounds_come_from_the_buckets(void **state)
{
	uint64_t buckets[] = { 5, 2, 200, 0, 130, 1 };
	char scheme[] = HIST_SCHEME;
	struct latency l = { .count = 3,
		.min = LS_UNKNOWN_I64,
		.max = LS_UNKNOWN_I64,
		.histogram = { .scheme = scheme, .buckets = buckets, .buckets_count = 3 } };
	struct hist *h = ls_calloc(1, sizeof(*h));

	(void)state;
	hist_reset(h);
	assert_int_equal(latency_add_to_hist(&l, h, NULL), LS_OK);
	assert_int_equal(h->min, 5);
	assert_int_equal(h->max, hist_bucket_start(130) + hist_bucket_width(130) - 1);
	free(h);
}

struct bad_case {
	const char *name;
	const char *scheme;
	uint64_t count;
	uint64_t buckets[4];
	const char *text;
};

static const struct bad_case bad_cases[] = {
	{ "another scheme", "linear", 0, { 0, 0, 1, 0 },
	    "histogram.scheme: \"linear\" is not known here, only \"log-linear-6\"" },
	{ "no scheme", NULL, 0, { 0, 0, 1, 0 }, "histogram.scheme: \"\" is not known here, only \"log-linear-6\"" },
	{ "index too large", HIST_SCHEME, 2, { 0, 1, HIST_BUCKETS, 1 },
	    "histogram.buckets[1]: index 2368 is not below 2368" },
	{ "index far too large", HIST_SCHEME, 2, { 1ULL << 32, 1, 1, 1 },
	    "histogram.buckets[0]: index 4294967296 is not below 2368" },
	{ "other count", HIST_SCHEME, 5, { 0, 1, 1, 3 }, "histogram.buckets: the counts add to 4, count says 5" },
	{ "overflow", HIST_SCHEME, 5, { 0, UINT64_MAX, 1, 6 }, "histogram.buckets: the counts are too large to add" },
};

static void
test_malformed_histograms_are_refused_whole(void **state)
{
	struct hist *h = ls_calloc(1, sizeof(*h)), *empty = ls_calloc(1, sizeof(*empty));

	(void)state;
	hist_reset(h);
	hist_reset(empty);
	for (size_t i = 0; i < ARRAY_LEN(bad_cases); i++) {
		const struct bad_case *c = &bad_cases[i];
		uint64_t buckets[4];
		char scheme[32] = "";
		struct latency l = { .count = c->count, .histogram = { .buckets = buckets, .buckets_count = 2 } };
		struct ls_err err = { 0 };

		memcpy(buckets, c->buckets, sizeof(buckets));
		if (c->scheme != NULL) {
			strncpy(scheme, c->scheme, sizeof(scheme) - 1);
			l.histogram.scheme = scheme;
		}
		assert_int_equal(latency_add_to_hist(&l, h, &err), LS_E_INVALID);
		if (strcmp(err.text, c->text) != 0)
			fail_msg("%s: \"%s\"", c->name, err.text);
		assert_int_equal(memcmp(h, empty, sizeof(*h)), 0);
	}
	free(h);
	free(empty);
}

static void
test_warnings_are_kept_once(void **state)
{
	char **list = NULL;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		warnings_add(&list, &count, "node %d is slow", i % 10);
	assert_int_equal(count, 10);
	assert_string_equal(list[9], "node 9 is slow");
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

static void
test_warnings_are_no_more_than_a_document_may_have(void **state)
{
	char **list = NULL;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 3000; i++)
		warnings_add(&list, &count, "node %d was lost", i);
	assert_int_equal(count, RESULTS_WARNINGS_MAX);
	assert_string_equal(list[RESULTS_WARNINGS_MAX - 2], "node 998 was lost");
	assert_non_null(strstr(list[RESULTS_WARNINGS_MAX - 1], "more warnings"));
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_states),
		cmocka_unit_test(test_each_operation_has_its_slot),
		cmocka_unit_test(test_empty_histogram_is_unknown),
		cmocka_unit_test(test_histogram_survives_a_document),
		cmocka_unit_test(test_missing_bounds_come_from_the_buckets),
		cmocka_unit_test(test_malformed_histograms_are_refused_whole),
		cmocka_unit_test(test_warnings_are_kept_once),
		cmocka_unit_test(test_warnings_are_no_more_than_a_document_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
