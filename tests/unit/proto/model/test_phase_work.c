#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "proto/model/phase_work.h"

#define MIB (1ULL << 20)

static struct phase
data_phase(enum phase_kind kind, enum phase_layout layout, uint64_t file_size)
{
	struct phase p;

	field_struct_init(&phase_desc, &p);
	p.kind = (int)kind;
	p.layout = (int)layout;
	p.file_size = file_size;
	return p;
}

static void
test_planned_work(void **state)
{
	const uint64_t workers[] = { 2, 0, 4 };
	struct phase p = data_phase(PHASE_WRITE, LAYOUT_WORKER, MIB);

	(void)state;
	assert_int_equal(phase_planned(&p, workers, 3), 6 * MIB);
	p.layout = LAYOUT_NODE;
	assert_int_equal(phase_planned(&p, workers, 3), 2 * MIB);
	p.layout = LAYOUT_SHARED;
	assert_int_equal(phase_planned(&p, workers, 3), MIB);
	p.amount = 3 * MIB;
	assert_int_equal(phase_planned(&p, workers, 3), 18 * MIB);
	p.time = NS_PER_S;
	assert_int_equal(phase_planned(&p, workers, 3), 0);
	p.time = 0;
	p.amount = 0;
	p.kind = PHASE_CHAR_WRITE;
	p.layout = LAYOUT_NODE;
	assert_int_equal(phase_planned(&p, workers, 3), 2 * MIB); /* parts of less than 3 MiB */
	p.file_size = 1024 * MIB;
	assert_int_equal(phase_planned(&p, workers, 3), 18 * MIB); /* bonnie++ 2.00: 3 MiB each */
	p.semantics = BONNIE_1_03;
	assert_int_equal(phase_planned(&p, workers, 3), 2048 * MIB);
	p.kind = PHASE_CREATE;
	p.files = 100;
	assert_int_equal(phase_planned(&p, workers, 3), 600);
	p.files = UINT64_MAX / 2;
	assert_true(phase_planned(&p, workers, 3) == UINT64_MAX);
}

static void
test_estimated_bytes(void **state)
{
	static const struct {
		const char *name;
		struct phase phase;
		bool known;
		uint64_t bytes;
	} cases[] = {
		{ "its work", { .kind = PHASE_READ, .file_size = MIB, .files_per_worker = 3 }, true, 18 * MIB },
		{ "as fast as it goes", { .kind = PHASE_READ, .file_size = MIB, .time = NS_PER_S }, false, 0 },
		{ "rate in bytes", { .kind = PHASE_READ, .rate_bytes = MIB, .time = 2 * NS_PER_S }, true, 12 * MIB },
		{ "rate in operations", { .kind = PHASE_READ, .rate_ops = 8, .record_size = 4096, .time = NS_PER_S },
		    true, 6ULL * 8 * 4096 },
		{ "the lower of both rates",
		    { .kind = PHASE_READ, .rate_ops = 1000, .record_size = 4096, .rate_bytes = 8192, .time = NS_PER_S },
		    true, 6ULL * 8192 },
		{ "beyond 63 bits", { .kind = PHASE_READ, .rate_bytes = INT64_MAX, .time = 86400 * NS_PER_S }, true,
		    INT64_MAX },
		{ "files with a size", { .kind = PHASE_CREATE, .files = 10, .size = 100 }, true, 6000 },
		{ "names only", { .kind = PHASE_STAT, .files = 10, .size = 100 }, true, 0 },
		{ "names only, for a time", { .kind = PHASE_STAT, .files = 10, .time = NS_PER_S }, true, 0 },
		{ "files for a time", { .kind = PHASE_CREATE, .files = 10, .size = 100, .time = NS_PER_S }, false, 0 },
		{ "sizes between two", { .kind = PHASE_BONNIE_CREATE, .files = 10, .min_size = 100, .size = 300 }, true,
		    12000 },
		{ "seeks of nodes", { .kind = PHASE_SEEKS, .seeks = 5, .record_size = 4096 }, true, 2ULL * 5 * 4096 },
		{ "another program", { .kind = PHASE_RUN_FIO }, false, 0 },
	};
	const uint64_t workers[] = { 2, 0, 4 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 0;
		bool known = phase_estimate_bytes(&cases[i].phase, workers, 3, &bytes);

		if (known != cases[i].known || bytes != cases[i].bytes)
			fail_msg("%s: %s, %llu bytes, not %llu", cases[i].name, known ? "known" : "not known",
			    (unsigned long long)bytes, (unsigned long long)cases[i].bytes);
	}
}

static void
test_caps_hold_workers(void **state)
{
	static const struct {
		const char *name;
		struct phase phase;
		uint64_t bytes, ops, workers;
		enum ls_rc rc;
		uint64_t rate_bytes, rate_ops;
	} cases[] = {
		{ "an equal share", { .kind = PHASE_WRITE }, 100, 0, 8, LS_OK, 12, 0 },
		{ "both caps", { .kind = PHASE_READ }, 100, 50, 10, LS_OK, 10, 5 },
		{ "a lower rate stays", { .kind = PHASE_READ, .rate_bytes = 3, .rate_ops = 4 }, 100, 50, 10, LS_OK, 3,
		    4 },
		{ "a higher one goes down", { .kind = PHASE_READ, .rate_bytes = 30 }, 100, 0, 10, LS_OK, 10, 0 },
		{ "no cap", { .kind = PHASE_READ, .rate_ops = 7 }, 0, 0, 10, LS_OK, 0, 7 },
		{ "nobody at work", { .kind = PHASE_READ }, 1, 1, 0, LS_OK, 0, 0 },
		{ "less than a byte", { .kind = PHASE_READ }, 7, 0, 8, LS_E_RANGE, 0, 0 },
		{ "less than an operation", { .kind = PHASE_READ }, 100, 7, 8, LS_E_RANGE, 0, 0 },
		{ "beyond the field", { .kind = PHASE_READ }, 0, INT64_MAX, 1, LS_OK, 0, 1000000000 },
		{ "think", { .kind = PHASE_READ, .think = 1 }, 100, 0, 1, LS_E_INVALID, 0, 0 },
		{ "another program", { .kind = PHASE_RUN_FIO }, 100, 0, 1, LS_E_INVALID, 0, 0 },
		{ "empty files, bytes", { .kind = PHASE_CREATE }, 100, 0, 1, LS_OK, 0, 0 },
		{ "small files, bytes", { .kind = PHASE_CREATE, .size = 1 }, 100, 0, 1, LS_E_INVALID, 0, 0 },
		{ "names, operations", { .kind = PHASE_STAT }, 0, 100, 1, LS_E_INVALID, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct phase p = cases[i].phase;
		struct ls_err err = { 0 };
		enum ls_rc rc = phase_hold(&p, cases[i].bytes, cases[i].ops, cases[i].workers, &err);

		if (rc != cases[i].rc)
			fail_msg("%s: %d (%s), not %d", cases[i].name, rc, err.text, cases[i].rc);
		if (rc == LS_OK && (p.rate_bytes != cases[i].rate_bytes || p.rate_ops != cases[i].rate_ops))
			fail_msg("%s: %llu B/s, %llu op/s", cases[i].name, (unsigned long long)p.rate_bytes,
			    (unsigned long long)p.rate_ops);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planned_work),
		cmocka_unit_test(test_estimated_bytes),
		cmocka_unit_test(test_caps_hold_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
