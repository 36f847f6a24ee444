#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "agent/daemon/config.h"
#include "common/base/log.h"

/* As "--config /dev/null --set ..." would. */
static enum ls_rc
load(const char *const *settings, size_t count, struct agent_config *out, struct ls_err *err)
{
	const char *set[8];
	struct conf_args args = { .file = "/dev/null", .set = { .items = set, .count = count } };

	memcpy(set, settings, count * sizeof(*set));
	return agent_config_load(&args, out, err);
}

static void
test_settings_come_over_the_file(void **state)
{
	const char *const settings[] = { "coordinator=bench0:7437", "allow=/mnt/a", "allow=/mnt/b", "log_level=debug",
		"prepare_timeout=2s", "spool=relative/spool" };
	struct agent_config config;
	struct ls_err err;

	(void)state;
	if (load(settings, ARRAY_LEN(settings), &config, &err))
		fail_msg("%s", err.text);
	assert_string_equal(config.coordinator, "bench0:7437");
	assert_int_equal(config.allow_count, 2);
	assert_string_equal(config.allow[1], "/mnt/b");
	assert_int_equal(config.log_level, LS_LOG_DEBUG);
	assert_int_equal(config.prepare_timeout, 2 * NS_PER_S);
	assert_int_equal(config.spool[0], '/');
	assert_non_null(strstr(config.spool, "relative/spool"));
	assert_int_equal(config.runner[0], '/');
	assert_int_equal(agent_config_check(&config, &err), LS_OK);
	agent_config_fini(&config);
}

struct bad_case {
	const char *setting, *word;
};

static void
test_bad_settings_are_named(void **state)
{
	static const struct bad_case cases[] = {
		{ "colour=red", "colour" },
		{ "nothing", "nothing" },
		{ "prepare_timeout=never", "prepare_timeout" },
		{ "log_level=loud", "log_level" },
		{ "alow=/mnt", "allow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct agent_config config;
		struct ls_err err;
		if (!load(&cases[i].setting, 1, &config, &err))
			fail_msg("%s: taken", cases[i].setting);
		if (!strstr(err.text, cases[i].word))
			fail_msg("%s: %s", cases[i].setting, err.text);
	}
}

static void
test_check_names_the_key(void **state)
{
	static const struct bad_case cases[] = {
		{ "allow=/mnt", "coordinator" },
		{ "coordinator=unix:/run/x", "coordinator" },
		{ "coordinator=host:notaport", "coordinator" },
		{ "allow=mnt", "allow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *settings[] = { "coordinator=a:1", cases[i].setting };
		struct agent_config config;
		struct ls_err err = { 0 };
		assert_int_equal(load(i == 0 ? &cases[i].setting : settings, i == 0 ? 1 : 2, &config, &err), LS_OK);
		if (!agent_config_check(&config, &err) || !strstr(err.text, cases[i].word))
			fail_msg("%s: %s", cases[i].setting, err.text);
		agent_config_fini(&config);
	}
}

static void
test_every_key_has_help(void **state)
{
	(void)state;
	for (size_t i = 0; i < agent_config_desc.field_count; i++)
		assert_true(strlen(agent_config_desc.fields[i].help) > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_come_over_the_file),
		cmocka_unit_test(test_bad_settings_are_named),
		cmocka_unit_test(test_check_names_the_key),
		cmocka_unit_test(test_every_key_has_help),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
