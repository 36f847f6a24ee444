#include "agent/daemon/limits.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

static void
test_quiet_hours_form(void **state)
{
	static const char *const good[] = { "08:00-18:00", "22:00-02:00", "00:00-24:00", "23:59-00:00" };
	static const char *const bad[] = { "", "8-18", "8:00-18:00", "08:00-18:0", "24:00-08:00", "08:60-09:00",
		"08:00-25:00", "08:00-24:01", "08:00-08:00", "08:00-18:00 ", "08:00-18:000", "-1:00-18:00" };
	struct agent_config config = { 0 };
	struct ls_err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		char *list[] = { (char *)(uintptr_t)good[i] };
		config.quiet_hours = list;
		config.quiet_hours_count = 1;
		assert_int_equal(LS_OK, limits_config_check(&config, &err));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char *list[] = { (char *)(uintptr_t)bad[i] };
		config.quiet_hours = list;
		config.quiet_hours_count = 1;
		if (limits_config_check(&config, &err) != LS_E_INVALID)
			fail_msg("\"%s\" was taken", bad[i]);
		assert_non_null(strstr(err.text, "quiet_hours"));
	}
}

static bool
allowed_at(const char *hours, unsigned minute)
{
	char *list[] = { (char *)(uintptr_t)hours };
	struct agent_config config = { .quiet_hours = list, .quiet_hours_count = 1 };
	struct msg_assign assign = { 0 };
	struct ls_err err;
	enum ls_rc begin = limits_check(&config, &assign, minute, &err);
	enum ls_rc go_on = limits_go_on(&config, 0, minute, &err);

	assert_int_equal(begin == LS_OK, go_on == LS_OK);
	return begin == LS_OK;
}

static void
test_quiet_hours(void **state)
{
	(void)state;
	assert_true(allowed_at("08:00-18:00", 8 * 60 - 1));
	assert_false(allowed_at("08:00-18:00", 8 * 60));
	assert_false(allowed_at("08:00-18:00", 18 * 60 - 1));
	assert_true(allowed_at("08:00-18:00", 18 * 60));
	assert_false(allowed_at("22:00-02:00", 23 * 60));
	assert_false(allowed_at("22:00-02:00", 0));
	assert_false(allowed_at("22:00-02:00", 119));
	assert_true(allowed_at("22:00-02:00", 120));
	assert_true(allowed_at("22:00-02:00", 12 * 60));
	assert_false(allowed_at("00:00-24:00", 1439));
}

static void
test_amounts(void **state)
{
	struct agent_config config = { .max_bytes = 1000, .max_files = 10, .max_workers = 4, .max_run_time = NS_PER_S };
	struct msg_assign assign = { .need_bytes = 1000, .need_files = 10, .max_workers = 4 };
	struct ls_err err;

	(void)state;
	assert_int_equal(LS_OK, limits_check(&config, &assign, 0, &err));
	assign.need_bytes = 1001;
	assert_int_equal(LS_E_REFUSED, limits_check(&config, &assign, 0, &err));
	assert_non_null(strstr(err.text, "max_bytes"));
	assign.need_bytes = 0;
	assign.need_files = 11;
	assert_int_equal(LS_E_REFUSED, limits_check(&config, &assign, 0, &err));
	assert_non_null(strstr(err.text, "max_files"));
	assign.need_files = 0;
	assign.max_workers = 5;
	assert_int_equal(LS_E_REFUSED, limits_check(&config, &assign, 0, &err));
	assert_non_null(strstr(err.text, "max_workers"));
	assert_int_equal(LS_OK, limits_go_on(&config, NS_PER_S, 0, &err));
	assert_int_equal(LS_E_LIMIT, limits_go_on(&config, NS_PER_S + 1, 0, &err));
	assert_non_null(strstr(err.text, "max_run_time"));
}

static void
test_no_limits(void **state)
{
	struct agent_config config = { 0 };
	struct msg_assign assign = { .need_bytes = INT64_MAX, .need_files = INT64_MAX, .max_workers = 4096 };
	struct ls_err err;

	(void)state;
	assert_int_equal(LS_OK, limits_check(&config, &assign, 0, &err));
	assert_int_equal(LS_OK, limits_go_on(&config, INT64_MAX, 0, &err));
}

static void
test_bandwidth_is_shared_by_the_workers(void **state)
{
	const struct agent_config config = { .max_bandwidth = 1000 }, none = { 0 };
	struct phase write = { .kind = PHASE_WRITE, .rate_bytes = 300 }, create = { .kind = PHASE_CREATE, .size = 1 };
	struct ls_err err = { 0 };

	(void)state;
	assert_int_equal(LS_OK, limits_hold(&none, &write, 4, &err));
	assert_int_equal(LS_OK, limits_hold(&config, &write, 0, &err));
	assert_int_equal(300, write.rate_bytes);
	assert_int_equal(LS_OK, limits_hold(&config, &write, 4, &err));
	assert_int_equal(250, write.rate_bytes);
	assert_int_equal(LS_E_INVALID, limits_hold(&config, &create, 4, &err));
	assert_non_null(strstr(err.text, "max_bandwidth of this node's agent.conf"));
	assert_int_equal(LS_E_RANGE, limits_hold(&config, &write, 1001, &err));
	assert_int_equal(250, write.rate_bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet_hours_form),
		cmocka_unit_test(test_quiet_hours),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_no_limits),
		cmocka_unit_test(test_bandwidth_is_shared_by_the_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
